//===- KeyScales.cpp - what keys and values are multiplied with -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

void AttentionBuilder::takeKeyScales() {
  for (const ArgumentView &scales : source.keyScales)
    if (!isOfKeys(scales))
      scale = arith::MulFOp::create(b, scale, loadScale(scales));
}

AttentionBuilder::ScalesOfKeys
AttentionBuilder::openScales(const ArgumentView &scales, Value key) {
  int64_t each = *attention.getScaleKeys();
  Value memory = scales.build(b, kernel.getArgument(scales.number));
  // What is behind that of the last key may be no number.
  Value count = arith::CeilDivUIOp::create(b, length, index(each));
  count = arith::MinUIOp::create(b, count, memref::DimOp::create(b, memory, 2));
  OpFoldResult one = b.getIndexAttr(1);
  ScalesOfKeys found;
  found.numbers = view(memory, {batch, kvHead, b.getIndexAttr(0)},
                       {one, one, count}, {ShapedType::kDynamic});
  if (each < shape.columns)
    return found;
  Value number = arith::DivUIOp::create(b, key, index(each));
  Value next = arith::AddIOp::create(b, number, index(1));
  Value last = arith::SubIOp::create(b, count, index(1));
  auto load = [&](Value at) -> Value {
    at = arith::MinSIOp::create(b, at, last);
    return memref::LoadOp::create(b, found.numbers, at);
  };
  found.first = load(number);
  found.next = load(next);
  found.left = arith::SubIOp::create(
      b, arith::MulIOp::create(b, next, index(each)), key);
  return found;
}

Value AttentionBuilder::scalesOf(const ScalesOfKeys &scales, Value key,
                                 Value factor, RankedTensorType x) {
  auto columns = tile({x.getDimSize(1)}, b.getF32Type());
  RankedTensorType indices = columns.clone(b.getIndexType());
  bool isFactor = factor && !matchPattern(factor, m_OneFloat());
  Value found;
  if (scales.first) {
    auto scaled = [&](Value number) {
      if (isFactor)
        number = arith::MulFOp::create(b, number, factor);
      return broadcast(number, columns);
    };
    Value isOfFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              IotaOp::create(b, indices, 0, ValueRange{}),
                              broadcast(scales.left, indices));
    found = arith::SelectOp::create(b, isOfFirst, scaled(scales.first),
                                    scaled(scales.next));
  } else {
    found = *attention.getScaleKeys() == 1
                ? LoadOp::create(b, columns, scales.numbers, ValueRange{key},
                                 /*in_bounds=*/false)
                      .getResult()
                : gatherScales(scales.numbers, key, columns);
    if (isFactor)
      found = arith::MulFOp::create(b, found, broadcast(factor, columns));
  }
  found = ExpandDimsOp::create(b, tile({1, x.getDimSize(1)}, b.getF32Type()),
                               found, 0);
  return broadcast(found, x);
}

Value AttentionBuilder::gatherScales(Value numbers, Value key,
                                     RankedTensorType columns) {
  auto each = static_cast<int32_t>(*attention.getScaleKeys());
  RankedTensorType words = columns.clone(b.getI32Type());
  Value first = arith::IndexCastOp::create(b, b.getI32Type(), key);
  Value place = arith::AddIOp::create(
      b, IotaOp::create(b, words, 0, ValueRange{}), broadcast(first, words));
  Value keys = arith::ConstantOp::create(
      b, DenseElementsAttr::get(words, b.getI32IntegerAttr(each)));
  place = arith::DivUIOp::create(b, place, keys);
  place = arith::IndexCastOp::create(b, columns.clone(b.getIndexType()), place);
  return GatherOp::create(b, columns, numbers, ValueRange{place});
}
