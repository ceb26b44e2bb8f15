//===- WidenedSums.cpp - dots whose values are widened --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidenedSums.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

arith::ExtFOp fa::widening(Value value) {
  auto op = value.getDefiningOp<arith::ExtFOp>();
  return op && isTile(op.getIn()) &&
                 typeOf(op.getIn()).getElementTypeBitWidth() == 8
             ? op
             : arith::ExtFOp();
}

Value fa::readAs(Value value) {
  auto wide = value.hasOneUse()
                  ? dyn_cast<arith::ExtFOp>(*value.getUsers().begin())
                  : arith::ExtFOp();
  return wide && widening(wide.getOut()) ? wide.getOut() : value;
}

DotOp fa::dotOfWidened(Value value) {
  auto dot = widening(value) && value.hasOneUse()
                 ? dyn_cast<DotOp>(*value.getUsers().begin())
                 : DotOp();
  return dot && dot.getB() == value && dot.getA() != value ? dot : DotOp();
}

/// Whether `value` is one number, which any layout has: 0 may be an element of
/// a sum and of P.
static bool isSameEverywhere(Value value) {
  auto repeated = value.getDefiningOp<BroadcastOp>();
  return matchPattern(value, m_Constant()) ||
         (repeated && !isTile(repeated.getInput()));
}

/// Tiles that an elementwise operation, a loop or the end of online softmax
/// has in one layout are of one class.
llvm::DenseSet<Value> fa::findWidenedSums(KernelOp kernel) {
  llvm::DenseSet<Value> found;
  SmallVector<Value> sums;
  kernel.walk([&](DotOp dot) {
    if (dotOfWidened(dot.getB()) == dot && !dot.getTransposeB())
      sums.push_back(dot.getResult());
  });
  if (sums.empty())
    return found;
  llvm::EquivalenceClasses<void *> classes;
  auto join = [&](Value one, Value other) {
    if (one && other && isTile(one) && isTile(other) &&
        typeOf(one).getShape() == typeOf(other).getShape() &&
        typeOf(one).getRank() == 2)
      classes.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer());
  };
  kernel.walk([&](Operation *op) {
    if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
      for (Value operand : op->getOperands())
        if (!isSameEverywhere(operand))
          join(operand, op->getResult(0));
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                     loop.getYieldedValues(), loop.getResults()))
        for (Value value : {init, yielded, Value(argument)})
          join(value, result);
    if (auto dot = dyn_cast<DotOp>(op))
      join(dot.getAcc(), dot.getResult());
    if (auto end = dyn_cast<OnlineFinalizeOp>(op))
      join(end.getAcc(), end.getOutput());
    if (auto parts = dyn_cast<tile::MergePartsOp>(op))
      join(parts.getAcc(), parts.getAccOut());
  });
  for (Value sum : sums) {
    found.insert(sum);
    for (void *member : classes.members(sum.getAsOpaquePointer()))
      found.insert(Value::getFromOpaquePointer(member));
  }
  return found;
}
