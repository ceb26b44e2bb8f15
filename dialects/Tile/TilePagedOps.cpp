//===- TilePagedOps.cpp - rows that are found through a table of pages ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa::tile;

LogicalResult PagedOp::verify() {
  auto pages = getPages().getType(), table = getTable().getType();
  int64_t sequences = table.getDimSize(0), width = table.getDimSize(1);
  int64_t page = pages.getDimSize(2);
  if (!sameSize(sequences, getLengths().getType().getDimSize(0)))
    return emitOpError("expects a length for each of the ")
           << sequences << " rows of the table, found "
           << getLengths().getType();
  bool isKnown = !ShapedType::isDynamic(width) && !ShapedType::isDynamic(page);
  return verifyResult(*this, getType(),
                      {sequences, pages.getDimSize(1),
                       isKnown ? width * page : ShapedType::kDynamic,
                       pages.getDimSize(3)},
                      pages.getElementType());
}

MemRefType PagedViewOp::typeOf(MemRefType pages) {
  MLIRContext *context = pages.getContext();
  AffineExpr row = getAffineDimExpr(0, context),
             column = getAffineDimExpr(1, context),
             page = getAffineSymbolExpr(0, context);
  auto map =
      AffineMap::get(2, 1, {row.floorDiv(page), row % page, column}, context);
  return MemRefType::get({ShapedType::kDynamic, pages.getDimSize(3)},
                         pages.getElementType(), map);
}

LogicalResult PagedViewOp::verify() {
  auto pages = cast<MemRefType>(getPages().getType());
  auto table = cast<MemRefType>(getTable().getType());
  if (pages.getRank() != 4)
    return emitOpError("expects pages of rank 4, found ") << pages;
  if (table.getRank() != 2 || !table.getElementType().isInteger(32))
    return emitOpError("expects a table of i32 of rank 2, found ") << table;
  MemRefType expected = typeOf(pages);
  if (getType() != expected)
    return emitOpError("expects a view of type ")
           << expected << ", found " << getType();
  return success();
}

MemRefType SlotViewOp::typeOf(MemRefType pages) {
  auto [strides, offset] = pages.getStridesAndOffset();
  return MemRefType::get(
      {ShapedType::kDynamic, pages.getDimSize(3)}, pages.getElementType(),
      StridedLayoutAttr::get(pages.getContext(), ShapedType::kDynamic,
                             {strides[1], strides[3]}));
}

LogicalResult SlotViewOp::verify() {
  auto pages = cast<MemRefType>(getPages().getType());
  if (pages.getRank() != 4)
    return emitOpError("expects pages of rank 4, found ") << pages;
  MemRefType expected = typeOf(pages);
  if (getType() != expected)
    return emitOpError("expects a view of type ")
           << expected << ", found " << getType();
  return success();
}

Value SlotViewOp::expand(
    ImplicitLocOpBuilder &b, Value pages, Value slot,
    llvm::function_ref<Value(Value next, Value count)> bound) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto sizeOf = [&](int64_t dim) -> Value {
    return memref::DimOp::create(b, pages, dim);
  };
  Value zero = index(0), one = index(1), rows = sizeOf(2);
  Value count = arith::MulIOp::create(b, sizeOf(0), rows);
  // Of slot -1 the number behind is 0, of what is no slot more than the count.
  Value next = arith::AddIOp::create(b, slot, one);
  Value known = bound(next, count);
  using arith::CmpIPredicate;
  Value isKept = arith::AndIOp::create(
      b, Value(arith::CmpIOp::create(b, CmpIPredicate::eq, next, known)),
      Value(arith::CmpIOp::create(b, CmpIPredicate::ne, next, zero)));
  Value place = arith::SelectOp::create(b, isKept, slot, zero);
  Value heads = arith::SelectOp::create(b, isKept, sizeOf(1), zero);
  // Pages without rows have no slot, but the division is made.
  rows = arith::MaxUIOp::create(b, rows, one);
  Value page = arith::DivUIOp::create(b, place, rows);
  Value row = arith::RemUIOp::create(b, place, rows);
  OpFoldResult none = b.getIndexAttr(0), unit = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {page, none, row, none};
  int64_t columns = cast<MemRefType>(pages.getType()).getDimSize(3);
  SmallVector<OpFoldResult> sizes = {unit, heads, unit,
                                     b.getIndexAttr(columns)};
  SmallVector<OpFoldResult> strides(4, unit);
  return memref::SubViewOp::create(b, cast<MemRefType>(getType()), pages,
                                   offsets, sizes, strides);
}
