//===- LoopSlice.cpp - what an iteration's loads are computed from --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSlice.h"
#include "ViewOfArgument.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;

static bool isScalarInput(Operation *op) {
  return isa<memref::LoadOp>(op) && readsInput(op);
}

bool LoopSlice::add(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (operand == loop.getInductionVar())
      continue;
    if (!loop.getRegion().isAncestor(operand.getParentRegion())) {
      fromOutside.push_back(operand);
      continue;
    }
    Operation *definition = operand.getDefiningOp();
    if (!definition || definition->getBlock() != loop.getBody() ||
        !(isPure(definition) || isScalarInput(definition)) || !add(definition))
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
