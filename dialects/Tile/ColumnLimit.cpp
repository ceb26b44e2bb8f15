//===- ColumnLimit.cpp - what a comparison says of a tile's columns -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/ColumnLimit.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa::tile;

namespace {

/// row * i + column * j + constant + scalars + rows[i], where i and j number
/// the tile's rows and columns.
struct LinearTile {
  int64_t row = 0, column = 0, constant = 0;
  SmallVector<std::pair<Value, int64_t>> scalars, rows; ///< with their signs
  unsigned numTerms = 0;
};

} // namespace

/// What each row of a tile has in all columns, index or up to 32 bits; null if
/// `value` is not made so.
static Value findRows(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto column = broadcast ? broadcast.getInput().getDefiningOp<ExpandDimsOp>()
                          : ExpandDimsOp();
  if (!column || column.getDim() != 1)
    return {};
  Type element = getElementTypeOrSelf(column.getInput().getType());
  return element.isIndex() || element.getIntOrFloatBitWidth() <= 32
             ? column.getInput()
             : Value();
}

/// Adds `sign` times the tile `value`. False: it is no sum of few such terms,
/// or its constant is so large that 1 more could wrap.
static bool addTerms(Value value, int64_t sign, LinearTile &sum) {
  constexpr unsigned mostTerms = 64;
  if (++sum.numTerms > mostTerms)
    return false;
  Operation *op = value.getDefiningOp();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat))) {
    constexpr int64_t limit = int64_t(1) << 56; // mostTerms of them: 2^62
    int64_t number = splat.getSplatValue<APInt>().getSExtValue();
    if (number <= -limit || number >= limit)
      return false;
    sum.constant += sign * number;
    return true;
  }
  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    (iota.getDim() == 0 ? sum.row : sum.column) += sign;
    return true;
  }
  if (Value rows = findRows(value)) {
    sum.rows.push_back({rows, sign});
    return true;
  }
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    sum.scalars.push_back({broadcast.getInput(), sign});
    return broadcast.getInput().getType().isIndex();
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return false;
  return addTerms(op->getOperand(0), sign, sum) &&
         addTerms(op->getOperand(1), isa<arith::AddIOp>(op) ? sign : -sign,
                  sum);
}

arith::CmpIPredicate fa::tile::exchanged(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case slt:
    return sgt;
  case sle:
    return sge;
  case sgt:
    return slt;
  case sge:
    return sle;
  default:
    return predicate;
  }
}

std::optional<ColumnLimit> fa::tile::findColumnLimit(arith::CmpIOp compare) {
  using enum arith::CmpIPredicate;
  auto type = dyn_cast<RankedTensorType>(compare.getLhs().getType());
  arith::CmpIPredicate predicate = compare.getPredicate();
  LinearTile sum; // lhs - rhs, which is compared with 0
  if (!type || type.getRank() != 2 || !type.getElementType().isIndex() ||
      !llvm::is_contained({slt, sle, sgt, sge}, predicate) ||
      !addTerms(compare.getLhs(), 1, sum) ||
      !addTerms(compare.getRhs(), -1, sum) || std::abs(sum.column) != 1 ||
      std::abs(sum.row) > 1)
    return std::nullopt;
  // j + rest < 0 is j < -rest.
  if (sum.column < 0)
    predicate = exchanged(predicate); // -x with 0 as 0 with x
  ColumnLimit limit;
  limit.slope = -sum.column * sum.row;
  limit.constant = -sum.column * sum.constant;
  for (auto [scalar, sign] : sum.scalars)
    limit.scalars.push_back({scalar, -sum.column * sign});
  for (auto [rows, sign] : sum.rows)
    limit.rows.push_back({rows, -sum.column * sign});
  limit.isUpper = predicate == slt || predicate == sle;
  // j <= x is j < x + 1, j > x is not j < x + 1.
  if (predicate == sle || predicate == sgt)
    ++limit.constant;
  return limit;
}
