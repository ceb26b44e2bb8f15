//===- TensorSides.cpp - which tile a program has -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorTiles.h"

#include "fa/Plan/TensorTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// 128 bytes of 16-bit elements, as wide as boxes and swizzles are.
static constexpr int64_t kLineElements = 64;
/// Rows and depth of a tile of a reduction; of what is read across, both sides.
static constexpr int64_t kSumTile = 64;
/// Rows and columns of a tile that is computed element by element: few rows, so
/// that vectors go along what lies behind each other in memory.
static constexpr int64_t kFewRows = 16, kManyColumns = 128;
/// Sides of a tile are that many at least: products of matrices have 16 rows.
static constexpr int64_t kLeastSide = 16;

std::optional<AxisId> TensorTiles::chooseAxis(ArrayRef<AxisId> axes) const {
  if (axes.empty())
    return std::nullopt;
  auto length = [&](AxisId axis) {
    return isDynamic(axis) ? std::numeric_limits<int64_t>::max() : sizeOf(axis);
  };
  if (length(axes.back()) >= kLeastSide)
    return axes.back();
  return *llvm::max_element(
      axes, [&](AxisId x, AxisId y) { return length(x) < length(y); });
}

int64_t TensorTiles::tileSize(std::optional<AxisId> axis, int64_t most) const {
  if (!axis)
    return kLeastSide;
  if (isDynamic(*axis))
    return most;
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(sizeOf(*axis)), kLeastSide,
                             most);
}

TileSide TensorTiles::takeSide(AxisList &axes, int64_t most) {
  TileSide side;
  side.axis = chooseAxis(axes);
  side.size = tileSize(side.axis, most);
  if (!side.axis)
    return side;
  llvm::erase(axes, *side.axis);
  if (isDynamic(*side.axis) || sizeOf(*side.axis) == side.size ||
      !part.axes.split(*side.axis, side.size))
    return side;
  AxisList parts = part.axes.resolve(*side.axis);
  side.outer = parts[0];
  side.axis = parts[1];
  return side;
}

bool TensorTiles::beginsAligned(ShapedType type) {
  if (type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1) ||
      !type.getElementType().isIntOrFloat())
    return false;
  return type.getShape().back() * type.getElementTypeBitWidth() / 8 %
             kRowAlignment ==
         0;
}

bool TensorTiles::isFetched(unsigned number, std::optional<AxisId> first,
                            std::optional<AxisId> second) const {
  const TensorNode &node = part.nodes[number];
  auto type = dyn_cast<RankedTensorType>(node.value.getType());
  if (!promises || !node.memory || !type || type.getElementTypeBitWidth() != 16)
    return false;
  Type argument =
      func::FuncOp(part.function).getArgumentTypes()[node.memory->number];
  AxisList last = part.axes.resolve(node.dims.back());
  if (!beginsAligned(cast<RankedTensorType>(argument)) || last.empty() ||
      (last.back() != first && last.back() != second))
    return false;
  // Columns end with the argument's, or with a tile.
  return last.size() == 1 ||
         sizeOf(last.back()) % tileSize(last.back(), kLineElements) == 0;
}

ProductTile TensorTiles::dotTile() const {
  const TensorNode &dot = part.nodes[*part.sum];
  std::optional<AxisId> row = chooseAxis(part.rows),
                        column = chooseAxis(part.columns),
                        inner = chooseAxis(part.inner);
  auto length = [&](std::optional<AxisId> axis) -> int64_t {
    return !axis ? 1 : isDynamic(*axis) ? 0 : sizeOf(*axis);
  };
  ProductFacts facts;
  facts.rows = length(row);
  facts.columns = length(column);
  for (const AxisList *axes : {&part.rows, &part.columns, &part.others})
    for (AxisId axis : *axes)
      if (axis != row && axis != column)
        facts.count *= length(axis);
  facts.isFetched = inner && isFetched(dot.operands[0], inner, inner) &&
                    isFetched(dot.operands[1], inner, column);
  facts.depth = length(inner);
  facts.hasWholeColumns = part.columns.size() == 1;
  facts.hasWholeDepth = part.inner.size() == 1;
  return planProduct(facts, rules);
}

void TensorTiles::chooseSides() {
  fixed = part.rows;
  if (part.sum) {
    ProductTile tile =
        isDot() ? dotTile() : ProductTile{kSumTile, kSumTile, kSumTile};
    rows = takeSide(fixed, tile.rows);
    outerDepth = part.inner;
    depth = takeSide(outerDepth, tile.depth);
    AxisList others = part.columns;
    if (isDot())
      columns = takeSide(others, tile.columns);
    fixed.append(others);
    fixed.append(part.others);
    return;
  }
  if (fixed.empty()) { // one element
    rows = takeSide(fixed, kFewRows);
    return;
  }
  AxisList rest = fixed;
  std::optional<AxisId> fast = chooseAxis(rest);
  llvm::erase(rest, *fast);
  std::optional<AxisId> slow = chooseAxis(rest);
  // Where some are read across, both sides are lines of vectors.
  bool across = llvm::any_of(part.nodes, [&](const TensorNode &node) {
    return slow && node.memory && isAcross(node.dims, *slow, *fast);
  });
  TileSide side = takeSide(fixed, across ? kSumTile : kManyColumns);
  if (!slow) {
    rows = side;
    return;
  }
  columns = side;
  rows = takeSide(fixed, across ? kSumTile : kFewRows);
}

/// Rows of tiles whose programs come one after the other: of matrices that are
/// larger than a GPU's cache 1.03 of the rate in the order of the grid
/// (bench/results/2026-11-27-h100-layers.md).
static constexpr int64_t kGroupedTiles = 8;

bool TensorTiles::isGrouped() const {
  return part.sum && isDot() && rows.axis && columns.axis;
}

Value TensorTiles::countTiles(const TileSide &side) {
  if (side.outer)
    return sizeValue(*side.outer);
  return arith::CeilDivUIOp::create(b, sizeValue(*side.axis), index(side.size));
}

std::pair<Value, Value> TensorTiles::numbersOfTile() {
  Value number = ProgramIdOp::create(b, 0);
  if (!isGrouped())
    return {number,
            columns.size ? ProgramIdOp::create(b, 1).getResult() : Value()};
  Value group =
      arith::MulIOp::create(b, countTiles(columns), index(kGroupedTiles));
  Value first = arith::MulIOp::create(
      b, arith::DivUIOp::create(b, number, group), index(kGroupedTiles));
  Value left = arith::SubIOp::create(b, countTiles(rows), first);
  Value count = arith::MinUIOp::create(b, left, index(kGroupedTiles));
  Value inGroup = arith::RemUIOp::create(b, number, group);
  Value row = arith::AddIOp::create(b, first,
                                    arith::RemUIOp::create(b, inGroup, count));
  return {row, arith::DivUIOp::create(b, inGroup, count)};
}

void TensorTiles::placeSides() {
  auto begin = [&](TileSide &side, Value number) {
    if (!side.size)
      return;
    side.offset = index(0);
    if (side.outer)
      indices[*side.outer] = number;
    else if (side.axis)
      side.offset = arith::MulIOp::create(b, number, index(side.size));
  };
  auto [row, column] = numbersOfTile();
  begin(rows, row);
  begin(columns, column);
  if (fixed.empty())
    return;
  Value number = ProgramIdOp::create(b, 2);
  for (AxisId axis : llvm::reverse(ArrayRef(fixed))) {
    if (axis == fixed.front()) {
      indices[axis] = number;
      return;
    }
    Value size = sizeValue(axis);
    indices[axis] = arith::RemUIOp::create(b, number, size);
    number = arith::DivUIOp::create(b, number, size);
  }
}
