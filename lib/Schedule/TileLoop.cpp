//===- TileLoop.cpp - a loop of two dots, taken apart ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileLoop.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

bool TileLoop::match() {
  SmallVector<DotStartOp> starts(loop.getBody()->getOps<DotStartOp>());
  if (starts.size() != 2)
    return false;
  step = loop.getRegionIterArgs().back();
  return matchDot(starts[0], scores) && matchDot(starts[1], output) &&
         matchRamp() && matchOutput() && classify();
}

bool TileLoop::matchDot(DotStartOp start, LoopDot &dot) {
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

bool TileLoop::matchRamp() {
  if (!scores.start.getAcc())
    return true;
  auto ramp = scores.start.getAcc().getDefiningOp<tgpu::RampOp>();
  if (!ramp)
    return false;
  llvm::SmallPtrSet<Operation *, 8> needed{ramp};
  for (Operation &op : llvm::reverse(loop.getBody()->without_terminator())) {
    if (!needed.contains(&op))
      continue;
    ahead.insert(ahead.begin(), &op);
    for (Value operand : op.getOperands()) {
      if (operand.getParentBlock() != loop.getBody())
        continue;
      if (Operation *made = operand.getDefiningOp())
        needed.insert(made);
      else if (operand != loop.getInductionVar())
        return false;
    }
  }
  return llvm::all_of(ahead, isMemoryEffectFree);
}

bool TileLoop::matchOutput() {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto found = llvm::find(yield.getOperands(), output.wait.getResult());
  if (found == yield.getOperands().end() || !output.start.getAcc() ||
      !output.start.getA())
    return false;
  carried = found - yield.getOperands().begin();
  rounding = output.start.getA().getDefiningOp<arith::TruncFOp>();
  return rounding && rounding->getBlock() == loop.getBody() &&
         output.wait.getResult().hasOneUse() && rounding->hasOneUse();
}

bool TileLoop::classify() {
  llvm::SmallPtrSet<Operation *, 8> apart{rounding};
  for (LoopDot *dot : {&scores, &output})
    apart.insert({dot->start, dot->wait, dot->await, dot->release});
  if (!ahead.empty())
    apart.insert(ahead.back());
  llvm::SmallPtrSet<Operation *, 8> afterWait;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!apart.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return operand == loop.getRegionIterArg(carried) ||
                 afterWait.contains(operand.getDefiningOp());
        }))
      afterWait.insert(&op);
  // P is made before the output is there, and nothing that is carried
  // otherwise may wait for it.
  if (afterWait.contains(rounding.getIn().getDefiningOp()))
    return false;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [n, value] : llvm::enumerate(yield.getOperands()))
    if (n != carried && afterWait.contains(value.getDefiningOp()))
      return false;
  spreadLate(afterWait);
  for (Operation &op : loop.getBody()->without_terminator())
    if (!apart.contains(&op))
      (afterWait.contains(&op) ? late : early).push_back(&op);
  for (Operation *op : late)
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == loop.getBody() &&
          operand != loop.getRegionIterArg(carried) &&
          !afterWait.contains(operand.getDefiningOp()) &&
          !llvm::is_contained(taken, operand))
        taken.push_back(operand);
  return llvm::all_of(late, isMemoryEffectFree);
}

void TileLoop::spreadLate(llvm::SmallPtrSetImpl<Operation *> &afterWait) {
  for (Operation &op : llvm::reverse(loop.getBody()->without_terminator()))
    if (isa<BroadcastOp, ExpandDimsOp>(op) &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return afterWait.contains(user); }))
      afterWait.insert(&op);
}

bool TileLoop::follows(const TileLoop &before) const {
  scf::ForOp first = before.loop;
  bool onlyThis = llvm::all_of(first->getUsers(), [&](Operation *user) {
    return user == loop.getOperation();
  });
  return loop->getBlock() == first->getBlock() && onlyThis &&
         loop.getInitArgs() == ValueRange(first.getResults()) &&
         carried == before.carried && rescalesAs(before) &&
         scores.start.getBChannel() ==
             DotStartOp(before.scores.start).getBChannel() &&
         output.start.getBChannel() ==
             DotStartOp(before.output.start).getBChannel() &&
         rounding.getType() == arith::TruncFOp(before.rounding).getType();
}

bool TileLoop::rescalesAs(const TileLoop &other) const {
  if (taken.size() != other.taken.size() || late.size() != other.late.size())
    return false;
  IRMapping pairs;
  pairs.map(taken, other.taken);
  pairs.map(loop.getRegionIterArg(carried),
            other.loop.getRegionIterArg(carried));
  auto isPair = [&](Value mine, Value theirs) {
    return success(mine.getType() == theirs.getType() &&
                   pairs.lookupOrDefault(mine) == theirs);
  };
  return llvm::all_of_zip(late, other.late, [&](Operation *x, Operation *y) {
    return OperationEquivalence::isEquivalentTo(
        x, y, isPair,
        [&](Value mine, Value theirs) { pairs.map(mine, theirs); },
        OperationEquivalence::IgnoreLocations);
  });
}
