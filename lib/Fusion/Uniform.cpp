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

Value fa::getUniform(Value value) {
  if (!isa<TensorType>(value.getType()))
    return value;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getUniform(broadcast.getInput());
  if (auto expand = value.getDefiningOp<ExpandDimsOp>())
    return getUniform(expand.getInput());
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
  if (isa_and_nonnull<BroadcastOp, ExpandDimsOp, tensor::ExpandShapeOp,
                      tensor::CollapseShapeOp, tensor::CastOp, tensor::SplatOp,
                      arith::ExtFOp>(op))
    return getNumber(op->getOperand(0));
  return std::nullopt;
}

std::optional<double> fa::getDouble(Value value) {
  std::optional<APFloat> number = getNumber(value);
  return number ? std::optional(number->convertToDouble()) : std::nullopt;
}
