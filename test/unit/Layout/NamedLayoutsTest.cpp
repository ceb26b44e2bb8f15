//===- NamedLayoutsTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/NamedLayouts.h"

#include "gtest/gtest.h"

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
