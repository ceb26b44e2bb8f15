//===- StateChain.cpp - running state of an online softmax ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateChain.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

void fa::forEachStateEnd(KernelOp kernel,
                         llvm::function_ref<void(Operation *)> visit) {
  kernel.walk([&](Operation *op) {
    if (isa<OnlineFinalizeOp, tile::MergePartsOp>(op))
      visit(op);
  });
}

StateChain::StateChain(Operation *end, Kind kind) : end(end), kind(kind) {
  add(last().get());
  while (!pending.empty())
    trace(pending.pop_back_val());
}

OpOperand &StateChain::last() const {
  if (auto merge = dyn_cast<tile::MergePartsOp>(end))
    return operandOf(merge);
  return operandOf(cast<OnlineFinalizeOp>(end));
}

bool StateChain::isClosed() const {
  return llvm::all_of(values, [&](Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      if (auto softmax = dyn_cast<OnlineSoftmaxOp>(use.getOwner()))
        return &use == &operandOf(softmax);
      if (use.getOwner() == end)
        return &use == &last();
      return isa<scf::ForOp, scf::YieldOp>(use.getOwner());
    });
  });
}

void StateChain::add(Value value) {
  if (values.insert(value))
    pending.push_back(value);
}

void StateChain::addCarried(scf::ForOp loop, unsigned n) {
  addSource(loop.getInitArgsMutable()[n]);
  add(loop.getRegionIterArg(n));
  add(loop.getResult(n));
  addSource(loop.getBody()->getTerminator()->getOpOperand(n));
}

/// A value that nothing of the chain makes is where the chain begins.
void StateChain::addSource(OpOperand &operand) {
  Value value = operand.get();
  if (value.getDefiningOp<OnlineSoftmaxOp>() ||
      value.getDefiningOp<scf::ForOp>() || isa<BlockArgument>(value))
    add(value);
  else
    sources.insert(&operand);
}

void StateChain::trace(Value value) {
  if (auto softmax = value.getDefiningOp<OnlineSoftmaxOp>()) {
    steps.push_back(softmax);
    addSource(operandOf(softmax));
  } else if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    addCarried(loop, cast<OpResult>(value).getResultNumber());
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      addCarried(loop, argument.getArgNumber() - 1);
  }
}
