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

/// What is repeated along the last two dimensions, [b, h]; null if that is not
/// all that `value`, of rank 4, is.
static Value findScales(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  value = broadcast ? broadcast.getInput() : Value();
  for (int64_t dim : {3, 2}) {
    auto expand = value ? value.getDefiningOp<ExpandDimsOp>() : ExpandDimsOp();
    if (!expand || static_cast<int64_t>(expand.getDim()) != dim)
      return {};
    value = expand.getInput();
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // One of size 1 may be repeated.
  bool isWhole =
      type && type.getRank() == 2 && type.getElementType().isF32() &&
      llvm::all_of(llvm::seq(2), [&](int64_t dim) {
        return type.getDimSize(dim) == broadcast.getType().getDimSize(dim);
      });
  return isWhole ? value : Value();
}

Value fa::peelScales(Value rows, SmallVectorImpl<Value> &scales) {
  auto product = rows.getDefiningOp<arith::MulFOp>();
  if (!product || product.getType() != rows.getType() ||
      typeOf(rows).getRank() != 4)
    return rows;
  for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()),
                      std::pair(product.getRhs(), product.getLhs())}) {
    Value found = findScales(y);
    if (!found)
      continue;
    SmallVector<Value> inner;
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
