//===- LoopBuilder.cpp - what the loops of all operations need ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

std::optional<SmallVector<Value>> LoopBuilder::lower(Operation *op) {
  using Result = std::optional<SmallVector<Value>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](DotOp dot) { return Result({lowerDot(dot)}); })
      .Case([&](SoftmaxOp softmax) { return Result({lowerSoftmax(softmax)}); })
      .Case([&](LogSumExpOp lse) { return Result({lowerLogSumExp(lse)}); })
      .Case([&](DropoutOp op) {
        return Result(
            {dropout(op.getInput(), op.getRng(), op.getProbabilityAttr())});
      })
      .Case([&](ReduceOp reduce) { return Result({lowerReduce(reduce)}); })
      .Case([&](TransposeOp transpose) {
        return Result({lowerTranspose(transpose)});
      })
      .Case([&](ExpandDimsOp expand) { return Result({lowerExpand(expand)}); })
      .Case([&](RepeatOp repeat) { return Result({lowerRepeat(repeat)}); })
      .Case([&](BroadcastOp broadcast) {
        return Result({lowerBroadcast(broadcast)});
      })
      .Case([&](IotaOp iota) { return Result({lowerIota(iota)}); })
      .Case([&](PagedOp paged) { return Result({lowerPaged(paged)}); })
      .Case([&](OnlineAttentionOp op) { return Result(lowerAttention(op)); })
      .Case([&](OnlineFinalizeOp op) { return Result(lowerFinalize(op)); })
      .Default([&](Operation *op) -> Result {
        if (OpTrait::hasElementwiseMappableTraits(op) &&
            isa<RankedTensorType>(op->getResult(0).getType()))
          return Result({lowerElementwise(op)});
        return std::nullopt;
      });
}

Value LoopBuilder::constant(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

Value LoopBuilder::infinity(ImplicitLocOpBuilder &b, Type type) {
  return constant(b, type, -std::numeric_limits<double>::infinity());
}

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value LoopBuilder::sizeOf(Value tensor, int64_t dim) {
  return tensor::DimOp::create(b, tensor, dim);
}

AffineMap LoopBuilder::mapOf(int64_t rank, ArrayRef<AffineExpr> exprs) {
  return AffineMap::get(rank, 0, exprs, b.getContext());
}

Value LoopBuilder::empty(RankedTensorType type, ArrayRef<Value> sizes) {
  SmallVector<Value> dynamic;
  for (auto [d, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(d))
      dynamic.push_back(size);
  return tensor::EmptyOp::create(b, type, dynamic);
}

Value LoopBuilder::emptyLike(RankedTensorType type, Value tensor) {
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(sizeOf(tensor, d));
  return empty(type, sizes);
}

Value LoopBuilder::filled(Value tensor, Value scalar) {
  return linalg::FillOp::create(b, scalar, tensor).getResult(0);
}

Value LoopBuilder::loops(Value init, ValueRange inputs,
                         ArrayRef<AffineMap> maps,
                         ArrayRef<utils::IteratorType> iterators, Body body) {
  auto generic = linalg::GenericOp::create(
      b, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder at(loc, inner);
        linalg::YieldOp::create(at, body(at, arguments));
      });
  return generic.getResult(0);
}

Value LoopBuilder::pointwise(RankedTensorType type, ValueRange inputs,
                             Body body) {
  int64_t rank = type.getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1, identity(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return loops(emptyLike(type, inputs.front()), inputs, maps, iterators, body);
}

Value LoopBuilder::along(Value input, int64_t dim, ValueRange rows, Value init,
                         Body body) {
  int64_t rank = typeOf(input).getRank();
  AffineMap rowMap = identity(rank).dropResult(dim);
  SmallVector<AffineMap> maps = {identity(rank)};
  maps.append(rows.size() + 1, rowMap);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[dim] = utils::IteratorType::reduction;
  SmallVector<Value> inputs = {input};
  llvm::append_range(inputs, rows);
  return loops(init, inputs, maps, iterators, body);
}

Value LoopBuilder::withRows(Value input, int64_t dim, ValueRange rows,
                            Body body) {
  RankedTensorType type = typeOf(input);
  int64_t rank = type.getRank();
  SmallVector<AffineMap> maps = {identity(rank)};
  maps.append(rows.size(), identity(rank).dropResult(dim));
  maps.push_back(identity(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  SmallVector<Value> inputs = {input};
  llvm::append_range(inputs, rows);
  return loops(emptyLike(type, input), inputs, maps, iterators, body);
}
