//===- LoopsOfSoftmax.cpp - reductions and softmax of whole tensors -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "Tile/Dropout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value LoopBuilder::lowerReduce(ReduceOp op) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType();
  double extreme = std::numeric_limits<double>::infinity();
  double start = op.getKind() == ReduceKind::Add   ? 0
                 : op.getKind() == ReduceKind::Max ? -extreme
                                                   : extreme;
  Value init = filled(rowsOf(type, op.getInput(), op.getDim()),
                      constant(b, element, start));
  return along(op.getInput(), op.getDim(), {}, init,
               [&](ImplicitLocOpBuilder &b, ValueRange args) {
                 return combine(b, op.getKind(), args[0], args[1]);
               });
}

Value LoopBuilder::rowsOf(RankedTensorType type, Value input, int64_t dim) {
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < typeOf(input).getRank(); ++d)
    if (d != dim)
      sizes.push_back(sizeOf(input, d));
  return empty(type, sizes);
}

Value LoopBuilder::exponential(ImplicitLocOpBuilder &b, Value x, Value shift) {
  return math::ExpOp::create(b, Value(arith::SubFOp::create(b, x, shift)));
}

LoopBuilder::RowState LoopBuilder::scan(Value input, int64_t dim, Value max,
                                        Value sum) {
  Type element = typeOf(input).getElementType();
  Value newMax =
      along(input, dim, {}, max, [](ImplicitLocOpBuilder &b, ValueRange args) {
        return Value(arith::MaximumFOp::create(b, args[0], args[1]));
      });
  Value shift = pointwise(
      typeOf(newMax), newMax, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           args[0], infinity(b, element));
        return Value(
            arith::SelectOp::create(b, none, constant(b, element, 0), args[0]));
      });
  Value rescaled =
      pointwise(typeOf(sum), {sum, max, shift},
                [&](ImplicitLocOpBuilder &b, ValueRange args) {
                  return Value(arith::MulFOp::create(
                      b, args[0], exponential(b, args[1], args[2])));
                });
  Value newSum = along(input, dim, shift, rescaled,
                       [](ImplicitLocOpBuilder &b, ValueRange args) {
                         return Value(arith::AddFOp::create(
                             b, args[2], exponential(b, args[0], args[1])));
                       });
  return {newMax, shift, newSum};
}

LoopBuilder::RowState LoopBuilder::initialState(Value input, int64_t dim,
                                                Value sink) {
  RankedTensorType type = typeOf(input);
  SmallVector<int64_t> sizes(type.getShape());
  sizes.erase(sizes.begin() + dim);
  auto rows = type.clone(sizes);
  Type element = type.getElementType();
  auto splat = [&](Value scalar) {
    return filled(rowsOf(rows, input, dim), scalar);
  };
  if (sink)
    return {sink, {}, splat(constant(b, element, 1))};
  return {splat(infinity(b, element)), {}, splat(constant(b, element, 0))};
}

Value LoopBuilder::lowerSoftmax(SoftmaxOp op) {
  int64_t dim = op.getNormalizedDim();
  Type element = op.getType().getElementType();
  RowState state = initialState(op.getInput(), dim, op.getSink());
  state = scan(op.getInput(), dim, state.max, state.sum);
  return withRows(
      op.getInput(), dim, {state.shift, state.sum},
      [&](ImplicitLocOpBuilder &b, ValueRange args) {
        return Value(arith::DivFOp::create(b, exponential(b, args[0], args[1]),
                                           divisor(b, args[2], element)));
      });
}

Value LoopBuilder::divisor(ImplicitLocOpBuilder &b, Value sum, Type element) {
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum,
                                     constant(b, element, 0));
  return arith::SelectOp::create(b, none, constant(b, element, 1), sum);
}

Value LoopBuilder::lowerLogSumExp(LogSumExpOp op) {
  int64_t dim = typeOf(op.getInput()).getRank() - 1;
  RowState state = initialState(op.getInput(), dim, op.getSink());
  state = scan(op.getInput(), dim, state.max, state.sum);
  return logSumExp(op.getType(), state.max, state.sum);
}

Value LoopBuilder::logSumExp(RankedTensorType type, Value max, Value sum) {
  return pointwise(type, {max, sum},
                   [](ImplicitLocOpBuilder &b, ValueRange args) {
                     return Value(arith::AddFOp::create(
                         b, args[0], Value(math::LogOp::create(b, args[1]))));
                   });
}

Value LoopBuilder::dropout(Value input, Value rng, FloatAttr probability) {
  RankedTensorType type = typeOf(input);
  Value seed = tensor::ExtractOp::create(b, rng, index(0)),
        offset = tensor::ExtractOp::create(b, rng, index(1)),
        heads = sizeOf(input, 1);
  return pointwise(
      type, input, [&](ImplicitLocOpBuilder &b, ValueRange args) -> Value {
        auto word = [&](Value x) -> Value {
          return arith::IndexCastOp::create(b, b.getI32Type(), x);
        };
        auto at = [&](int64_t dim) -> Value {
          return linalg::IndexOp::create(b, dim);
        };
        Value head = arith::AddIOp::create(
            b, Value(arith::MulIOp::create(b, at(0), heads)), at(1));
        auto without = [&](Value x, int32_t bits) -> Value {
          Value mask = arith::ConstantOp::create(b, b.getI32IntegerAttr(~bits));
          return arith::AndIOp::create(b, x, mask);
        };
        Value query = word(at(2)), key = word(at(3));
        Value factor = buildDropoutFactors(
            b,
            {seed, offset, word(head), query, key,
             without(query, kDropoutQueryBits), without(key, kDropoutKeyBits)},
            probability);
        if (factor.getType() != type.getElementType())
          factor = arith::TruncFOp::create(b, type.getElementType(), factor);
        return arith::MulFOp::create(b, args[0], factor);
      });
}
