//===- Uniform.cpp - values that are the same everywhere ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Uniform.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// `number` as an element of what `op` gives, behind it.
static Value makeRounded(Operation *op, APFloat number) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  auto type = cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  bool isInexact;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &isInexact);
  return arith::ConstantOp::create(b, op->getLoc(),
                                   b.getFloatAttr(type, number));
}

Value fa::getUniform(Value value) {
  if (!isa<TensorType>(value.getType()))
    return value;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getUniform(broadcast.getInput());
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ExpandDimsOp, TransposeOp, tensor::ExpandShapeOp,
                      tensor::CollapseShapeOp>(op))
    return getUniform(op->getOperand(0));
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op)) {
    std::optional<APFloat> number = getNumber(op->getOperand(0));
    return number ? makeRounded(op, *number) : Value();
  }
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return {};
  OpBuilder b(value.getDefiningOp());
  b.setInsertionPointAfterValue(value);
  return arith::ConstantOp::create(b, value.getLoc(),
                                   constant.getSplatValue<TypedAttr>());
}

std::optional<APFloat> fa::getNumber(Value value) {
  DenseElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) && splat.isSplat() &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValue();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<BroadcastOp, ExpandDimsOp, TransposeOp,
                      tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                      tensor::CastOp, tensor::SplatOp, arith::ExtFOp>(op))
    return getNumber(op->getOperand(0));
  return std::nullopt;
}

std::optional<double> fa::getDouble(Value value) {
  std::optional<APFloat> number = getNumber(value);
  return number ? std::optional(number->convertToDouble()) : std::nullopt;
}
