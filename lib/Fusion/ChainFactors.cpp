//===- ChainFactors.cpp - what the scores are multiplied with -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainParts.h"
#include "Uniform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

bool fa::isView(Operation *op) {
  return isa_and_nonnull<TransposeOp, ExpandDimsOp, BroadcastOp,
                         tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
         isa<TensorType>(op->getOperand(0).getType());
}

Value fa::cloneView(Operation *op, Value operand) {
  OpBuilder b(op);
  IRMapping mapping;
  mapping.map(op->getOperand(0), operand);
  Operation *view = b.clone(*op, mapping);
  view->getResult(0).setType(
      cast<RankedTensorType>(view->getResult(0).getType())
          .clone(getElementTypeOrSelf(operand)));
  return view->getResult(0);
}

/// The f32 scalar of a factor; `inverse`: of a divisor.
static Value asFactor(Operation *at, Value uniform, bool inverse) {
  ImplicitLocOpBuilder b(at->getLoc(), at);
  if (!uniform.getType().isF32())
    uniform = uniform.getType().getIntOrFloatBitWidth() < 32
                  ? b.createOrFold<arith::ExtFOp>(b.getF32Type(), uniform)
                  : b.createOrFold<arith::TruncFOp>(b.getF32Type(), uniform);
  if (!inverse)
    return uniform;
  return b.createOrFold<arith::DivFOp>(
      arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f)), uniform);
}

Value fa::peelFactors(Value value, SmallVectorImpl<Value> &factors) {
  Operation *op = value.getDefiningOp();
  if (auto multiply = dyn_cast_or_null<arith::MulFOp>(op)) {
    for (auto [x, y] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                        std::pair(multiply.getRhs(), multiply.getLhs())})
      if (Value uniform = getUniform(y)) {
        factors.push_back(asFactor(op, uniform, /*inverse=*/false));
        return peelFactors(x, factors);
      }
  } else if (auto divide = dyn_cast_or_null<arith::DivFOp>(op)) {
    if (Value uniform = getUniform(divide.getRhs())) {
      factors.push_back(asFactor(op, uniform, /*inverse=*/true));
      return peelFactors(divide.getLhs(), factors);
    }
  } else if (auto narrower = dyn_cast_or_null<arith::TruncFOp>(op)) {
    // Widened, multiplied and narrowed again.
    SmallVector<Value> inner;
    Value source = peelFactors(narrower.getIn(), inner);
    auto wider = source.getDefiningOp<arith::ExtFOp>();
    if (!inner.empty() && wider &&
        wider.getIn().getType() == narrower.getType()) {
      factors.append(inner);
      return peelFactors(wider.getIn(), factors);
    }
  } else if (isView(op)) {
    SmallVector<Value> inner;
    Value source = peelFactors(op->getOperand(0), inner);
    if (!inner.empty()) {
      factors.append(inner);
      return cloneView(op, source);
    }
  }
  return value;
}

/// The numbers that `value`, [b, h, s], has for so many rows each, if it is
/// [b, h, n] of which each is repeated, as far as there are rows; else itself,
/// one for each row.
static RowScales findRepeated(Value value) {
  RowScales each = {value, 1};
  if (auto repeat = value.getDefiningOp<RepeatOp>())
    return {repeat.getInput(), static_cast<int64_t>(repeat.getTimes())};
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!slice.hasUnitStride() || slice.getDroppedDims().any() ||
        llvm::any_of(slice.getStaticOffsets(), [](int64_t n) { return n; }))
      return each;
    value = slice.getSource();
  }
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  auto repeat =
      collapse ? collapse.getSrc().getDefiningOp<BroadcastOp>() : BroadcastOp();
  auto expand = repeat && repeat.getType().getRank() == 4
                    ? repeat.getInput().getDefiningOp<ExpandDimsOp>()
                    : ExpandDimsOp();
  if (!expand || expand.getDim() != 3 || repeat.getType().isDynamicDim(3))
    return each;
  ArrayRef<int64_t> from = typeOf(expand.getInput()).getShape(),
                    to = repeat.getType().getShape();
  // Of two dimensions that become one, the last two have to be these.
  if (from != to.drop_back() || typeOf(collapse).getRank() != 3 ||
      collapse.getReassociationIndices().back().size() != 2)
    return each;
  return {expand.getInput(), to.back()};
}

/// What `value`, of rank 4, has for each of its first two dimensions, [b, h],
/// or of its first three, and repeats along the others; no numbers if that is
/// not all that it is.
static RowScales findScales(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto expand = broadcast ? broadcast.getInput().getDefiningOp<ExpandDimsOp>()
                          : ExpandDimsOp();
  if (!expand || expand.getDim() != 3)
    return {};
  value = expand.getInput();
  if (auto rows = value.getDefiningOp<ExpandDimsOp>();
      rows && rows.getDim() == 2)
    value = rows.getInput();
  RankedTensorType type = typeOf(value);
  // One of size 1 may be repeated.
  bool isWhole = type.getElementType().isF32() &&
                 (type.getRank() == 2 || type.getRank() == 3) &&
                 type.getShape() ==
                     broadcast.getType().getShape().take_front(type.getRank());
  if (!isWhole)
    return {};
  return type.getRank() == 3 ? findRepeated(value) : RowScales{value};
}

Value fa::peelScales(Value rows, SmallVectorImpl<RowScales> &scales) {
  auto product = rows.getDefiningOp<arith::MulFOp>();
  if (!product || product.getType() != rows.getType() ||
      typeOf(rows).getRank() != 4)
    return rows;
  for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()),
                      std::pair(product.getRhs(), product.getLhs())}) {
    RowScales found = findScales(y);
    if (!found.numbers)
      continue;
    SmallVector<RowScales> inner;
    Value source = peelScales(x, inner);
    if (!source.getDefiningOp<arith::ExtFOp>())
      continue;
    scales.append(inner);
    scales.push_back(found);
    return source;
  }
  return rows;
}

void fa::peelScale(AttentionChain &chain) {
  chain.scores = chain.scoreDot.getResult();
  while (chain.scores.hasOneUse()) {
    Operation *user = *chain.scores.getUsers().begin();
    Value other;
    bool inverse = false;
    if (auto multiply = dyn_cast<arith::MulFOp>(user)) {
      other = multiply.getLhs() == chain.scores ? multiply.getRhs()
                                                : multiply.getLhs();
    } else if (auto divide = dyn_cast<arith::DivFOp>(user)) {
      inverse = true;
      other = divide.getLhs() == chain.scores ? divide.getRhs() : Value();
    }
    Value uniform = other ? getUniform(other) : Value();
    if (!uniform)
      return;
    chain.factors.push_back(asFactor(user, uniform, inverse));
    chain.scores = user->getResult(0);
  }
}
