//===- OverlapDots.cpp - tgpu-overlap-dots --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileTurn.h"

#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOVERLAPDOTS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// Loops over tiles that a consumer leaves out: others begin dots with them, of
/// which it has its turn.
void takeTurnsWithoutDots(Block &block) {
  for (auto loop : block.getOps<scf::ForOp>()) {
    if (loop.getBody()->getOps<AwaitOp>().empty() ||
        !loop.getBody()->getOps<DotStartOp>().empty())
      continue;
    OpBuilder b(loop.getBody()->getTerminator());
    OrderWaitOp::create(b, loop.getLoc());
    OrderArriveOp::create(b, loop.getLoc());
  }
}

/// Loops one after the other, each of which goes on with what the one before
/// leaves. They become one pipeline; of the forward's dots, S = Q K of stage 0
/// and O = O + P V of stage 1, where P = f(S):
///
///   if (any loop has a tile):
///     S = Q K(first); P = f(S)                of the first loop that has one
///     in each loop, for the tiles n after that one:
///       begin S = Q K(n)                      in turns of the consumers,
///       rescale O; begin O = O + P V(the one before n)
///       wait for S; P' = f(S)                 while V's dot runs
///       wait for O; P = P'
///     O = O + P V(last)
class DotOverlapper {
public:
  explicit DotOverlapper(ArrayRef<TileLoop> loops)
      : loops(loops), late(loops.back().late()),
        b(loops.back().loop.getLoc(), loops.back().loop) {
    SchedulePlan plan =
        planOf(loops.back().loop->getParentOfType<tile::KernelOp>());
    rescalesLate = plan.lateRescale;
    sumsFirst = plan.sumsFirst;
    takesTurns = plan.pingPong;
    if (sumsFirst)
      keptVectors = vectorsOfAll();
  }

  void run() {
    for (const TileLoop &tiles : loops)
      hasTiles.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                               tiles.loop.getLowerBound(),
                                               tiles.loop.getUpperBound()));
    Value any = hasTiles[0];
    for (Value more : ArrayRef(hasTiles).drop_front())
      any = arith::OrIOp::create(b, any, more);
    scf::ForOp last = loops.back().loop;
    auto branch =
        scf::IfOp::create(b, last.getResultTypes(), any, /*withElse=*/true);
    SmallVector<ReleaseOp> releases = releasesOfLeft();
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      releaseAll(releases);
      scf::YieldOp::create(b, loops[0].loop.getInitArgs());
      b.setInsertionPointToStart(branch.thenBlock());
      buildPipeline(releases);
    }
    last->replaceAllUsesWith(branch);
    for (ReleaseOp release : releases)
      release.erase();
    for (const TileLoop &tiles : llvm::reverse(loops))
      tiles.loop->erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// Channels of which each of the loops receives a vector in each step.
  SmallVector<Value> vectorsOfAll() {
    auto hasIn = [](const TileLoop &tiles, Value channel) {
      return llvm::any_of(tiles.early, [&](Operation *op) {
        auto release = dyn_cast<ReleaseOp>(op);
        return release && release.getChannel() == channel &&
               release.getStep() == tiles.step;
      });
    };
    llvm::SmallSetVector<Value, 2> vectors;
    for (Operation *op : loops[0].early)
      if (auto receive = dyn_cast<ReceiveOp>(op))
        if (Value channel = receive.getChannel();
            isOfVector(channel) &&
            llvm::all_of(loops, [&](const TileLoop &tiles) {
              return hasIn(tiles, channel);
            }))
          vectors.insert(channel);
    return vectors.takeVector();
  }

  /// Those behind the loops: what the dots of stage 0 read is free before the
  /// last ones of stage 1, unless a later dot reads it as well.
  SmallVector<ReleaseOp> releasesOfLeft() {
    llvm::SmallSetVector<Value, 2> lefts;
    for (const LoopDot &dot : loops.back().dots)
      if (Value left = dot.start.getAChannel())
        lefts.insert(left);
    SmallVector<ReleaseOp> releases;
    for (Value left : lefts)
      llvm::append_range(releases, releasesOf(left));
    return releases;
  }

  SmallVector<ReleaseOp> releasesOf(Value left) {
    SmallVector<ReleaseOp> releases;
    scf::ForOp last = loops.back().loop;
    for (Operation *user : left.getUsers()) {
      Operation *top = last->getBlock()->findAncestorOpInBlock(*user);
      if (!top || !last->isBeforeInBlock(top))
        continue;
      if (isa<DotStartOp>(user))
        return {};
      if (auto release = dyn_cast<ReleaseOp>(user))
        releases.push_back(release);
    }
    return releases;
  }

  void releaseAll(ArrayRef<ReleaseOp> releases) {
    for (ReleaseOp release : releases)
      b.clone(*release);
  }

  void cloneAll(ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      b.clone(*op, mapping);
  }

  /// Ends a turn; gives what is carried: of tiles that late dots add to what is
  /// there by then, what else makes of them that which the next ones add to,
  /// and those dots' left operands.
  SmallVector<Value> carriedBehind(const TileLoop &tiles, IRMapping &mapping) {
    if (!rescalesLate)
      cloneAll(tiles.rescaling, mapping);
    SmallVector<Value> values;
    for (Value value : tiles.loop.getBody()->getTerminator()->getOperands())
      values.push_back(value);
    for (const LoopDot *dot : tiles.late()) {
      b.clone(*dot->rounding, mapping);
      values[dot->carried] =
          rescalesLate ? Value(tiles.carriedArg(*dot)) : dot->start.getAcc();
    }
    if (rescalesLate)
      llvm::append_range(values, tiles.taken);
    for (const LoopDot *dot : tiles.late())
      values.push_back(dot->rounding.getResult());
    for (Value &value : values)
      value = mapping.lookupOrDefault(value);
    return values;
  }

  /// Splits off what late dots begin with, by the numbers of the dots: their
  /// left operands, and what they add to. What the loop carries stays in
  /// `values`.
  struct LateOperands {
    SmallVector<Value> lefts, accs;
  };
  LateOperands splitLate(const TileLoop &tiles, SmallVector<Value> &values) {
    LateOperands operands;
    size_t lefts = values.size() - late.size();
    operands.lefts.assign(values.begin() + lefts, values.end());
    size_t count = tiles.loop.getNumRegionIterArgs();
    IRMapping mapping;
    if (rescalesLate)
      mapping.map(tiles.taken,
                  ArrayRef(values).slice(count, tiles.taken.size()));
    values.truncate(count);
    for (const LoopDot *dot : tiles.late()) {
      mapping.map(tiles.carriedArg(*dot), values[dot->carried]);
      operands.accs.push_back(values[dot->carried]);
    }
    if (!rescalesLate)
      return operands;
    cloneAll(tiles.rescaling, mapping);
    for (auto [dot, acc] : llvm::zip_equal(tiles.late(), operands.accs))
      acc = mapping.lookupOrDefault(dot->start.getAcc());
    return operands;
  }

  /// Begins all dots of a turn; of stage 0 where `i` is a tile's number.
  void beginAll(TileTurn &turn, const TileLoop &tiles, bool isLast,
                SmallVector<Value> &values) {
    std::optional<LateOperands> operands;
    size_t number = 0;
    bool isDone = false;
    for (const LoopDot *dot : tiles.inOrder()) {
      if (dot->isLate()) {
        if (!operands)
          operands = splitLate(tiles, values);
        turn.beginLate(*dot, operands->lefts[number], operands->accs[number]);
        ++number;
      } else if (!isLast) {
        if (sumsFirst && number == late.size() && !isDone) {
          turn.awaitAll();
          turn.finish();
          isDone = true;
        }
        turn.begin(*dot);
      }
    }
  }

  Value stepOf(const TileLoop &tiles, ArrayRef<Value> values) {
    return values[tiles.loop.getNumRegionIterArgs() - 1];
  }

  /// Maps what iteration `i` begins with.
  IRMapping enter(const TileLoop &tiles, Value i, ValueRange values) {
    IRMapping mapping;
    mapping.map(tiles.loop.getInductionVar(), i);
    mapping.map(tiles.loop.getRegionIterArgs(),
                values.take_front(tiles.loop.getNumRegionIterArgs()));
    return mapping;
  }

  void buildPipeline(ArrayRef<ReleaseOp> releases) {
    SmallVector<Value> values = buildFirst(loops, hasTiles);
    Value begun; // whether a loop before has had a tile
    for (auto [tiles, has] : llvm::zip(loops, hasTiles)) {
      values = buildSteady(tiles, begun, values);
      begun = begun ? Value(arith::OrIOp::create(b, begun, has)) : has;
    }
    releaseAll(releases);
    const TileLoop &tiles = loops.back();
    Value last = arith::SubIOp::create(b, stepOf(tiles, values), index(1));
    TileTurn turn(b, tiles, /*now=*/Value(), last, {}, keptVectors);
    beginAll(turn, tiles, /*isLast=*/true, values);
    turn.finish();
    for (const LoopDot *dot : tiles.late())
      values[dot->carried] = turn.values().lookup(tiles.carriedArg(*dot));
    scf::YieldOp::create(b, values);
  }

  /// The first tile, of the first of `rest` that has one.
  SmallVector<Value> buildFirst(ArrayRef<TileLoop> rest, ArrayRef<Value> has) {
    if (rest.size() == 1)
      return buildFirstOf(rest[0]);
    SmallVector<Type> types(rest[0].loop.getResultTypes());
    if (rescalesLate)
      llvm::append_range(types, ValueRange(rest[0].taken).getTypes());
    for (const LoopDot *dot : rest[0].late())
      types.push_back(dot->rounding.getType());
    auto branch = scf::IfOp::create(b, types, has[0], /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, buildFirstOf(rest[0]));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, buildFirst(rest.drop_front(), has.drop_front()));
    return SmallVector<Value>(branch.getResults());
  }

  SmallVector<Value> buildFirstOf(const TileLoop &tiles) {
    ValueRange init = loops[0].loop.getInitArgs();
    TileTurn turn(b, tiles, init.back(), /*before=*/Value(),
                  enter(tiles, tiles.loop.getLowerBound(), init), keptVectors);
    for (const LoopDot *dot : tiles.inOrder())
      if (!dot->isLate())
        turn.begin(*dot);
    turn.compute(/*holdsReleases=*/false);
    turn.finish();
    return carriedBehind(tiles, turn.values());
  }

  /// The tiles that are not the first of all.
  SmallVector<Value> buildSteady(const TileLoop &tiles, Value begun,
                                 ValueRange values) {
    Value begin = tiles.loop.getLowerBound();
    Value second = arith::AddIOp::create(b, begin, tiles.loop.getStep());
    if (begun)
      second = arith::SelectOp::create(b, begun, begin, second);
    auto steady = scf::ForOp::create(b, second, tiles.loop.getUpperBound(),
                                     tiles.loop.getStep(), values);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steady.getBody());
    buildIteration(tiles, steady);
    return SmallVector<Value>(steady.getResults());
  }

  void buildIteration(const TileLoop &tiles, scf::ForOp steady) {
    SmallVector<Value> args(steady.getRegionIterArgs());
    Value now = stepOf(tiles, args);
    Value before = arith::SubIOp::create(b, now, index(1));
    TileTurn turn(b, tiles, now, before,
                  enter(tiles, steady.getInductionVar(), args), keptVectors);
    if (takesTurns)
      OrderWaitOp::create(b);
    beginAll(turn, tiles, /*isLast=*/false, args);
    if (takesTurns)
      OrderArriveOp::create(b);
    turn.compute(/*holdsReleases=*/rescalesLate);
    turn.finish();
    scf::YieldOp::create(b, carriedBehind(tiles, turn.values()));
  }

  ArrayRef<TileLoop> loops;
  SmallVector<const LoopDot *> late;
  ImplicitLocOpBuilder b;
  /// Whether the output is rescaled between the dots that begin, not after its
  /// wait. Three consumers have no registers for it.
  bool rescalesLate;
  /// Whether late dots that have begun are waited for before others begin.
  bool sumsFirst;
  /// Whether the consumers begin their dots in turns. Otherwise they find an
  /// order of their own; what is faster was measured
  /// (bench/results/schedule-notes.md, "Ping-pong").
  bool takesTurns;
  /// Channels of vectors whose slots late dots that are waited for release.
  SmallVector<Value> keptVectors;
  SmallVector<Value> hasTiles;
};

/// A loop all of whose dots are of stage 0: later ones run while what is there
/// is computed with. A consumer's turn is those that need nothing computed.
void orderDots(const TileLoop &tiles, bool takesTurns) {
  ImplicitLocOpBuilder b(tiles.loop.getLoc(), tiles.loop);
  scf::ForOp old = tiles.loop;
  auto loop = scf::ForOp::create(b, old.getLowerBound(), old.getUpperBound(),
                                 old.getStep(), old.getInitArgs());
  b.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  mapping.map(old.getInductionVar(), loop.getInductionVar());
  mapping.map(old.getRegionIterArgs(), loop.getRegionIterArgs());
  TileTurn turn(b, tiles, loop.getRegionIterArgs().back(), /*before=*/Value(),
                std::move(mapping));
  bool isInTurn = takesTurns;
  if (isInTurn)
    OrderWaitOp::create(b);
  for (const LoopDot *dot : tiles.inOrder()) {
    if (isInTurn && dot->isLast) {
      OrderArriveOp::create(b);
      isInTurn = false;
    }
    turn.begin(*dot);
  }
  if (isInTurn)
    OrderArriveOp::create(b);
  turn.compute(/*holdsReleases=*/false);
  turn.finish();
  SmallVector<Value> values;
  for (Value value : old.getBody()->getTerminator()->getOperands())
    values.push_back(turn.values().lookupOrDefault(value));
  scf::YieldOp::create(b, values);
  old->replaceAllUsesWith(loop);
  old->erase();
}

struct TgpuOverlapDots final : fa::impl::TgpuOverlapDotsBase<TgpuOverlapDots> {
  using TgpuOverlapDotsBase::TgpuOverlapDotsBase;

  void runOnOperation() override {
    SchedulePlan plan = planOf(getOperation());
    if (plan.dots.empty())
      return;
    std::vector<TileLoop> ordered;
    std::vector<std::vector<TileLoop>> chains;
    WalkResult walk = getOperation().walk([&](scf::ForOp loop) {
      size_t count = llvm::range_size(loop.getBody()->getOps<DotStartOp>());
      if (count == 0)
        return WalkResult::advance();
      if (count != plan.dots.size())
        return refuse(loop, "expected the loop's " + Twine(count) +
                                " dots, found " + Twine(plan.dots.size()));
      TileLoop tiles(loop);
      if (std::string why = tiles.match(plan.dots); !why.empty()) {
        emitRemark(loop.getLoc())
            << "dots of the loop run one after the other: it has " << why;
        return WalkResult::advance();
      }
      if (std::string why = tiles.whyStuck(); !why.empty())
        return refuse(loop, why);
      if (!tiles.hasLate()) {
        ordered.push_back(tiles);
        return WalkResult::advance();
      }
      if (chains.empty() || !tiles.follows(chains.back().back()))
        chains.emplace_back();
      chains.back().push_back(tiles);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    if (plan.pingPong) {
      llvm::SmallSetVector<Block *, 2> blocks;
      for (const TileLoop &tiles : ordered)
        blocks.insert(tiles.loop->getBlock());
      for (ArrayRef<TileLoop> chain : chains)
        blocks.insert(chain.back().loop->getBlock());
      for (Block *block : blocks)
        takeTurnsWithoutDots(*block);
    }
    for (const TileLoop &tiles : ordered)
      orderDots(tiles, plan.pingPong);
    for (ArrayRef<TileLoop> chain : chains)
      DotOverlapper(chain).run();
  }

  static WalkResult refuse(scf::ForOp loop, const Twine &why) {
    emitError(loop.getLoc()) << "its kernel's plan: " << why;
    return WalkResult::interrupt();
  }
};

} // namespace
