//===- FlatVectors.cpp - vectors that are no tile's rows ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatVectors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// A vector or a tile of one row, of more elements than one.
static bool isRow(Value value) {
  if (!isTile(value))
    return false;
  RankedTensorType type = typeOf(value);
  return type.getNumElements() > 1 &&
         (type.getRank() == 1 ||
          (type.getRank() == 2 && type.getDimSize(0) == 1));
}

namespace {
/// Classes of rows that have one layout.
class Rows {
public:
  explicit Rows(KernelOp kernel) {
    kernel.walk([&](Operation *op) { visit(op); });
  }

  llvm::DenseSet<Value> findReduced() {
    llvm::DenseSet<void *> wanted, refused;
    for (Value value : reduced)
      wanted.insert(leaderOf(value));
    for (Value value : bound)
      refused.insert(leaderOf(value));
    llvm::DenseSet<Value> found;
    for (Value value : rows)
      if (wanted.contains(leaderOf(value)) &&
          !refused.contains(leaderOf(value)))
        found.insert(value);
    return found;
  }

private:
  void *leaderOf(Value value) {
    return classes.getOrInsertLeaderValue(value.getAsOpaquePointer());
  }

  void join(Value one, Value other) {
    if (isRow(one) && isRow(other))
      classes.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer());
  }

  void bind(ValueRange values) {
    llvm::copy_if(values, std::back_inserter(bound), isRow);
  }

  void visit(Operation *op) {
    llvm::copy_if(op->getResults(), std::back_inserter(rows), isRow);
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        if (isRow(argument))
          rows.push_back(argument);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                     loop.getYieldedValues(), loop.getResults()))
        for (Value value : {init, yielded, Value(argument)})
          join(value, result);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [init, argument, yielded] :
           llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(),
                           loop.getYieldOp().getResults()))
        for (Value value : {init, yielded})
          join(value, argument);
      for (auto [handed, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(),
                           loop.getAfterArguments(), loop.getResults()))
        for (Value value : {handed, Value(argument)})
          join(value, result);
    } else if (OpTrait::hasElementwiseMappableTraits(op) || isa<GatherOp>(op)) {
      for (Value operand : op->getOperands())
        for (Value result : op->getResults())
          join(operand, result);
    } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
      for (Value operand : op->getOperands())
        join(operand, scatter.getValue());
    } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      join(expand.getInput(), expand.getResult());
      if (expand.getDim() != 0)
        bind(expand.getInput());
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      // Of one row a number, which all threads have.
      if (isRow(reduce.getInput()) && reduce.getDim() == 1)
        reduced.push_back(reduce.getInput());
      else
        bind({reduce.getInput(), reduce.getResult()});
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      join(scan.getInput(), scan.getResult());
      if (isRow(scan.getInput()) &&
          int64_t(scan.getDim()) + 1 == typeOf(scan).getRank())
        reduced.push_back(scan.getInput());
      else
        bind(scan.getInput());
    } else if (!isa<LoadOp, StoreOp, AtomicAddOp, AssertOp, IotaOp,
                    arith::ConstantOp, scf::YieldOp, scf::ConditionOp>(op)) {
      bind(op->getOperands());
      // A number that is repeated has no layout of its own.
      if (!isa<BroadcastOp>(op) || isRow(op->getOperand(0)))
        bind(op->getResults());
    }
  }

  llvm::EquivalenceClasses<void *> classes;
  SmallVector<Value> rows, reduced, bound;
};
} // namespace

llvm::DenseSet<Value> fa::findFlatVectors(KernelOp kernel) {
  return Rows(kernel).findReduced();
}
