//===- MoveViews.cpp - tile-move-views ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainParts.h"
#include "DeadOps.h"
#include "DotViews.h"
#include "FindSource.h"
#include "ViewHoister.h"

#include "fa/Fusion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILEMOVEVIEWS
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

/// Whether `op` is one of those that make probabilities of scores.
static bool isExponential(Operation *op) {
  return isa_and_nonnull<math::ExpOp, math::Exp2Op, SoftmaxOp>(op);
}

/// Whether `value` is computed from exponentials, with no dot between.
static bool isProbability(Value value) {
  return static_cast<bool>(findSource(
      value, [](Value v) { return isExponential(v.getDefiningOp()); },
      isBetweenDots));
}

//===----------------------------------------------------------------------===//
// Behind the second dot
//===----------------------------------------------------------------------===//

/// Replaces `dot` by `result`, which is `made` in another shape.
static DotOp replaceBy(DotOp dot, Value result, DotOp made) {
  dot.replaceAllUsesWith(result);
  dot.erase();
  return made;
}

/// Makes probabilities on the right the left operand: V P = (Pᵀ Vᵀ)ᵀ.
static DotOp swapOperands(DotOp dot) {
  int64_t rank = dot.getType().getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  DotOp swapped = transposeDot(dot, permutation);
  if (!swapped)
    return {};
  return replaceBy(dot, transposedWhole(swapped, permutation), swapped);
}

/// The view that the left operand of `dot` is, behind conversions, which go in
/// front of it.
static Operation *viewOfLeft(DotOp dot) {
  SmallVector<Operation *> conversions;
  Value value = dot.getA();
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    conversions.push_back(op);
    value = op->getOperand(0);
  }
  Operation *view = value.getDefiningOp();
  if (!isa_and_nonnull<TransposeOp, tensor::CollapseShapeOp>(view))
    return nullptr;
  if (conversions.empty())
    return view;
  value = view->getOperand(0);
  for (Operation *op : llvm::reverse(conversions)) {
    OpBuilder b(op);
    OperationState state(
        op->getLoc(), op->getName(), value,
        typeOf(value).clone(getElementTypeOrSelf(op->getResult(0))),
        op->getAttrs());
    value = b.create(state)->getResult(0);
  }
  value = cloneView(view, value);
  dot.getAMutable().assign(value);
  return value.getDefiningOp();
}

/// Moves the view that the left operand of `dot` is behind it. Null if there is
/// none, or none that can be moved.
static DotOp moveBehind(DotOp dot) {
  Operation *view = viewOfLeft(dot);
  if (auto transpose = dyn_cast_or_null<TransposeOp>(view)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    int64_t rank = permutation.size();
    if (permutation.back() != rank - 1)
      return {};
    SmallVector<int64_t> inverse(rank);
    for (auto [to, from] : llvm::enumerate(permutation))
      inverse[from] = to;
    DotOp moved = transposeDot(dot, inverse);
    return moved ? replaceBy(dot, transposedWhole(moved, permutation), moved)
                 : DotOp();
  }
  auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(view);
  if (!collapse)
    return {};
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  SmallVector<int64_t> sizes(collapse.getSrcType().getShape());
  sizes.back() = dot.getType().getShape().back();
  DotOp moved = expandDot(dot, groups, sizes);
  if (!moved)
    return {};
  moved.getAMutable().assign(collapse.getSrc());
  OpBuilder b(dot);
  return replaceBy(dot,
                   tensor::CollapseShapeOp::create(
                       b, dot.getLoc(), dot.getType(), moved, groups),
                   moved);
}

/// Makes probabilities, if `dot` reads such, its left operand, as they are.
static void clearLeft(DotOp dot) {
  while (dot && !dot.getAcc()) {
    if (isProbability(dot.getA()))
      dot = moveBehind(dot);
    else if (isProbability(dot.getB()))
      dot = swapOperands(dot);
    else
      return;
  }
}

/// Rounds what a dot gives before it is seen in another order.
static void roundFirst(arith::TruncFOp op) {
  if (!isa<TensorType>(op.getType()))
    return;
  auto [source, order] = wholeTranspose(op.getIn());
  if (llvm::is_sorted(order) || !source.getDefiningOp<DotOp>())
    return;
  OpBuilder b(op);
  Value rounded = arith::TruncFOp::create(
      b, op.getLoc(), typeOf(source).clone(getElementTypeOrSelf(op.getType())),
      source);
  op.replaceAllUsesWith(transposedWhole(rounded, order));
  op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileMoveViews final : fa::impl::TileMoveViewsBase<TileMoveViews> {
  void runOnOperation() override {
    eraseDeadOps(getOperation());
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp op) { dots.push_back(op); });
    for (DotOp dot : dots)
      clearLeft(dot);
    getOperation().walk(roundFirst);
    ViewHoister hoister;
    for (Operation *view : viewsOfScores())
      hoister.hoist(view);
    eraseDeadOps(getOperation());
  }

private:
  /// Views between dots and exponentials of what they give, in order.
  SmallVector<Operation *> viewsOfScores() {
    llvm::DenseSet<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (!isExponential(op))
        return;
      findSource(
          op->getOperand(0),
          [&](Value value) {
            if (Operation *view = value.getDefiningOp();
                ViewHoister::canHoist(view))
              found.insert(view);
            return false;
          },
          isBetweenDots);
    });
    SmallVector<Operation *> result;
    getOperation().walk([&](Operation *op) {
      if (found.contains(op))
        result.push_back(op);
    });
    return result;
  }
};

} // namespace
