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

namespace {

/// A value that is repeated along dimensions of a tensor: `dims` says for each
/// of its dimensions which of the tensor's it is; −1: none, it is of size 1.
struct RowView {
  Value value;
  SmallVector<int64_t> dims;

  /// `value` as a view of itself.
  static RowView of(Value value) {
    auto rank = typeOf(value).getRank();
    return {value, llvm::to_vector(llvm::seq<int64_t>(rank))};
  }

  /// Looks through what repeats or adds and drops dimensions of size 1.
  void strip() {
    while (Operation *op = value.getDefiningOp()) {
      if (op->getNumOperands() == 0 ||
          !isa<RankedTensorType>(op->getOperand(0).getType()) || !stripOne(op))
        return;
      value = op->getOperand(0);
    }
  }

  /// Whether the value has one element for each line of the tensor along `dim`,
  /// in the tensor's order.
  bool isAlong(int64_t dim, int64_t rank) const {
    int64_t next = 0;
    for (auto [d, position] : llvm::enumerate(dims)) {
      if (next == dim)
        ++next;
      if (position != next &&
          !(position < 0 && typeOf(value).getDimSize(d) == 1))
        return false;
      ++next;
    }
    return next == rank || (next == dim && dim == rank - 1);
  }

private:
  bool stripOne(Operation *op) {
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      dims.erase(dims.begin() + expand.getDim());
      return true;
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      RankedTensorType input = typeOf(broadcast.getInput());
      for (int64_t d = 0; d < input.getRank(); ++d)
        if (input.getDimSize(d) == 1 && broadcast.getType().getDimSize(d) != 1)
          dims[d] = -1;
      return true;
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return regroup(expand.getReassociationIndices(), expand.getResultType(),
                     expand.getSrcType().getRank());
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      return spread(collapse.getReassociationIndices(), collapse.getSrcType());
    return isa<tensor::CastOp>(op);
  }

  /// Each group of dimensions was one before, of which one is not of size 1.
  bool regroup(ArrayRef<ReassociationIndices> groups, RankedTensorType wide,
               int64_t rank) {
    SmallVector<int64_t> before;
    for (const ReassociationIndices &group : groups) {
      SmallVector<int64_t> several;
      for (int64_t d : group)
        if (wide.getDimSize(d) != 1)
          several.push_back(dims[d]);
      if (several.size() > 1)
        return false;
      before.push_back(several.empty() ? -1 : several[0]);
    }
    dims = before;
    return static_cast<int64_t>(before.size()) == rank;
  }

  /// Each dimension was a group before, of which one is not of size 1.
  bool spread(ArrayRef<ReassociationIndices> groups, RankedTensorType wide) {
    SmallVector<int64_t> before(wide.getRank(), -1);
    for (auto [n, group] : llvm::enumerate(groups)) {
      int64_t several = 0;
      for (int64_t d : group)
        if (wide.getDimSize(d) != 1 && ++several == 1)
          before[d] = dims[n];
      if (several > 1)
        return false;
    }
    dims = before;
    return true;
  }
};

} // namespace

static std::optional<double> getNumber(Value value) {
  DenseElementsAttr splat;
  FloatAttr number;
  if (isa<RankedTensorType>(value.getType())) {
    RowView view = RowView::of(value);
    view.strip();
    value = view.value;
  }
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
  Value shift; ///< what is subtracted from each line, or null
};

} // namespace

/// The maximum of something along a dimension, behind guards against −inf; the
/// value in `view` becomes what is behind the outermost.
static ReduceOp getMax(RowView view) {
  view.strip();
  Operation *op = view.value.getDefiningOp();
  auto behind = [&](Value value) { return getMax({value, view.dims}); };
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    for (unsigned n : {0u, 1u})
      if (std::optional<double> number = getNumber(op->getOperand(n));
          number && *number < -1e30)
        return behind(op->getOperand(1 - n));
    return {};
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    // A maximum of −inf is replaced by 0: any shift gives the same quotient.
    if (getNumber(select.getTrueValue()) == 0.0)
      return behind(select.getFalseValue());
    if (getNumber(select.getFalseValue()) == 0.0)
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

/// Takes `value` apart; `dim` is where it is summed.
static std::optional<Exponentials> getExponentials(Value value, int64_t dim) {
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

/// The sum that `view` repeats along the dimension `dim` that it sums, of a
/// tensor of `rank` dimensions; −1: whichever dimension it sums.
static ReduceOp getSum(RowView view, int64_t dim, int64_t rank) {
  view.strip();
  auto reduce = view.value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::Add)
    return {};
  int64_t along = dim < 0 ? static_cast<int64_t>(reduce.getDim()) : dim;
  return view.isAlong(along, rank) ? reduce : ReduceOp();
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

  /// What is divided by `op`, a quotient or a product with a reciprocal, and
  /// the divisor.
  static std::pair<Value, RowView> getQuotient(Operation *op) {
    if (auto divide = dyn_cast<arith::DivFOp>(op))
      return {divide.getLhs(), RowView::of(divide.getRhs())};
    for (unsigned n : {0u, 1u}) {
      RowView view = RowView::of(op->getOperand(n));
      view.strip();
      if (auto inverse = view.value.getDefiningOp<arith::DivFOp>();
          inverse && getNumber(inverse.getLhs()) == 1.0)
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
