//===- OverlapDots.cpp - tgpu-overlap-dots --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOVERLAPDOTS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// A dot of the loop with what stands around it.
struct LoopDot {
  DotStartOp start;
  DotWaitOp wait;
  AwaitOp await;
  ReleaseOp release;
};

/// One loop over tiles of keys, S = Q K, P = f(S), O = O' + P V, where O' is
/// O times a factor of P's rows. It becomes
///
///   if (begin < end):
///     S = Q K(begin); P = f(S)
///     for n from begin + step:
///       begin S = Q K(n)
///       begin O = O + P V(n - step)
///       wait for S; P' = f(S)           while V's dot runs
///       wait for O; O = O' ; P = P'
///     O = O + P V(last)
///
/// P is rounded to V's type after the wait for O: the registers of the old one
/// are read until then.
class LoopOverlapper {
public:
  explicit LoopOverlapper(scf::ForOp loop)
      : loop(loop), b(loop.getLoc(), loop) {}

  /// Does nothing where the loop is another one.
  void run() {
    if (!match())
      return;
    Value any =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    auto branch =
        scf::IfOp::create(b, loop.getResultTypes(), any, /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loop.getInitArgs());
      b.setInsertionPointToStart(branch.thenBlock());
      buildLoop();
    }
    loop->replaceAllUsesWith(branch);
    loop->erase();
  }

private:
  //===--- Matching ---===//

  bool match() {
    SmallVector<DotStartOp> starts(loop.getBody()->getOps<DotStartOp>());
    if (starts.size() != 2)
      return false;
    step = loop.getRegionIterArgs().back();
    return matchDot(starts[0], scores) && matchDot(starts[1], output) &&
           matchOutput() && classify();
  }

  bool matchDot(DotStartOp start, LoopDot &dot) {
    dot.start = start;
    if (!start->hasOneUse() || start.getBStep() != step)
      return false;
    dot.wait = dyn_cast<DotWaitOp>(*start->getUsers().begin());
    for (Operation *user : start.getBChannel().getUsers()) {
      if (user->getBlock() != loop.getBody())
        continue;
      if (auto await = dyn_cast<AwaitOp>(user))
        dot.await = await;
      if (auto release = dyn_cast<ReleaseOp>(user))
        dot.release = release;
    }
    return dot.wait && dot.await && dot.release;
  }

  /// The second dot reads a rounded tile and carries its result.
  bool matchOutput() {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    auto found = llvm::find(yield.getOperands(), output.wait.getResult());
    if (found == yield.getOperands().end() || scores.start.getAcc() ||
        !output.start.getAcc() || !output.start.getA())
      return false;
    carried = found - yield.getOperands().begin();
    rounding = output.start.getA().getDefiningOp<arith::TruncFOp>();
    return rounding && rounding->getBlock() == loop.getBody() &&
           output.wait.getResult().hasOneUse() && rounding->hasOneUse();
  }

  /// What is computed from the carried output comes after its wait, everything
  /// else before it.
  bool classify() {
    llvm::SmallPtrSet<Operation *, 8> dots;
    for (LoopDot *dot : {&scores, &output})
      for (Operation *op :
           {dot->start.getOperation(), dot->wait.getOperation(),
            dot->await.getOperation(), dot->release.getOperation()})
        dots.insert(op);
    llvm::SmallPtrSet<Operation *, 8> afterWait;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (dots.contains(&op))
        continue;
      bool isLate =
          &op == rounding || llvm::any_of(op.getOperands(), [&](Value operand) {
            return operand == loop.getRegionIterArg(carried) ||
                   afterWait.contains(operand.getDefiningOp());
          });
      if (isLate)
        afterWait.insert(&op);
      (isLate ? late : early).push_back(&op);
    }
    // P is made before the output is there, and nothing that is carried
    // otherwise may wait for it.
    if (afterWait.contains(rounding.getIn().getDefiningOp()))
      return false;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [n, value] : llvm::enumerate(yield.getOperands()))
      if (n != carried && afterWait.contains(value.getDefiningOp()))
        return false;
    return llvm::all_of(late, isMemoryEffectFree);
  }

  //===--- Building ---===//

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  template <typename Op> void sync(Op op, Value at) {
    b.setLoc(op.getLoc());
    Op::create(b, op.getChannel(), at);
  }

  void cloneAll(ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      b.clone(*op, mapping);
  }

  Value startScores(Value at) {
    sync(scores.await, at);
    IRMapping mapping;
    mapping.map(step, at);
    return b.clone(*scores.start, mapping)->getResult(0);
  }

  Value startOutput(Value p, Value acc, Value at) {
    sync(output.await, at);
    IRMapping mapping;
    mapping.map(step, at);
    mapping.map(output.start.getA(), p);
    mapping.map(output.start.getAcc(), acc);
    return b.clone(*output.start, mapping)->getResult(0);
  }

  DotWaitOp wait(Value running, ValueRange through, int64_t pending) {
    Type tile = cast<RunningType>(running.getType()).getTile();
    return DotWaitOp::create(b, tile, through.getTypes(), running, through,
                             pending);
  }

  /// The carried values behind iteration `mapping`: of the output, what the
  /// next dot adds to.
  SmallVector<Value> carriedBehind(IRMapping &mapping) {
    SmallVector<Value> values;
    for (auto [n, value] :
         llvm::enumerate(loop.getBody()->getTerminator()->getOperands()))
      values.push_back(mapping.lookupOrDefault(
          n == carried ? output.start.getAcc() : value));
    return values;
  }

  /// Maps what iteration `i` begins with.
  IRMapping enter(Value i, ValueRange values) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), i);
    mapping.map(loop.getRegionIterArgs(), values);
    return mapping;
  }

  void buildLoop() {
    SmallVector<Value> first(loop.getInitArgs());
    IRMapping mapping = enter(loop.getLowerBound(), first);
    Value running = startScores(first.back());
    mapping.map(scores.wait.getResult(), wait(running, {}, 0).getResult());
    sync(scores.release, first.back());
    cloneAll(early, mapping);
    cloneAll(late, mapping);
    SmallVector<Value> init = carriedBehind(mapping);
    init.push_back(mapping.lookup(rounding.getResult()));
    Value second =
        arith::AddIOp::create(b, loop.getLowerBound(), loop.getStep());
    auto steady = scf::ForOp::create(b, second, loop.getUpperBound(),
                                     loop.getStep(), init);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(steady.getBody());
      buildIteration(steady);
    }
    SmallVector<Value> results(steady.getResults());
    Value p = results.pop_back_val();
    Value last = arith::SubIOp::create(b, results.back(), index(1));
    results[carried] =
        wait(startOutput(p, results[carried], last), {}, 0).getResult();
    sync(output.release, last);
    scf::YieldOp::create(b, results);
  }

  void buildIteration(scf::ForOp steady) {
    SmallVector<Value> args(steady.getRegionIterArgs());
    Value p = args.pop_back_val(), now = args.back();
    Value before = arith::SubIOp::create(b, now, index(1));
    IRMapping mapping = enter(steady.getInductionVar(), args);
    Value s = startScores(now);
    Value o = startOutput(p, args[carried], before);
    mapping.map(scores.wait.getResult(), wait(s, {}, 1).getResult());
    sync(scores.release, now);
    cloneAll(early, mapping);
    Value unrounded = mapping.lookup(rounding.getIn());
    DotWaitOp finished = wait(o, unrounded, 0);
    sync(output.release, before);
    mapping.map(loop.getRegionIterArg(carried), finished.getResult());
    mapping.map(rounding.getIn(), finished.getPassed().front());
    cloneAll(late, mapping);
    SmallVector<Value> next = carriedBehind(mapping);
    next.push_back(mapping.lookup(rounding.getResult()));
    scf::YieldOp::create(b, next);
  }

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
  LoopDot scores, output;
  BlockArgument step; ///< counts tiles; the last that is carried
  size_t carried = 0; ///< which carried value is the output
  arith::TruncFOp rounding;
  SmallVector<Operation *> early, late;
};

struct TgpuOverlapDots final : fa::impl::TgpuOverlapDotsBase<TgpuOverlapDots> {
  using TgpuOverlapDotsBase::TgpuOverlapDotsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      LoopOverlapper(loop).run();
  }
};

} // namespace
