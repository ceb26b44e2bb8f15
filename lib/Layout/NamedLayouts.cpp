//===- NamedLayouts.cpp - the layouts that machines have ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/NamedLayouts.h"

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

TileLayout fa::mmaAccumulator(int64_t rows, int64_t columns, int64_t warps) {
  assert(rows >= 16 * warps && columns % 8 == 0);
  int64_t width = powerOfTwoPart(columns), height = rows / warps;
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 1, 1, 1).addSteps(Axis::Register, 0, 8, 1);
  layout.addSteps(Axis::Register, 1, 8, stepsBetween(8, width));
  layout.addSteps(Axis::Register, 0, 16, stepsBetween(16, height));
  layout.addSteps(Axis::Lane, 1, 2, 2).addSteps(Axis::Lane, 0, 1, 3);
  layout.addSteps(Axis::Warp, 0, height, stepsBetween(height, rows));
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

TileLayout fa::swizzledShared(int64_t rows, int64_t columns, int64_t bytes) {
  int64_t width = powerOfTwoPart(columns);
  int64_t line = std::min<int64_t>(16 / bytes, width);
  unsigned lineBits = Log2_64(line);
  // Lines that lie in the 128 bytes of all banks, and rows that share them.
  unsigned chunkBits = std::min(Log2_64(width) - lineBits, 3u);
  unsigned rowsTogether = 3 - chunkBits;
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Offset, 1, 1, Log2_64(width));
  for (unsigned bit = 0; bit < Log2_64(rows); ++bit) {
    // The offset of a row is at line (0 ^ row), so the line at (row, 0) is
    // where the column is the XOR.
    Coord basis = {1 << bit, 0};
    if (bit >= rowsTogether && bit - rowsTogether < chunkBits)
      basis[1] = 1 << (lineBits + bit - rowsTogether);
    layout.add(Axis::Offset, {basis});
  }
  return {layout, columns / width};
}

TileLayout fa::blocked(int64_t rows, int64_t columns, int64_t vector,
                       int64_t warps) {
  int64_t width = powerOfTwoPart(columns);
  vector = std::min(vector, width);
  LinearLayout layout({rows, width});
  layout.addSteps(Axis::Register, 1, 1, Log2_64(vector));
  // Each axis takes what is left of the columns, then of the rows.
  int64_t column = vector, row = 1;
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
  take(Axis::Lane, 5);
  take(Axis::Warp, Log2_64(warps));
  take(Axis::Register, stepsBetween(column, width) + stepsBetween(row, rows));
  return {layout, columns / width};
}
