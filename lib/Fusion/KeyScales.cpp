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

/// Scales of a tile that are read as numbers; where there may be more, one is
/// read for each column.
static constexpr int64_t kMostNumbers = 3;

AttentionBuilder::ScalesOfKeys
AttentionBuilder::openScales(const ArgumentView &scales, Value key,
                             bool partial) {
  int64_t each = *attention.getScaleKeys();
  Value memory = scales.build(b, kernel.getArgument(scales.number));
  // What is behind that of the last key may be no number.
  Value count = arith::CeilDivUIOp::create(b, length, index(each));
  count = arith::MinUIOp::create(b, count, memref::DimOp::create(b, memory, 2));
  OpFoldResult one = b.getIndexAttr(1);
  ScalesOfKeys found;
  found.all = view(memory, {batch, kvHead, b.getIndexAttr(0)},
                   {one, one, count}, {ShapedType::kDynamic});
  found.isInside = !partial && source.areScalesCovering(scales);
  int64_t most = llvm::divideCeil(shape.columns, each) + 1;
  if (most > kMostNumbers)
    return found;
  Value number = arith::DivUIOp::create(b, key, index(each));
  Value last = arith::SubIOp::create(b, count, index(1));
  for (int64_t n = 0; n < most; ++n) {
    Value at = arith::MinSIOp::create(b, number, last);
    found.numbers.push_back(memref::LoadOp::create(b, found.all, at));
    number = arith::AddIOp::create(b, number, index(1));
    found.ends.push_back(arith::SubIOp::create(
        b, arith::MulIOp::create(b, number, index(each)), key));
  }
  return found;
}

Value AttentionBuilder::scalesOf(const ScalesOfKeys &scales, Value key,
                                 Value factor, RankedTensorType x) {
  auto columns = tile({x.getDimSize(1)}, b.getF32Type());
  RankedTensorType indices = columns.clone(b.getIndexType());
  bool isFactor = factor && !matchPattern(factor, m_OneFloat());
  Value found;
  if (!scales.numbers.empty()) {
    auto scaled = [&](Value number) {
      if (isFactor)
        number = arith::MulFOp::create(b, number, factor);
      return broadcast(number, columns);
    };
    Value column = IotaOp::create(b, indices, 0, ValueRange{});
    found = scaled(scales.numbers.back());
    for (auto [number, end] : llvm::reverse(
             llvm::drop_end(llvm::zip(scales.numbers, scales.ends)))) {
      Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                             column, broadcast(end, indices));
      found = arith::SelectOp::create(b, isBefore, scaled(number), found);
    }
  } else {
    found = *attention.getScaleKeys() == 1
                ? LoadOp::create(b, columns, scales.all, ValueRange{key},
                                 scales.isInside)
                      .getResult()
                : gatherScales(scales.all, key, columns);
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
