//===- LoopsOfAttention.cpp - attention on whole tensors ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value LoopBuilder::applyRegion(Region &region, OperandRange captures,
                               Value scores, bool readsScore) {
  RankedTensorType type = typeOf(scores);
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  Type element = readsScore ? type.getElementType() : b.getI1Type();
  auto result = RankedTensorType::get(type.getShape(), element);
  SmallVector<AffineMap> maps(2, identity(4));
  return loops(emptyLike(result, scores), scores, maps, iterators,
               [&](ImplicitLocOpBuilder &b, ValueRange args) {
                 IRMapping mapping;
                 Block &block = region.front();
                 unsigned n = 0;
                 if (readsScore)
                   mapping.map(block.getArgument(n++), args[0]);
                 for (int64_t d = 0; d < 4; ++d)
                   mapping.map(block.getArgument(n++),
                               Value(linalg::IndexOp::create(b, d)));
                 for (Value capture : captures)
                   mapping.map(block.getArgument(n++), capture);
                 for (Operation &op : block.without_terminator())
                   b.clone(op, mapping);
                 return mapping.lookupOrDefault(
                     block.getTerminator()->getOperand(0));
               });
}

Value LoopBuilder::scaledHeads(Value tensor, Value scales,
                               std::optional<int64_t> scaleKeys) {
  if (!scales)
    return tensor;
  Value group = arith::DivUIOp::create(b, sizeOf(tensor, 1), sizeOf(scales, 1));
  bool areOfKeys = typeOf(scales).getRank() == 3;
  if (areOfKeys) {
    auto type = typeOf(scales).clone({typeOf(scales).getDimSize(0),
                                      typeOf(scales).getDimSize(1),
                                      typeOf(tensor).getDimSize(3)});
    scales = repeated(
        scales, *scaleKeys,
        empty(type, {sizeOf(scales, 0), sizeOf(scales, 1), sizeOf(tensor, 3)}));
  }
  Type f32 = b.getF32Type();
  return pointwise(
      typeOf(tensor).clone(f32), tensor,
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> Value {
        Value head = arith::DivUIOp::create(
            b, Value(linalg::IndexOp::create(b, 1)), group);
        SmallVector<Value> at = {linalg::IndexOp::create(b, 0), head};
        if (areOfKeys)
          at.push_back(linalg::IndexOp::create(b, 3));
        Value scale = tensor::ExtractOp::create(b, scales, at);
        return arith::MulFOp::create(b, widened(b, args[0], f32), scale);
      });
}

Value LoopBuilder::scoresOf(OnlineAttentionOp op) {
  RankedTensorType q = typeOf(op.getQ()), k = typeOf(op.getK());
  auto type = RankedTensorType::get(
      {q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), k.getDimSize(2)},
      b.getF32Type());
  Value scores = dot(type, op.getQ(), op.getK(), Value(), true);
  scores =
      pointwise(type, scores, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        return Value(arith::MulFOp::create(b, args[0], op.getScale()));
      });
  for (Value scales : op.getKeyScales())
    scores = scaledHeads(scores, scales, op.getScaleKeys());
  if (!op.getScore().empty())
    scores = applyRegion(op.getScore(), op.getCaptures(), scores, true);
  if (op.getMask().empty())
    return scores;
  Value mask = applyRegion(op.getMask(), op.getCaptures(), scores, false);
  return pointwise(type, {scores, mask},
                   [&](ImplicitLocOpBuilder &b, ValueRange args) {
                     return Value(arith::SelectOp::create(
                         b, args[1], args[0], infinity(b, b.getF32Type())));
                   });
}

SmallVector<Value> LoopBuilder::lowerAttention(OnlineAttentionOp op) {
  Value scores = scoresOf(op);
  RowState state = scan(scores, 3, op.getMax(), op.getSum());
  Value p = withRows(scores, 3, state.shift,
                     [](ImplicitLocOpBuilder &b, ValueRange args) {
                       return exponential(b, args[0], args[1]);
                     });
  if (op.getRng())
    p = dropout(p, op.getRng(), op.getProbabilityAttr());
  Type element = typeOf(op.getV()).getElementType();
  if (isStorageFloat(element))
    element = typeOf(op.getQ()).getElementType();
  if (!element.isF32() && !op.getWideP())
    p = pointwise(typeOf(p).clone(element), p,
                  [&](ImplicitLocOpBuilder &b, ValueRange args) {
                    return Value(arith::TruncFOp::create(b, element, args[0]));
                  });
  Value acc = withRows(op.getAcc(), 3, {op.getMax(), state.shift},
                       [](ImplicitLocOpBuilder &b, ValueRange args) {
                         return Value(arith::MulFOp::create(
                             b, args[0], exponential(b, args[1], args[2])));
                       });
  p = scaledHeads(p, op.getValueScales(), op.getScaleKeys());
  acc = dot(typeOf(acc), p, op.getV(), acc, false);
  return {acc, state.max, state.sum};
}

SmallVector<Value> LoopBuilder::lowerFinalize(OnlineFinalizeOp op) {
  RankedTensorType type = typeOf(op.getAcc());
  Value out =
      withRows(op.getAcc(), type.getRank() - 1, op.getSum(),
               [&](ImplicitLocOpBuilder &b, ValueRange args) {
                 return Value(arith::DivFOp::create(
                     b, args[0], divisor(b, args[1], type.getElementType())));
               });
  RankedTensorType rows = typeOf(op.getMax());
  if (!op.getMaxOut())
    return {out, logSumExp(rows, op.getMax(), op.getSum())};
  Value log =
      pointwise(rows, op.getSum(), [](ImplicitLocOpBuilder &b, ValueRange x) {
        return Value(math::LogOp::create(b, x[0]));
      });
  return {out, log, op.getMax()};
}
