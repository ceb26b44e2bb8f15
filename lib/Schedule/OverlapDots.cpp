//===- OverlapDots.cpp - tgpu-overlap-dots --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileLoop.h"

#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

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

/// Loops one after the other, each of which goes on with what the one before
/// leaves. They become one pipeline:
///
///   if (any loop has a tile):
///     S = Q K(first); P = f(S)                of the first loop that has one
///     in each loop, for the tiles n after that one:
///       begin S = Q K(n)                      in turns of the consumers,
///       rescale O; begin O = O + P V(the one before n)
///       wait for S; P' = f(S)                 while V's dot runs
///       wait for O; P = P'
///     O = O + P V(last)
///
/// P is rounded to V's type after the wait for O: the registers of the old one
/// are read until then.
class DotOverlapper {
public:
  explicit DotOverlapper(ArrayRef<TileLoop> loops)
      : loops(loops), b(loops.back().loop.getLoc(), loops.back().loop) {
    SchedulePlan plan =
        planOf(loops.back().loop->getParentOfType<tile::KernelOp>());
    rescalesLate = plan.lateRescale;
    takesTurns = plan.pingPong;
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
    if (takesTurns)
      for (auto loop : last->getBlock()->getOps<scf::ForOp>())
        takeTurnsIn(loop);
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
  /// A loop over tiles that this consumer leaves out: others begin dots with
  /// them, of which it has its turn.
  static void takeTurnsIn(scf::ForOp loop) {
    if (loop.getBody()->getOps<AwaitOp>().empty() ||
        !loop.getBody()->getOps<DotStartOp>().empty())
      return;
    OpBuilder b(loop.getBody()->getTerminator());
    OrderWaitOp::create(b, loop.getLoc());
    OrderArriveOp::create(b, loop.getLoc());
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// Those behind the loops: what the scores' dots read is free before the last
  /// dot of the output, unless a later dot reads it as well.
  SmallVector<ReleaseOp> releasesOfLeft() {
    SmallVector<ReleaseOp> releases;
    scf::ForOp last = loops.back().loop;
    Value left = loops.back().scores.start.getAChannel();
    if (!left)
      return releases;
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

  template <typename Op> void sync(Op op, Value at) {
    b.setLoc(op.getLoc());
    Op::create(b, op.getChannel(), at);
  }

  void cloneAll(ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      b.clone(*op, mapping);
  }

  /// Those of the tile at `i`, of step `at`.
  Value startScores(const TileLoop &tiles, Value i, Value at) {
    sync(tiles.scores.await, at);
    IRMapping mapping;
    mapping.map(tiles.loop.getInductionVar(), i);
    cloneAll(tiles.ahead, mapping);
    mapping.map(tiles.step, at);
    return b.clone(*tiles.scores.start, mapping)->getResult(0);
  }

  Value startOutput(const TileLoop &tiles, Value p, Value acc, Value at) {
    sync(tiles.output.await, at);
    IRMapping mapping;
    mapping.map(tiles.step, at);
    mapping.map(tiles.output.start.getA(), p);
    mapping.map(tiles.output.start.getAcc(), acc);
    return b.clone(*tiles.output.start, mapping)->getResult(0);
  }

  DotWaitOp wait(Value running, ValueRange through, int64_t pending) {
    Type tile = cast<RunningType>(running.getType()).getTile();
    return DotWaitOp::create(b, tile, through.getTypes(), running, through,
                             pending);
  }

  /// Ends iteration `mapping`; gives what is carried: of the output what is
  /// there by then, what else makes of it that which the next dot adds to, and
  /// P.
  SmallVector<Value> carriedBehind(const TileLoop &tiles, IRMapping &mapping) {
    if (!rescalesLate)
      cloneAll(tiles.late, mapping);
    b.clone(*tiles.rounding, mapping);
    Value output = tiles.output.start.getAcc();
    if (rescalesLate)
      output = tiles.loop.getRegionIterArg(tiles.carried);
    SmallVector<Value> values;
    for (auto [n, value] :
         llvm::enumerate(tiles.loop.getBody()->getTerminator()->getOperands()))
      values.push_back(
          mapping.lookupOrDefault(n == tiles.carried ? output : value));
    if (rescalesLate)
      for (Value value : tiles.taken)
        values.push_back(mapping.lookup(value));
    values.push_back(mapping.lookup(tiles.rounding.getResult()));
    return values;
  }

  /// Splits off P and begins its dot, from what an iteration has left. What is
  /// carried stays in `values`.
  Value continueOutput(const TileLoop &tiles, SmallVector<Value> &values,
                       Value at) {
    Value p = values.pop_back_val();
    if (!rescalesLate)
      return startOutput(tiles, p, values[tiles.carried], at);
    IRMapping mapping;
    size_t count = tiles.loop.getNumRegionIterArgs();
    mapping.map(tiles.taken, ArrayRef(values).drop_front(count));
    values.truncate(count);
    mapping.map(tiles.loop.getRegionIterArg(tiles.carried),
                values[tiles.carried]);
    cloneAll(tiles.late, mapping);
    Value acc = mapping.lookupOrDefault(tiles.output.start.getAcc());
    return startOutput(tiles, p, acc, at);
  }

  Value stepOf(const TileLoop &tiles, ArrayRef<Value> values) {
    return values[tiles.loop.getNumRegionIterArgs() - 1];
  }

  /// Maps what iteration `i` begins with.
  IRMapping enter(const TileLoop &tiles, Value i, ValueRange values) {
    IRMapping mapping;
    mapping.map(tiles.loop.getInductionVar(), i);
    mapping.map(tiles.loop.getRegionIterArgs(), values);
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
    Value running = continueOutput(tiles, values, last);
    values[tiles.carried] = wait(running, {}, 0).getResult();
    sync(tiles.output.release, last);
    scf::YieldOp::create(b, values);
  }

  /// The first tile, of the first of `rest` that has one.
  SmallVector<Value> buildFirst(ArrayRef<TileLoop> rest, ArrayRef<Value> has) {
    if (rest.size() == 1)
      return buildFirstOf(rest[0]);
    SmallVector<Type> types(rest[0].loop.getResultTypes());
    if (rescalesLate)
      llvm::append_range(types, ValueRange(rest[0].taken).getTypes());
    types.push_back(rest[0].rounding.getType());
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
    IRMapping mapping = enter(tiles, tiles.loop.getLowerBound(), init);
    Value running = startScores(tiles, tiles.loop.getLowerBound(), init.back());
    mapping.map(tiles.scores.wait.getResult(),
                wait(running, {}, 0).getResult());
    sync(tiles.scores.release, init.back());
    cloneAll(tiles.early, mapping);
    return carriedBehind(tiles, mapping);
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
    if (takesTurns)
      OrderWaitOp::create(b);
    Value s = startScores(tiles, steady.getInductionVar(), now);
    Value o = continueOutput(tiles, args, before);
    if (takesTurns)
      OrderArriveOp::create(b);
    IRMapping mapping = enter(tiles, steady.getInductionVar(), args);
    mapping.map(tiles.scores.wait.getResult(), wait(s, {}, 1).getResult());
    if (!rescalesLate)
      sync(tiles.scores.release, now);
    cloneAll(tiles.early, mapping);
    Value unrounded = mapping.lookup(tiles.rounding.getIn());
    // Begun before the exponents, the wait for the output would hold them up.
    if (rescalesLate)
      ReleaseOp::create(b, tiles.scores.release.getChannel(), now, unrounded);
    DotWaitOp finished = wait(o, unrounded, 0);
    sync(tiles.output.release, before);
    mapping.map(tiles.loop.getRegionIterArg(tiles.carried),
                finished.getResult());
    mapping.map(tiles.rounding.getIn(), finished.getPassed().front());
    scf::YieldOp::create(b, carriedBehind(tiles, mapping));
  }

  ArrayRef<TileLoop> loops;
  ImplicitLocOpBuilder b;
  /// Whether the output is rescaled between the dots that begin, not after its
  /// wait. Three consumers have no registers for it.
  bool rescalesLate;
  /// Whether the consumers begin their dots in turns. Otherwise they find an
  /// order of their own; what is faster was measured (RATIONALE.md, "Roles").
  bool takesTurns;
  SmallVector<Value> hasTiles;
};

struct TgpuOverlapDots final : fa::impl::TgpuOverlapDotsBase<TgpuOverlapDots> {
  using TgpuOverlapDotsBase::TgpuOverlapDotsBase;

  void runOnOperation() override {
    std::vector<std::vector<TileLoop>> chains;
    getOperation().walk([&](scf::ForOp loop) {
      TileLoop tiles(loop);
      if (!tiles.match())
        return;
      if (chains.empty() || !tiles.follows(chains.back().back()))
        chains.emplace_back();
      chains.back().push_back(tiles);
    });
    for (ArrayRef<TileLoop> chain : chains)
      DotOverlapper(chain).run();
  }
};

} // namespace
