//===- TilePagedOps.cpp - rows that are found through a table of pages ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"

#include "mlir/IR/AffineExpr.h"

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
