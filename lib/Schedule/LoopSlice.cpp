//===- LoopSlice.cpp - what an iteration's loads are computed from --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSlice.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;

bool LoopSlice::add(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (operand == loop.getInductionVar())
      continue;
    if (!loop.getRegion().isAncestor(operand.getParentRegion())) {
      fromOutside.push_back(operand);
      continue;
    }
    Operation *definition = operand.getDefiningOp();
    if (!definition || !isPure(definition) ||
        definition->getBlock() != loop.getBody() || !add(definition))
      return false;
    operations.insert(definition);
  }
  return true;
}

void LoopSlice::clone(OpBuilder &b, IRMapping &mapping) const {
  // A block's order is that of its dominance.
  SmallVector<Operation *> ordered(operations.begin(), operations.end());
  llvm::sort(ordered,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : ordered)
    b.clone(*op, mapping);
}
