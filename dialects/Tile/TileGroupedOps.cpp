//===- TileGroupedOps.cpp - the queries of several heads as rows ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/GroupedRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace fa::tile;

MemRefType GroupedViewOp::typeOf(MemRefType heads) {
  MLIRContext *context = heads.getContext();
  AffineExpr row = getAffineDimExpr(0, context),
             group = getAffineSymbolExpr(0, context);
  SmallVector<AffineExpr> place = {row % group, row.floorDiv(group)};
  SmallVector<int64_t> sizes = {ShapedType::kDynamic};
  if (heads.getRank() == 3) {
    place.push_back(getAffineDimExpr(1, context));
    sizes.push_back(heads.getDimSize(2));
  }
  return MemRefType::get(sizes, heads.getElementType(),
                         AffineMap::get(sizes.size(), 1, place, context));
}

LogicalResult GroupedViewOp::verify() {
  auto heads = cast<MemRefType>(getHeads().getType());
  if (heads.getRank() != 2 && heads.getRank() != 3)
    return emitOpError("expects heads of rank 2 or 3, found ") << heads;
  MemRefType expected = typeOf(heads);
  if (getType() != expected)
    return emitOpError("expects a view of type ")
           << expected << ", found " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Where rows lie
//===----------------------------------------------------------------------===//

GroupedRows::GroupedRows(ImplicitLocOpBuilder &b, Value group,
                         std::optional<int64_t> block)
    : block(block) {
  // Of no heads there are no rows, but the divisions are made.
  Value some = arith::MaxUIOp::create(b, group, constant(b, 1, group));
  if (!block) {
    heads = some;
    ofBlock = divisorOf(b, heads);
    return;
  }
  Value most = constant(b, *block, group);
  heads = arith::MinUIOp::create(b, some, most);
  ofBlock = divisorOf(b, heads);
  queries = divide(b, most, ofBlock).first;
  Value all = arith::AddIOp::create(b, some, constant(b, *block - 1, group));
  blocksOfQuery = divisorOf(b, arith::DivUIOp::create(b, all, most));
}

/// Of 32 bits: a division of 64 is several times as long on a GPU.
GroupedRows::Divisor GroupedRows::divisorOf(ImplicitLocOpBuilder &b,
                                            Value number) {
  Type word = b.getI32Type();
  Value all = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  Value down = arith::DivUIOp::create(
      b, all, Value(arith::IndexCastUIOp::create(b, word, number)));
  Value wide = arith::IndexCastUIOp::create(b, b.getIndexType(), down);
  return {number, arith::AddIOp::create(b, wide, constant(b, 1, number))};
}

std::pair<Value, Value> GroupedRows::divide(ImplicitLocOpBuilder &b, Value x,
                                            const Divisor &by) {
  Value number = spread(b, by.number, x), quotient;
  if (isTile(x)) {
    quotient = arith::DivUIOp::create(b, x, number);
  } else {
    // Off by less than x / 2^32, which the quotient is further from the next
    // number than (Granlund and Montgomery, 1994).
    Value product = arith::MulIOp::create(b, x, by.reciprocal);
    quotient = arith::ShRUIOp::create(b, product, constant(b, 32, x));
  }
  Value rest = arith::SubIOp::create(
      b, x, Value(arith::MulIOp::create(b, quotient, number)));
  return {quotient, rest};
}

Value GroupedRows::spread(ImplicitLocOpBuilder &b, Value number, Value like) {
  auto vector = dyn_cast<RankedTensorType>(like.getType());
  return vector ? Value(BroadcastOp::create(b, vector.clone(number.getType()),
                                            number, ValueRange{}))
                : number;
}

Value GroupedRows::constant(ImplicitLocOpBuilder &b, int64_t value,
                            Value like) {
  TypedAttr number = b.getIntegerAttr(getElementTypeOrSelf(like), value);
  if (auto vector = dyn_cast<RankedTensorType>(like.getType()))
    number = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(b, number);
}

GroupedRows::Place GroupedRows::findIn(ImplicitLocOpBuilder &b,
                                       Value block) const {
  auto [turn, part] = divide(b, block, blocksOfQuery);
  return {arith::MulIOp::create(b, part, spread(b, heads, block)),
          arith::MulIOp::create(b, turn, spread(b, queries, block)), Value()};
}

GroupedRows::Place GroupedRows::findFirst(ImplicitLocOpBuilder &b,
                                          Value row) const {
  if (!block)
    return find(b, row);
  return findIn(b, arith::DivUIOp::create(b, row, constant(b, *block, row)));
}

GroupedRows::Place GroupedRows::find(ImplicitLocOpBuilder &b, Value row) const {
  if (!block) {
    auto [query, head] = divide(b, row, ofBlock);
    return {head, query, Value()};
  }
  Place place = findFirst(b, row);
  Value within = arith::RemUIOp::create(b, row, constant(b, *block, row));
  auto [query, head] = divide(b, within, ofBlock);
  place.isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, query,
                                      spread(b, queries, row));
  place.head = arith::AddIOp::create(b, place.head, head);
  place.query = arith::AddIOp::create(b, place.query, query);
  return place;
}

Value GroupedRows::endOfQueries(ImplicitLocOpBuilder &b, Value end) const {
  Value one = constant(b, 1, end);
  Value last = arith::SubIOp::create(b, end, one);
  if (!block)
    return arith::AddIOp::create(b, find(b, last).query, one);
  last = arith::DivUIOp::create(b, last, constant(b, *block, end));
  return arith::AddIOp::create(b, findIn(b, last).query, queries);
}

Value GroupedRows::countRows(ImplicitLocOpBuilder &b, Value count) const {
  if (!block)
    return arith::MulIOp::create(b, count, heads);
  Value turns = arith::CeilDivUIOp::create(b, count, queries);
  Value blocks = arith::MulIOp::create(b, turns, blocksOfQuery.number);
  return arith::MulIOp::create(b, blocks, constant(b, *block, count));
}
