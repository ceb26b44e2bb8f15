//===- ViewHoister.cpp - views that move up to a dot ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewHoister.h"
#include "ChainParts.h"
#include "DotViews.h"
#include "FindSource.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Whether `op` does the same with each element by itself.
static bool isPointwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 && isPure(op);
}

bool fa::isBetweenDots(Operation *op) {
  return isPointwise(op) || isView(op) || isa<ReduceOp>(op);
}

static bool isOfDot(Value value) {
  return static_cast<bool>(findSource(
      value, [](Value v) { return isa_and_nonnull<DotOp>(v.getDefiningOp()); },
      isBetweenDots));
}

RankedTensorType ViewHoister::View::typeOf(RankedTensorType type) const {
  return permutation.empty() ? type.clone(sizes) : permuted(type, permutation);
}

bool ViewHoister::canHoist(Operation *op) {
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return expand.getResultType().hasStaticShape() &&
           areLeading(expand.getReassociationIndices()) &&
           isOfDot(expand.getSrc());
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  return transpose && isOfDot(transpose.getInput());
}

ViewHoister::View ViewHoister::viewOf(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return {llvm::to_vector(transpose.getPermutation()), {}, {}};
  auto expand = cast<tensor::ExpandShapeOp>(op);
  return {{},
          expand.getReassociationIndices(),
          llvm::to_vector(expand.getResultType().getShape())};
}

void ViewHoister::hoist(Operation *view) {
  Value result = apply(viewOf(view), view->getOperand(0));
  view->getResult(0).replaceAllUsesWith(result);
}

Value ViewHoister::apply(const View &view, Value value) {
  for (auto &[other, result] : known[value])
    if (other == view)
      return result;
  Operation *op = value.getDefiningOp();
  RankedTensorType type = view.typeOf(tile::typeOf(value));
  Value uniform = type.hasStaticShape() ? getUniform(value) : Value();
  Value result;
  if (uniform) {
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(uniform);
    result =
        BroadcastOp::create(b, value.getLoc(), type, uniform, ValueRange());
  } else if (op && isOfDot(value)) {
    result = applyTo(view, op);
  }
  if (!result && !view.permutation.empty()) {
    result = transposedWhole(value, view.permutation);
  } else if (!result) {
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    result = tensor::ExpandShapeOp::create(b, value.getLoc(), type, value,
                                           view.groups);
  }
  known[value].push_back({view, result});
  return result;
}

Value ViewHoister::applyTo(const View &view, Operation *op) {
  if (isPointwise(op))
    return applyToElementwise(view, op);
  auto resultOf = [](DotOp dot) { return dot ? dot.getResult() : Value(); };
  auto dot = dyn_cast<DotOp>(op);
  if (dot && dot.getAcc())
    return {};
  if (view.permutation.empty())
    return dot ? resultOf(expandDot(dot, view.groups, view.sizes)) : Value();
  if (dot)
    return resultOf(transposeDot(dot, view.permutation));
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    View whole = view;
    for (int64_t &from : whole.permutation)
      from = transpose.getPermutation()[from];
    return apply(whole, transpose.getInput());
  }
  return transposeRows(view.permutation, op);
}

Value ViewHoister::applyToElementwise(const View &view, Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<TensorType>(operand.getType()) ? apply(view, operand)
                                                          : operand);
  OpBuilder b(op);
  OperationState state(op->getLoc(), op->getName(), operands,
                       {view.typeOf(tile::typeOf(op->getResult(0)))},
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

/// What reduces a dimension, adds one or repeats one, with the dimensions of
/// its result in the order of `permutation`.
Value ViewHoister::transposeRows(ArrayRef<int64_t> permutation, Operation *op) {
  OpBuilder b(op);
  RankedTensorType type = permuted(tile::typeOf(op->getResult(0)), permutation);
  auto seen = [&](ArrayRef<int64_t> order) {
    return apply({llvm::to_vector(order), {}, {}}, op->getOperand(0));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ReduceOp reduce) {
        // The reduced dimension comes last.
        int64_t dim = reduce.getDim();
        SmallVector<int64_t> order;
        for (int64_t from : permutation)
          order.push_back(from + (from >= dim));
        order.push_back(dim);
        return ReduceOp::create(b, op->getLoc(), type, reduce.getKind(),
                                seen(order), order.size() - 1);
      })
      .Case([&](ExpandDimsOp expand) {
        int64_t dim = expand.getDim(), place = 0;
        SmallVector<int64_t> order;
        for (auto [to, from] : llvm::enumerate(permutation))
          if (from == dim)
            place = to;
          else
            order.push_back(from - (from > dim));
        return ExpandDimsOp::create(b, op->getLoc(), type, seen(order), place);
      })
      .Case([&](BroadcastOp broadcast) -> Value {
        if (!broadcast.getType().hasStaticShape())
          return {};
        return BroadcastOp::create(b, op->getLoc(), type, seen(permutation),
                                   ValueRange());
      })
      .Default([](Operation *) { return Value(); });
}
