//===- NamedLayouts.cpp - the layouts that machines have ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/NamedLayouts.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace llvm;
using namespace fa;

int64_t fa::powerOfTwoPart(int64_t size) { return size & -size; }

/// Bits to get from `from` to `to`, both powers of two.
static unsigned stepsBetween(int64_t from, int64_t to) {
  assert(to >= from);
  return Log2_64(to) - Log2_64(from);
}

/// A lane has `together` neighbours of a row, of which four lanes have a part.
static TileLayout mmaRows(int64_t rows, int64_t columns, int64_t warps,
                          int64_t together) {
  int64_t part = 4 * together;
  assert(rows >= 16 * warps && columns % part == 0);
  int64_t width = powerOfTwoPart(columns), height = rows / warps;
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 1, 1, stepsBetween(1, together));
  layout.addSteps(Axis::Register, 0, 8, 1);
  layout.addSteps(Axis::Register, 1, part, stepsBetween(part, width));
  layout.addSteps(Axis::Register, 0, 16, stepsBetween(16, height));
  layout.addSteps(Axis::Lane, 1, together, 2).addSteps(Axis::Lane, 0, 1, 3);
  layout.addSteps(Axis::Warp, 0, height, stepsBetween(height, rows));
  return {layout, columns / width};
}

TileLayout fa::mmaAccumulator(int64_t rows, int64_t columns, int64_t warps) {
  return mmaRows(rows, columns, warps, /*together=*/2);
}

TileLayout fa::mmaQuads(int64_t rows, int64_t columns, int64_t warps) {
  return mmaRows(rows, columns, warps, /*together=*/4);
}

TileLayout fa::mmaOperandB8(int64_t rows, int64_t columns, bool transposed,
                            int64_t warps) {
  int64_t width = powerOfTwoPart(columns);
  unsigned k = transposed ? 1 : 0, n = 1 - k;
  int64_t sizes[] = {rows, width};
  assert(sizes[k] >= 16 && sizes[n] >= (transposed ? 8 : 16));
  LinearLayout layout({rows, width});
  if (transposed) {
    layout.addSteps(Axis::Register, k, 1, 2);
    layout.addSteps(Axis::Register, n, 8, stepsBetween(8, sizes[n]));
    layout.addSteps(Axis::Lane, k, 4, 2).addSteps(Axis::Lane, n, 1, 3);
  } else {
    layout.addSteps(Axis::Register, n, 1, 1);
    layout.addSteps(Axis::Register, k, 1, 1).addSteps(Axis::Register, k, 8, 1);
    layout.addSteps(Axis::Register, n, 16, stepsBetween(16, sizes[n]));
    layout.addSteps(Axis::Lane, k, 2, 2).addSteps(Axis::Lane, n, 2, 3);
  }
  layout.addSteps(Axis::Register, k, 16, stepsBetween(16, sizes[k]));
  layout.addCopies(Axis::Warp, Log2_64(warps));
  return {layout, columns / width};
}

TileLayout fa::mmaOperandB(int64_t rows, int64_t columns, bool transposed,
                           int64_t warps) {
  int64_t width = powerOfTwoPart(columns);
  unsigned k = transposed ? 1 : 0, n = 1 - k;
  int64_t sizes[] = {rows, width};
  assert(sizes[k] >= 16 && sizes[n] >= 8);
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, k, 1, 1).addSteps(Axis::Register, k, 8, 1);
  layout.addSteps(Axis::Register, n, 8, stepsBetween(8, sizes[n]));
  layout.addSteps(Axis::Register, k, 16, stepsBetween(16, sizes[k]));
  layout.addSteps(Axis::Lane, k, 2, 2).addSteps(Axis::Lane, n, 1, 3);
  layout.addCopies(Axis::Warp, Log2_64(warps));
  return {layout, columns / width};
}

TileLayout fa::mmaOperandA32(int64_t rows, int64_t depth, int64_t warps) {
  int64_t width = powerOfTwoPart(depth), height = rows / warps;
  assert(rows >= 16 * warps && width >= 8);
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 0, 8, 1);
  layout.addSteps(Axis::Register, 1, 4, stepsBetween(4, width));
  layout.addSteps(Axis::Register, 0, 16, stepsBetween(16, height));
  layout.addSteps(Axis::Lane, 1, 1, 2).addSteps(Axis::Lane, 0, 1, 3);
  layout.addSteps(Axis::Warp, 0, height, stepsBetween(height, rows));
  return {layout, depth / width};
}

TileLayout fa::mmaOperandB32(int64_t columns, int64_t depth, int64_t warps) {
  int64_t width = powerOfTwoPart(depth);
  assert(columns >= 8 && width >= 8);
  LinearLayout layout({columns, width});
  layout.addSteps(Axis::Register, 1, 4, stepsBetween(4, width));
  layout.addSteps(Axis::Register, 0, 8, stepsBetween(8, columns));
  layout.addSteps(Axis::Lane, 1, 1, 2).addSteps(Axis::Lane, 0, 1, 3);
  layout.addCopies(Axis::Warp, Log2_64(warps));
  return {layout, depth / width};
}

TileLayout fa::fmaOperandA(int64_t rows, int64_t depth, int64_t warps) {
  int64_t width = powerOfTwoPart(depth), height = rows / warps;
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 1, 1, Log2_64(width));
  layout.addSteps(Axis::Register, 0, 8, stepsBetween(8, height));
  layout.addCopies(Axis::Lane, 2).addSteps(Axis::Lane, 0, 1, 3);
  layout.addSteps(Axis::Warp, 0, height, stepsBetween(height, rows));
  return {layout, depth / width};
}

TileLayout fa::fmaOperandB(int64_t rows, int64_t columns, bool transposed,
                           int64_t warps) {
  int64_t width = powerOfTwoPart(columns);
  unsigned k = transposed ? 1 : 0, n = 1 - k;
  int64_t sizes[] = {rows, width};
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, k, 1, Log2_64(sizes[k]));
  layout.addSteps(Axis::Register, n, 1, 1);
  layout.addSteps(Axis::Register, n, 8, stepsBetween(8, sizes[n]));
  layout.addSteps(Axis::Lane, n, 2, 2).addCopies(Axis::Lane, 3);
  layout.addCopies(Axis::Warp, Log2_64(warps));
  return {layout, columns / width};
}

/// Adds the bits of a warp of 64 to `layout`, whose dimension `across` is dealt
/// to lanes and whose dimension `along` has the `vector` of each.
static void addMfmaLanes(LinearLayout &layout, unsigned across, unsigned along,
                         int64_t side, int64_t vector) {
  int64_t together = vector * 64 / side;
  assert(layout.size(across) >= side && layout.size(along) >= together);
  layout.addSteps(Axis::Register, along, 1, Log2_64(vector));
  layout.addSteps(Axis::Register, along, together,
                  stepsBetween(together, layout.size(along)));
  layout.addSteps(Axis::Lane, across, 1, Log2_64(side));
  layout.addSteps(Axis::Lane, along, vector, Log2_64(64 / side));
}

TileLayout fa::mfmaRows(int64_t rows, int64_t columns, int64_t side,
                        int64_t vector, int64_t warps) {
  int64_t width = powerOfTwoPart(columns), height = rows / warps;
  LinearLayout layout({rows, width});
  addMfmaLanes(layout, /*across=*/0, /*along=*/1, side, vector);
  layout.addSteps(Axis::Register, 0, side, stepsBetween(side, height));
  layout.addSteps(Axis::Warp, 0, height, stepsBetween(height, rows));
  return {layout, columns / width};
}

TileLayout fa::mfmaOperandB(int64_t rows, int64_t columns, bool transposed,
                            int64_t side, int64_t vector, int64_t warps) {
  int64_t width = powerOfTwoPart(columns);
  unsigned depth = transposed ? 1 : 0, across = 1 - depth;
  LinearLayout layout({rows, width});
  addMfmaLanes(layout, across, depth, side, vector);
  layout.addSteps(Axis::Register, across, side,
                  stepsBetween(side, layout.size(across)));
  layout.addCopies(Axis::Warp, Log2_64(warps));
  return {layout, columns / width};
}

/// Offsets of a tile in rows one behind the other; `met(bit)` is what row bit
/// `bit` adds to the column, by XOR.
static TileLayout sharedRows(int64_t rows, int64_t columns,
                             llvm::function_ref<int32_t(unsigned bit)> met) {
  int64_t width = powerOfTwoPart(columns);
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Offset, 1, 1, Log2_64(width));
  // The offset of a row is at line (0 ^ row), so the line at (row, 0) is where
  // the column is the XOR.
  for (unsigned bit = 0; bit < Log2_64(rows); ++bit)
    layout.add(Axis::Offset, {Coord{1 << bit, met(bit)}});
  return {layout, columns / width};
}

TileLayout fa::swizzledShared(int64_t rows, int64_t columns, int64_t bytes) {
  int64_t width = powerOfTwoPart(columns);
  unsigned lineBits = Log2_64(std::min<int64_t>(16 / bytes, width));
  // Lines that lie in the 128 bytes of all banks, and rows that share them.
  unsigned chunkBits = std::min(Log2_64(width) - lineBits, 3u);
  unsigned rowsTogether = 3 - chunkBits;
  return sharedRows(rows, columns, [=](unsigned bit) {
    bool meets = bit >= rowsTogether && bit - rowsTogether < chunkBits;
    return meets ? 1 << (lineBits + bit - rowsTogether) : 0;
  });
}

CopyPlace fa::placeOfCopy(const TileLayout &shared, int64_t copy) {
  int64_t rows = shared.base.size(0), width = shared.base.size(1);
  if (!shared.joined)
    return {.rows = shared.base, .begin = copy * rows * width};
  int64_t first = 0, together = bit_floor(uint64_t(shared.repeat));
  while (copy >= first + together) {
    first += together;
    together = bit_floor(uint64_t(shared.repeat - first));
  }
  return {.rows = swizzledShared(rows, together * width, shared.joined).base,
          .copies = together,
          .begin = first * rows * width,
          .column = (copy - first) * width};
}

LinearLayout fa::inRowsOf(const CopyPlace &place, const LinearLayout &layout) {
  if (place.copies == 1)
    return layout;
  LinearLayout wide({layout.size(0), place.rows.size(1)});
  for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp, Axis::Offset})
    for (unsigned bit = 0; bit < layout.bits(axis); ++bit)
      wide.add(axis, {layout.basis(axis, bit)});
  return wide;
}

TileLayout fa::cyclicShared(int64_t rows, int64_t columns, int64_t bytes) {
  int64_t width = powerOfTwoPart(columns);
  unsigned lineBits = Log2_64(std::min<int64_t>(16 / bytes, width));
  unsigned chunkBits = std::min(Log2_64(width) - lineBits, 4u);
  unsigned rowsTogether = 4 - chunkBits;
  return sharedRows(rows, columns, [=](unsigned bit) {
    bool meets = bit >= rowsTogether && chunkBits;
    return meets ? 1 << (lineBits + (bit - rowsTogether) % chunkBits) : 0;
  });
}

TileLayout fa::turnedShared(int64_t rows, int64_t columns, int64_t bytes,
                            int64_t across) {
  // Bits of an offset in bytes: those of the banks end at 8, those of the
  // neighbours at `first`; rows begin at `rowBit`.
  constexpr unsigned bankBits = 8;
  unsigned first = Log2_64(across * bytes);
  unsigned rowBit = Log2_64(powerOfTwoPart(columns) * bytes);
  unsigned rowsTogether = rowBit < bankBits ? bankBits - rowBit : 0;
  unsigned met = bankBits - first;
  return sharedRows(rows, columns, [=](unsigned bit) {
    bool meets = bit >= rowsTogether && bit < met;
    return meets ? 1 << (first + bit - rowsTogether - Log2_64(bytes)) : 0;
  });
}

LinearLayout fa::linearLanes(const LinearLayout &shared, int64_t vector,
                             int64_t warps) {
  LinearLayout layout({shared.size(0), shared.size(1)});
  unsigned offset = 0;
  auto take = [&](Axis axis, unsigned bits) {
    for (; bits; --bits)
      if (offset < shared.bits(Axis::Offset))
        layout.add(axis, {shared.basis(Axis::Offset, offset++)});
      else
        layout.addCopies(axis, 1);
  };
  take(Axis::Register, Log2_64(vector));
  take(Axis::Lane, 6);
  take(Axis::Warp, Log2_64(warps));
  take(Axis::Register, shared.bits(Axis::Offset) - offset);
  return layout;
}

TileLayout fa::blocked(int64_t rows, int64_t columns, int64_t vector,
                       int64_t warps, int64_t lanes, int64_t height) {
  int64_t width = powerOfTwoPart(columns);
  vector = std::min(vector, width);
  height = std::min(height, rows);
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 1, 1, Log2_64(vector));
  layout.addSteps(Axis::Register, 0, 1, Log2_64(height));
  // Each axis takes what is left of the columns, then of the rows.
  int64_t column = vector, row = height;
  auto take = [&](Axis axis, unsigned bits) {
    for (; bits; --bits) {
      if (column < width) {
        layout.addSteps(axis, 1, column, 1);
        column *= 2;
      } else if (row < rows) {
        layout.addSteps(axis, 0, row, 1);
        row *= 2;
      } else {
        layout.addCopies(axis, 1);
      }
    }
  };
  take(Axis::Lane, Log2_64(lanes));
  take(Axis::Warp, Log2_64(warps));
  take(Axis::Register, stepsBetween(column, width) + stepsBetween(row, rows));
  return {layout, columns / width};
}

TileLayout fa::blockedRows(int64_t rows, int64_t columns, int64_t warps,
                           int64_t lanes, int64_t vector) {
  int64_t width = powerOfTwoPart(columns), column = 1, row = 1;
  LinearLayout layout({rows, width});
  auto take = [&](Axis axis, unsigned dim, int64_t &step, int64_t end,
                  unsigned bits) {
    for (; bits && step < end; --bits, step *= 2)
      layout.addSteps(axis, dim, step, 1);
    return bits;
  };
  take(Axis::Register, 1, column, width, Log2_64(vector));
  unsigned left = take(Axis::Lane, 1, column, width, Log2_64(lanes));
  left = take(Axis::Lane, 0, row, rows, left);
  layout.addCopies(Axis::Lane, left);
  left = take(Axis::Warp, 0, row, rows, Log2_64(warps));
  layout.addCopies(Axis::Warp, left);
  take(Axis::Register, 1, column, width, 64);
  take(Axis::Register, 0, row, rows, 64);
  return {layout, columns / width};
}
