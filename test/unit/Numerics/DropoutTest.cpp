//===- DropoutTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Dropout.h"

#include "gtest/gtest.h"

using namespace fa;

using Words = std::array<uint32_t, 4>;

/// The known answers of the Random123 distribution (tests/kat_vectors).
TEST(Dropout, Philox) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

static int64_t countKept(const DropoutRule &rule, int64_t head, int64_t rows,
                         int64_t columns) {
  int64_t kept = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      kept += rule.factor(head, i, j) != 0;
  return kept;
}

/// As many are dropped as is asked for, within five standard deviations.
TEST(Dropout, Probability) {
  for (double probability : {0.1, 0.17, 0.5, 0.9}) {
    constexpr int64_t rows = 256, columns = 256, count = rows * columns;
    double dropped = count - countKept({probability, 7, 3}, 5, rows, columns);
    EXPECT_NEAR(dropped / count, probability,
                5 * std::sqrt(probability * (1 - probability) / count));
  }
}

/// What is kept is scaled by 65536 / (65536 - t), whose mean is 1.
TEST(Dropout, Factor) {
  int64_t threshold = DropoutRule::threshold(0.17);
  EXPECT_EQ(threshold, 11141);
  DropoutRule rule = {0.17, 1, 2};
  for (int64_t j = 0; j < 64; ++j)
    if (double factor = rule.factor(0, 0, j); factor != 0)
      EXPECT_EQ(factor, 65536.0 / (65536 - 11141));
}

/// Every bit of seed, offset, head, query and key counts: two masks of 1024
/// elements agree in about half of them.
TEST(Dropout, Counter) {
  auto mask = [](uint64_t seed, uint64_t offset, int64_t head, int64_t i,
                 int64_t j) {
    std::vector<bool> kept;
    for (int64_t n = 0; n < 32; ++n)
      for (int64_t m = 0; m < 32; ++m)
        kept.push_back(
            DropoutRule{0.5, seed, offset}.factor(head, i + n, j + m) != 0);
    return kept;
  };
  std::vector<bool> first = mask(1, 2, 3, 0, 0);
  for (const std::vector<bool> &other :
       {mask(0, 2, 3, 0, 0), mask(1 | uint64_t(1) << 63, 2, 3, 0, 0),
        mask(1, 3, 3, 0, 0), mask(1, 2 | uint64_t(1) << 63, 3, 0, 0),
        mask(1, 2, 2, 0, 0), mask(1, 2, 3, 32, 0), mask(1, 2, 3, 0, 32),
        mask(1, 2, 3, 1, 0), mask(1, 2, 3, 0, 1), mask(1, 2, 3, 8, 0),
        mask(1, 2, 3, 0, 8), mask(1, 2, 3, 0, 9)}) {
    int64_t same = 0;
    for (size_t n = 0; n < first.size(); ++n)
      same += first[n] == other[n];
    EXPECT_GT(same, 400);
    EXPECT_LT(same, 624);
  }
}
