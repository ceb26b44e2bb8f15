//===- LinearLayout.cpp - who holds which element -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>

using namespace llvm;
using namespace fa;

static constexpr Axis allAxes[] = {Axis::Register, Axis::Lane, Axis::Warp,
                                   Axis::Offset};

LinearLayout::LinearLayout(ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes) {
    assert(size > 0 && isPowerOf2_64(size) && "sizes are powers of two");
    logSizes.push_back(Log2_64(size));
  }
}

LinearLayout &LinearLayout::add(Axis axis, ArrayRef<Coord> bases) {
  for (const Coord &basis : bases)
    table[static_cast<int>(axis)].push_back(pack(basis));
  return *this;
}

LinearLayout &LinearLayout::addSteps(Axis axis, unsigned dim, int32_t first,
                                     unsigned count) {
  for (unsigned bit = 0; bit < count; ++bit) {
    Coord basis(rank(), 0);
    basis[dim] = first << bit;
    add(axis, {basis});
  }
  return *this;
}

LinearLayout &LinearLayout::addCopies(Axis axis, unsigned count) {
  table[static_cast<int>(axis)].append(count, 0);
  return *this;
}

uint32_t LinearLayout::pack(ArrayRef<int32_t> coord) const {
  assert(coord.size() == rank());
  uint32_t packed = 0;
  for (auto [value, log] : zip(coord, logSizes)) {
    assert(value >= 0 && value < (1 << log) && "a basis outside the tile");
    packed = packed << log | value;
  }
  return packed;
}

Coord LinearLayout::unpack(uint32_t packed) const {
  Coord coord(rank());
  for (unsigned dim = rank(); dim-- > 0;) {
    coord[dim] = packed & ((1u << logSizes[dim]) - 1);
    packed >>= logSizes[dim];
  }
  return coord;
}

Coord LinearLayout::apply(const Place &place) const {
  uint32_t sum = 0;
  for (Axis axis : allAxes)
    for (auto [bit, column] : enumerate(columns(axis)))
      if (place[axis] >> bit & 1)
        sum ^= column;
  return unpack(sum);
}

/// Gaussian elimination: adds `vector` to the rows of `basis`, each with its
/// own leading bit. False if it is a sum of them.
static bool addToSpan(SmallVectorImpl<uint32_t> &basis, uint32_t vector) {
  for (uint32_t row : basis)
    vector = std::min(vector, vector ^ row);
  if (vector)
    basis.push_back(vector);
  return vector;
}

unsigned LinearLayout::dimensionOfSpan() const {
  SmallVector<uint32_t> basis;
  for (Axis axis : allAxes)
    for (uint32_t column : columns(axis))
      addToSpan(basis, column);
  return basis.size();
}

bool LinearLayout::isSurjective() const {
  return dimensionOfSpan() == unsigned(sum_of(logSizes, 0));
}

bool LinearLayout::isInjective() const {
  unsigned all = 0;
  for (Axis axis : allAxes)
    all += bits(axis);
  return dimensionOfSpan() == all;
}

LinearLayout LinearLayout::dropDim(unsigned dim) const {
  LinearLayout result;
  result.logSizes = logSizes;
  result.logSizes.erase(result.logSizes.begin() + dim);
  for (Axis axis : allAxes)
    for (uint32_t column : columns(axis)) {
      Coord coord = unpack(column);
      coord.erase(coord.begin() + dim);
      result.add(axis, {coord});
    }
  return result;
}

LinearLayout LinearLayout::addUnitDim(unsigned dim) const {
  LinearLayout result = *this; // a dimension of one element has no bits
  result.logSizes.insert(result.logSizes.begin() + dim, 0);
  return result;
}

LinearLayout LinearLayout::permuted(ArrayRef<int64_t> permutation) const {
  LinearLayout result;
  for (int64_t dim : permutation)
    result.logSizes.push_back(logSizes[dim]);
  for (Axis axis : allAxes)
    for (uint32_t column : columns(axis)) {
      Coord coord = unpack(column), moved;
      for (int64_t dim : permutation)
        moved.push_back(coord[dim]);
      result.add(axis, {moved});
    }
  return result;
}

std::optional<LinearLayout::PlaceMap>
LinearLayout::composeInverse(const LinearLayout &other) const {
  // Rows (element, place), reduced to leading bits of their own.
  struct Row {
    uint32_t element;
    Place place;
  };
  auto combine = [](Row &row, const Row &with) {
    row.element ^= with.element;
    for (unsigned axis = 0; axis < numAxes; ++axis)
      row.place.at[axis] ^= with.place.at[axis];
  };
  SmallVector<Row> rows;
  for (Axis axis : allAxes)
    for (auto [bit, column] : enumerate(columns(axis))) {
      Row row{column, {}};
      row.place[axis] = 1u << bit;
      for (const Row &known : rows)
        if ((row.element ^ known.element) < row.element)
          combine(row, known);
      if (row.element)
        rows.push_back(row);
    }
  PlaceMap map;
  for (Axis axis : allAxes)
    for (auto [bit, column] : enumerate(other.columns(axis))) {
      Row target{column, {}};
      // The same bit of the same axis holds it: nothing has to move.
      bool stays = bit < bits(axis) && columns(axis)[bit] == column;
      if (stays) {
        target.place[axis] = 1u << bit;
      } else {
        for (const Row &known : rows)
          if ((target.element ^ known.element) < target.element)
            combine(target, known);
        if (target.element)
          return std::nullopt;
        // A bit that makes no difference here follows the other's.
        if (axis != Axis::Register && bit < bits(axis) &&
            columns(axis)[bit] == 0)
          target.place[axis] ^= 1u << bit;
      }
      map[static_cast<int>(axis)].push_back(target.place);
    }
  return map;
}

void LinearLayout::print(raw_ostream &out) const {
  constexpr StringLiteral names[] = {"register", "lane", "warp", "offset"};
  StringRef separator = "";
  for (Axis axis : allAxes) {
    if (!bits(axis))
      continue;
    out << separator << names[static_cast<int>(axis)] << " = [";
    separator = ", ";
    interleaveComma(columns(axis), out, [&](uint32_t column) {
      out << '[';
      interleaveComma(unpack(column), out);
      out << ']';
    });
    out << ']';
  }
}

Coord TileLayout::apply(uint32_t reg, uint32_t lane, uint32_t warp) const {
  uint32_t bits = base.bits(Axis::Register);
  Coord coord =
      base.apply(Place::registers(reg & ((1u << bits) - 1), lane, warp));
  if (rank())
    coord.back() += (reg >> bits) * base.size(rank() - 1);
  return coord;
}
