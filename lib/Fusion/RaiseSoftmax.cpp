//===- RaiseSoftmax.cpp - tile-raise-softmax ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadOps.h"
#include "Exponentials.h"
#include "Uniform.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILERAISESOFTMAX
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

struct TileRaiseSoftmax final
    : fa::impl::TileRaiseSoftmaxBase<TileRaiseSoftmax> {
  using TileRaiseSoftmaxBase::TileRaiseSoftmaxBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::DivFOp, arith::MulFOp, arith::AddFOp, SoftmaxOp>(op) &&
          isa<RankedTensorType>(op->getResult(0).getType()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto add = dyn_cast<arith::AddFOp>(op))
        raiseLogSumExp(add);
      else if (auto softmax = dyn_cast<SoftmaxOp>(op))
        widen(softmax);
      else
        raiseQuotient(op);
    }
    getOperation().walk([](arith::SelectOp op) { dropGuard(op); });
    // What was replaced still reads the scores.
    eraseDeadOps(getOperation());
  }

private:
  /// A softmax of narrow numbers is computed in f32.
  static void widen(SoftmaxOp op) {
    RankedTensorType type = op.getType();
    if (type.getElementTypeBitWidth() >= 32 || op.getSink())
      return;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto wide = type.clone(b.getF32Type());
    Value x = arith::ExtFOp::create(b, wide, op.getInput());
    x = SoftmaxOp::create(b, wide, x, Value(), op.getDimAttr());
    x = arith::TruncFOp::create(b, type, x);
    op.getResult().replaceAllUsesWith(x);
    op.erase();
  }

  /// What is divided by `op`, a quotient or a product with a reciprocal, and
  /// the divisor.
  static std::pair<Value, RowView> getQuotient(Operation *op) {
    if (auto divide = dyn_cast<arith::DivFOp>(op))
      return {divide.getLhs(), RowView::of(divide.getRhs())};
    for (unsigned n : {0u, 1u}) {
      RowView view = RowView::of(op->getOperand(n));
      view.strip();
      if (auto inverse = view.value.getDefiningOp<arith::DivFOp>();
          inverse && getDouble(inverse.getLhs()) == 1.0)
        return {op->getOperand(1 - n), {inverse.getRhs(), view.dims}};
    }
    return {};
  }

  void raiseQuotient(Operation *op) {
    auto [dividend, divisor] = getQuotient(op);
    if (!dividend)
      return;
    int64_t rank = typeOf(dividend).getRank();
    if (ReduceOp sum = getSum(divisor, /*dim=*/-1, rank);
        sum && dividend == sum.getInput()) {
      auto found = getExponentials(dividend, sum.getDim());
      if (found && allowed(op, *found))
        replace(op, *found);
      return;
    }
    // Divided after the second dot: rows of its result.
    auto dot = dividend.getDefiningOp<DotOp>();
    ReduceOp sum = dot ? getSum(divisor, rank - 1, rank) : ReduceOp();
    if (!sum || dot.getAcc() ||
        static_cast<int64_t>(sum.getDim()) !=
            typeOf(sum.getInput()).getRank() - 1)
      return;
    auto narrower = dot.getA().getDefiningOp<arith::TruncFOp>();
    if ((narrower ? narrower.getIn() : dot.getA()) != sum.getInput())
      return;
    auto found = getExponentials(sum.getInput(), sum.getDim());
    if (!found || !allowed(op, *found))
      return;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value p = buildSoftmax(b, *found);
    if (narrower)
      p = arith::TruncFOp::create(b, narrower.getType(), p);
    Value result = DotOp::create(b, dot.getType(), p, dot.getB(), Value(),
                                 dot.getTransposeB(), dot.getPrecision());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  /// 0 for lines of only −inf is what `tile.softmax` gives of them.
  static void dropGuard(arith::SelectOp op) {
    auto behind = [](Value value, auto convert) {
      auto conversion = value.getDefiningOp<decltype(convert)>();
      return conversion ? conversion.getIn() : value;
    };
    auto softmax = behind(op.getFalseValue(), arith::TruncFOp())
                       .getDefiningOp<SoftmaxOp>();
    if (!softmax || softmax.getSink() || getDouble(op.getTrueValue()) != 0.0 ||
        !isa<TensorType>(op.getCondition().getType()))
      return;
    RowView view = RowView::of(op.getCondition());
    view.strip();
    auto compare = view.value.getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ ||
        getDouble(compare.getRhs()) != -std::numeric_limits<double>::infinity())
      return;
    view.value = compare.getLhs();
    view.strip();
    auto max = view.value.getDefiningOp<ReduceOp>();
    if (!max || max.getKind() != ReduceKind::Max ||
        behind(max.getInput(), arith::ExtFOp()) !=
            behind(softmax.getInput(), arith::ExtFOp()))
      return;
    int64_t dim = max.getDim();
    if (dim != softmax.getNormalizedDim() ||
        !view.isAlong(dim, softmax.getType().getRank()))
      return;
    op.getResult().replaceAllUsesWith(op.getFalseValue());
    op.erase();
  }

  bool allowed(Operation *op, const Exponentials &found) {
    if (found.hasMax || allowNoMax)
      return true;
    op->emitRemark("attention is not fused: the maximum is not subtracted from "
                   "what is exponentiated, so that large scores overflow "
                   "(the option allow-no-max takes it for a softmax)");
    return false;
  }

  static void replace(Operation *op, const Exponentials &found) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(buildSoftmax(b, found));
    op->erase();
  }

  /// log(sum) + max, or the same in base 2.
  static void raiseLogSumExp(arith::AddFOp op) {
    for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()),
                        std::pair(op.getRhs(), op.getLhs())}) {
      RowView sums = RowView::of(x);
      sums.strip();
      Operation *log = sums.value.getDefiningOp();
      if (!isa_and_nonnull<math::LogOp, math::Log2Op>(log))
        continue;
      // Rows, or rows with a last dimension of size 1 that was kept.
      sums.value = log->getOperand(0);
      int64_t rank = typeOf(op).getRank();
      bool kept = rank > 0 && typeOf(op).getDimSize(rank - 1) == 1;
      ReduceOp sum = getSum(sums, rank, rank + 1);
      if (!sum && kept)
        sum = getSum(sums, rank - 1, rank);
      if (!sum)
        continue;
      int64_t dim = sum.getDim();
      auto found = getExponentials(sum.getInput(), dim);
      RowView shift = RowView::of(y);
      shift.strip();
      if (!found || !found->hasMax || found->base2 != isa<math::Log2Op>(log) ||
          shift.value != found->shift || shift.dims != sums.dims ||
          dim != typeOf(found->x).getRank() - 1 ||
          typeOf(found->x).getElementTypeBitWidth() < 32)
        continue;
      return replaceLogSumExp(op, *found);
    }
  }

  static void replaceLogSumExp(arith::AddFOp op, const Exponentials &found) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Value x = inNaturalBase(b, found);
    RankedTensorType rows = RankedTensorType::get(
        typeOf(x).getShape().drop_back(), typeOf(x).getElementType());
    Value result = LogSumExpOp::create(b, rows, x, Value());
    if (found.base2) {
      SmallVector<Value> sizes;
      for (int64_t d = 0; d < rows.getRank(); ++d)
        if (rows.isDynamicDim(d))
          sizes.push_back(tensor::DimOp::create(b, x, d));
      Value log2e = arith::ConstantOp::create(
          b, b.getFloatAttr(rows.getElementType(), std::numbers::log2e));
      result = arith::MulFOp::create(
          b, result, BroadcastOp::create(b, rows, log2e, sizes));
    }
    // A dimension of size 1 may have been kept.
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() == rows.getRank() + 1)
      result = ExpandDimsOp::create(b, type, result, rows.getRank());
    if (result.getType() != type)
      return;
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }
};

} // namespace
