//===- Exponentials.cpp - exp(x - max x), taken apart ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exponentials.h"
#include "Uniform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// The maximum of something along a dimension, behind guards against −inf; the
/// value in `view` becomes what is behind the outermost.
static ReduceOp getMax(RowView view) {
  view.strip();
  Operation *op = view.value.getDefiningOp();
  auto behind = [&](Value value) { return getMax({value, view.dims}); };
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    for (unsigned n : {0u, 1u})
      if (std::optional<double> number = getDouble(op->getOperand(n));
          number && *number < -1e30)
        return behind(op->getOperand(1 - n));
    return {};
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    // A maximum of −inf is replaced by 0: any shift gives the same quotient.
    if (getDouble(select.getTrueValue()) == 0.0)
      return behind(select.getFalseValue());
    if (getDouble(select.getFalseValue()) == 0.0)
      return behind(select.getTrueValue());
    return {};
  }
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  if (!reduce || reduce.getKind() != ReduceKind::Max ||
      !RowView{reduce, view.dims}.isAlong(reduce.getDim(),
                                          typeOf(reduce.getInput()).getRank()))
    return {};
  return reduce;
}

std::optional<Exponentials> fa::getExponentials(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<math::ExpOp, math::Exp2Op>(op))
    return std::nullopt;
  Exponentials result{op->getOperand(0), isa<math::Exp2Op>(op), false, dim, {}};
  auto subtract = result.x.getDefiningOp<arith::SubFOp>();
  if (!subtract)
    return result;
  RowView shift = RowView::of(subtract.getRhs());
  ReduceOp max = getMax(shift);
  if (!max || max.getInput() != subtract.getLhs() ||
      static_cast<int64_t>(max.getDim()) != dim)
    return result;
  shift.strip();
  result.x = subtract.getLhs();
  result.hasMax = true;
  result.shift = shift.value;
  return result;
}

ReduceOp fa::getSum(RowView view, int64_t dim, int64_t rank) {
  view.strip();
  auto reduce = view.value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::Add)
    return {};
  int64_t along = dim < 0 ? static_cast<int64_t>(reduce.getDim()) : dim;
  return view.isAlong(along, rank) ? reduce : ReduceOp();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value fa::inNaturalBase(ImplicitLocOpBuilder &b, const Exponentials &found) {
  if (!found.base2)
    return found.x;
  // Scores that were multiplied by log2 e for the purpose.
  if (auto multiply = found.x.getDefiningOp<arith::MulFOp>())
    for (auto [x, y] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                        std::pair(multiply.getRhs(), multiply.getLhs())})
      if (std::optional<double> number = getDouble(y);
          number && std::abs(*number / std::numbers::log2e - 1) < 1e-6)
        return x;
  RankedTensorType type = typeOf(found.x);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(tensor::DimOp::create(b, found.x, d));
  Value ln2 = arith::ConstantOp::create(
      b, b.getFloatAttr(type.getElementType(), std::numbers::ln2));
  return arith::MulFOp::create(b, found.x,
                               BroadcastOp::create(b, type, ln2, sizes));
}

Value fa::buildSoftmax(ImplicitLocOpBuilder &b, const Exponentials &found) {
  Value x = inNaturalBase(b, found);
  RankedTensorType type = typeOf(x);
  bool narrow = type.getElementTypeBitWidth() < 32;
  if (narrow)
    x = arith::ExtFOp::create(b, type.clone(b.getF32Type()), x);
  IntegerAttr dim;
  if (found.dim != type.getRank() - 1)
    dim = b.getI64IntegerAttr(found.dim);
  Value result = SoftmaxOp::create(b, x.getType(), x, Value(), dim);
  if (narrow)
    result = arith::TruncFOp::create(b, type, result);
  return result;
}
