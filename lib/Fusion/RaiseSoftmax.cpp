//===- RaiseSoftmax.cpp - tile-raise-softmax ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadOps.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace fa {
#define GEN_PASS_DEF_TILERAISESOFTMAX
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether `op` does nothing but add or drop dimensions of size 1.
static bool isUnitReshape(Operation *op) {
  if (isa<ExpandDimsOp>(op))
    return true;
  if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return false;
  auto nonUnit = [](Value value) {
    return llvm::count_if(typeOf(value).getShape(),
                          [](int64_t size) { return size != 1; });
  };
  return nonUnit(op->getOperand(0)) == nonUnit(op->getResult(0));
}

/// What `value` repeats along its dimensions, without those of size 1 that were
/// added to be repeated.
static Value stripBroadcast(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool strips =
        isa<BroadcastOp>(op) || isUnitReshape(op) || isa<tensor::CastOp>(op);
    if (!strips || !isa<TensorType>(op->getOperand(0).getType()))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<double> getNumber(Value value) {
  DenseElementsAttr splat;
  FloatAttr number;
  value = stripBroadcast(value);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  if (matchPattern(value, m_Constant(&splat)) && splat.isSplat() &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  if (matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble();
  return std::nullopt;
}

namespace {

/// `exp(x − max x)` and its sum, along one dimension.
struct Exponentials {
  Value x;     ///< what the exponentials are of, in the base's logarithm
  bool base2;  ///< exp2
  bool hasMax; ///< else exp(x)
  int64_t dim; ///< along which the sum is
  Value max;   ///< of x, or null
};

} // namespace

/// The maximum of something along a dimension, behind guards against −inf.
static ReduceOp getMax(Value value) {
  value = stripBroadcast(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    for (unsigned n : {0u, 1u})
      if (std::optional<double> number = getNumber(op->getOperand(n));
          number && *number < -1e30)
        return getMax(op->getOperand(1 - n));
    return {};
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    // A maximum of −inf is replaced by 0.
    if (getNumber(select.getTrueValue()) == 0.0)
      return getMax(select.getFalseValue());
    if (getNumber(select.getFalseValue()) == 0.0)
      return getMax(select.getTrueValue());
    return {};
  }
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::Max ? reduce : ReduceOp();
}

/// Whether `row`, a value for each line of `full` along `dim`, is used there
/// as such: of equal sizes but for the dimension.
static bool fitsAlong(Value row, Value full, int64_t dim) {
  SmallVector<int64_t> sizes(typeOf(full).getShape());
  sizes.erase(sizes.begin() + dim);
  return typeOf(row).getShape() == ArrayRef(sizes);
}

/// Takes `value` apart; `dim` is where it is summed.
static std::optional<Exponentials> getExponentials(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<math::ExpOp, math::Exp2Op>(op))
    return std::nullopt;
  Exponentials result{op->getOperand(0), isa<math::Exp2Op>(op), false, dim, {}};
  auto subtract = result.x.getDefiningOp<arith::SubFOp>();
  if (!subtract)
    return result;
  ReduceOp max = getMax(subtract.getRhs());
  if (!max || max.getInput() != subtract.getLhs() ||
      static_cast<int64_t>(max.getDim()) != dim)
    return result;
  result.x = subtract.getLhs();
  result.hasMax = true;
  result.max = max;
  return result;
}

/// The sum of `summand` along a dimension that `value` repeats, if it is one.
static ReduceOp getSum(Value value) {
  auto reduce = stripBroadcast(value).getDefiningOp<ReduceOp>();
  return reduce && reduce.getKind() == ReduceKind::Add ? reduce : ReduceOp();
}

//===----------------------------------------------------------------------===//
// Replacing
//===----------------------------------------------------------------------===//

/// x in natural base: 2^x = e^(x ln 2).
static Value inNaturalBase(ImplicitLocOpBuilder &b, const Exponentials &found) {
  if (!found.base2)
    return found.x;
  // Scores that were multiplied by log2 e for the purpose.
  if (auto multiply = found.x.getDefiningOp<arith::MulFOp>())
    for (auto [x, y] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                        std::pair(multiply.getRhs(), multiply.getLhs())})
      if (std::optional<double> number = getNumber(y);
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

/// The softmax, computed in f32 whatever the type of the scores.
static Value buildSoftmax(ImplicitLocOpBuilder &b, const Exponentials &found) {
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

  /// The divisor of `op`, a quotient or a product with a reciprocal, and what
  /// is divided.
  static std::pair<Value, Value> getQuotient(Operation *op) {
    if (auto divide = dyn_cast<arith::DivFOp>(op))
      return {divide.getLhs(), divide.getRhs()};
    for (unsigned n : {0u, 1u})
      if (auto inverse =
              stripBroadcast(op->getOperand(n)).getDefiningOp<arith::DivFOp>();
          inverse && getNumber(inverse.getLhs()) == 1.0)
        return {op->getOperand(1 - n), inverse.getRhs()};
    return {};
  }

  void raiseQuotient(Operation *op) {
    auto [dividend, divisor] = getQuotient(op);
    if (!dividend)
      return;
    ReduceOp sum = getSum(divisor);
    if (!sum)
      return;
    int64_t dim = sum.getDim();
    auto found = getExponentials(sum.getInput(), dim);
    if (!found)
      return;
    if (dividend == sum.getInput() && fitsAlong(sum, dividend, dim)) {
      if (allowed(op, *found))
        replace(op, *found);
      return;
    }
    // Divided after the second dot: rows of its result.
    auto dot = dividend.getDefiningOp<DotOp>();
    if (!dot || dot.getAcc() || dim != typeOf(sum.getInput()).getRank() - 1 ||
        !fitsAlong(sum, dividend, dim))
      return;
    auto narrower = dot.getA().getDefiningOp<arith::TruncFOp>();
    if ((narrower ? narrower.getIn() : dot.getA()) != sum.getInput() ||
        !allowed(op, *found))
      return;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value p = buildSoftmax(b, *found);
    if (narrower)
      p = arith::TruncFOp::create(b, narrower.getType(), p);
    Value result = DotOp::create(b, dot.getType(), p, dot.getB(), Value(),
                                 dot.getTransposeB());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
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
      Operation *log = stripBroadcast(x).getDefiningOp();
      if (!isa_and_nonnull<math::LogOp, math::Log2Op>(log))
        continue;
      ReduceOp sum = getSum(log->getOperand(0));
      if (!sum)
        continue;
      int64_t dim = sum.getDim();
      auto found = getExponentials(sum.getInput(), dim);
      if (!found || !found->hasMax || found->base2 != isa<math::Log2Op>(log) ||
          getMax(y) != found->max.getDefiningOp() ||
          dim != typeOf(found->x).getRank() - 1 ||
          typeOf(found->x).getElementTypeBitWidth() < 32)
        continue;
      return replaceLogSumExp(op, *found);
    }
  }

  static void replaceLogSumExp(arith::AddFOp op, const Exponentials &found) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Value x = inNaturalBase(b, found);
    RankedTensorType rows = typeOf(found.max);
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
