//===- NamedLayoutsTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/NamedLayouts.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace fa;

/// The formulas of the PTX ISA for mma.m16n8k16: `group` is lane >> 2, `thread`
/// is lane % 4.
TEST(NamedLayouts, AccumulatorIsThatOfTheIsa) {
  TileLayout layout = mmaAccumulator(16, 8, 1);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      int32_t row = (lane >> 2) + (i < 2 ? 0 : 8);
      int32_t column = (lane % 4) * 2 + (i & 1);
      EXPECT_EQ(layout.apply(i, lane, 0), (Coord{row, column}));
    }
}

TEST(NamedLayouts, OperandAIsThatOfTheIsa) {
  TileLayout layout = mmaAccumulator(16, 16, 1);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 8; ++i) {
      bool upper = i < 2 || (i >= 4 && i < 6);
      int32_t row = (lane >> 2) + (upper ? 0 : 8);
      int32_t column = (lane % 4) * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      EXPECT_EQ(layout.apply(i, lane, 0), (Coord{row, column}));
    }
}

TEST(NamedLayouts, OperandBIsThatOfTheIsa) {
  for (bool transposed : {false, true}) {
    TileLayout layout =
        transposed ? mmaOperandB(8, 16, true, 1) : mmaOperandB(16, 8, false, 1);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 4; ++i) {
        int32_t k = (lane % 4) * 2 + (i & 1) + (i >= 2 ? 8 : 0), n = lane >> 2;
        EXPECT_EQ(layout.apply(i, lane, 0),
                  transposed ? (Coord{n, k}) : (Coord{k, n}));
      }
  }
}

/// mma.m16n8k8 of tf32: element i of A is at row group + 8 (i % 2), column
/// thread + 4 (i / 2); element i of B at row thread + 4 i of k, column group.
TEST(NamedLayouts, OperandsOf32BitsAreThoseOfTheIsa) {
  TileLayout a = mmaOperandA32(16, 8, 1), b = mmaOperandB32(8, 8, 1);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    int32_t group = lane >> 2, thread = lane % 4;
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(a.apply(i, lane, 0), (Coord{group + int32_t(i % 2) * 8,
                                            thread + int32_t(i / 2) * 4}));
    for (uint32_t i = 0; i < 2; ++i)
      EXPECT_EQ(b.apply(i, lane, 0), (Coord{group, thread + int32_t(i) * 4}));
  }
}

/// Every element once, or as often as warps share it.
TEST(NamedLayouts, CoverTheirTiles) {
  for (int64_t warps : {1, 2, 4, 8})
    for (int64_t columns : {16, 48, 64, 80, 96, 128, 192, 256}) {
      TileLayout acc = mmaAccumulator(16 * warps, columns, warps);
      EXPECT_TRUE(acc.base.isSurjective() && acc.base.isInjective());
      EXPECT_EQ(acc.size(1), columns);
      std::set<std::pair<int32_t, int32_t>> seen;
      for (uint32_t warp = 0; warp < warps; ++warp)
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t reg = 0; reg < acc.numRegisters(); ++reg) {
            Coord at = acc.apply(reg, lane, warp);
            EXPECT_TRUE(seen.insert({at[0], at[1]}).second);
          }
      EXPECT_EQ(int64_t(seen.size()), 16 * warps * columns);
      TileLayout b = mmaOperandB(64, columns, false, warps);
      EXPECT_TRUE(b.base.isSurjective());
      TileLayout a32 = mmaOperandA32(16 * warps, columns, warps);
      EXPECT_TRUE(a32.base.isSurjective() && a32.base.isInjective());
      EXPECT_TRUE(mmaOperandB32(64, columns, warps).base.isSurjective());
      EXPECT_TRUE(blocked(64, columns, 8, warps).base.isSurjective());
    }
}

TEST(NamedLayouts, SharedIsABijection) {
  for (int64_t bytes : {1, 2, 4})
    for (int64_t columns : {16, 32, 64, 96, 128, 256})
      for (int64_t rows : {16, 64, 128}) {
        LinearLayout layout = swizzledShared(rows, columns, bytes).base;
        EXPECT_TRUE(layout.isSurjective());
        EXPECT_TRUE(layout.isInjective());
        // Lines of 16 bytes stay together.
        for (uint32_t n = 0; n + 1 < 16 / bytes && n < 8; ++n)
          EXPECT_EQ(layout.apply(Place::offset(n)), (Coord{0, int32_t(n)}));
      }
}

/// Each element of a tile has a place of its own, and what copies that lie
/// together have of a row is in one line of 128 bytes.
TEST(NamedLayouts, JoinedCopiesShareLines) {
  for (int64_t bytes : {1, 2})
    for (int64_t columns : {48, 72, 80, 96, 112, 144, 160, 192, 224}) {
      TileLayout shared = swizzledShared(32, columns, bytes);
      shared.joined = bytes;
      int64_t width = shared.base.size(1);
      std::set<int64_t> places;
      std::map<int64_t, std::set<int64_t>> lines; // of a row, by its place
      for (int64_t copy = 0; copy < shared.repeat; ++copy) {
        CopyPlace place = placeOfCopy(shared, copy);
        EXPECT_EQ(place.rows.size(1), place.copies * width);
        LinearLayout part = inRowsOf(place, shared.base);
        auto map = place.rows.composeInverse(part);
        ASSERT_TRUE(map);
        for (uint32_t n = 0; n < 32 * width; ++n) {
          uint32_t offset = place.column;
          for (unsigned bit = 0; bit < part.bits(Axis::Offset); ++bit)
            if (n >> bit & 1)
              offset ^=
                  (*map)[static_cast<int>(Axis::Offset)][bit][Axis::Offset];
          Coord at = part.apply(Place::offset(n));
          EXPECT_EQ(place.rows.apply(Place::offset(offset)),
                    (Coord{at[0], at[1] + int32_t(place.column)}));
          places.insert(place.begin + offset);
          if (at[0] == 5)
            lines[place.begin].insert((place.begin + offset) * bytes / 128);
        }
        int64_t rowBytes = place.rows.size(1) * bytes;
        EXPECT_LE(lines[place.begin].size(), size_t((rowBytes + 127) / 128));
      }
      EXPECT_EQ(places.size(), size_t(32 * columns));
    }
}

/// The formulas of the MI300 ISA, "Matrix Fused-Multiply-Add": lane l has
/// D[8 (r / 4) + 4 (l / 32) + r % 4][l % 32] of 32x32x8 and
/// D[4 (l / 16) + r][l % 16] of 16x16x16 in register r; row i of D is a column
/// here, column j a row.
TEST(NamedLayouts, MfmaRowsAreTheTransposedAccumulator) {
  TileLayout wide = mfmaRows(32, 32, 32, 4, 1);
  TileLayout narrow = mfmaRows(16, 16, 16, 4, 1);
  for (int32_t lane = 0; lane < 64; ++lane) {
    for (int32_t r = 0; r < 16; ++r)
      EXPECT_EQ(wide.apply(r, lane, 0),
                (Coord{lane % 32, 8 * (r / 4) + 4 * (lane / 32) + r % 4}));
    for (int32_t r = 0; r < 4; ++r)
      EXPECT_EQ(narrow.apply(r, lane, 0),
                (Coord{lane % 16, 4 * (lane / 16) + r}));
  }
}

/// Lane l has A[l % S][4 (l / S) + e] and B[4 (l / S) + e][l % S] for e < 4;
/// the left operand is B transposed.
TEST(NamedLayouts, MfmaOperandsAreThoseOfTheIsa) {
  for (int64_t side : {16, 32}) {
    int64_t depth = 4 * 64 / side;
    TileLayout left = mfmaRows(side, depth, side, 4, 1);
    TileLayout right = mfmaOperandB(depth, side, false, side, 4, 1);
    TileLayout turned = mfmaOperandB(side, depth, true, side, 4, 1);
    for (int32_t lane = 0; lane < 64; ++lane)
      for (int32_t e = 0; e < 4; ++e) {
        int32_t across = lane % side, k = 4 * (lane / side) + e;
        EXPECT_EQ(left.apply(e, lane, 0), (Coord{across, k}));
        EXPECT_EQ(right.apply(e, lane, 0), (Coord{k, across}));
        EXPECT_EQ(turned.apply(e, lane, 0), (Coord{across, k}));
      }
  }
}

TEST(NamedLayouts, MfmaCoversItsTiles) {
  for (int64_t side : {16, 32})
    for (int64_t vector : {4, 8})
      for (int64_t warps : {1, 2, 4}) {
        TileLayout rows = mfmaRows(side * warps, 96, side, vector, warps);
        EXPECT_TRUE(rows.base.isSurjective() && rows.base.isInjective());
        EXPECT_EQ(rows.numRegisters(), side * 96 / 64);
        TileLayout right = mfmaOperandB(64, 96, false, side, vector, warps);
        EXPECT_TRUE(right.base.isSurjective());
        EXPECT_EQ(right.numRegisters(), 64 * 96 / 64);
      }
}
