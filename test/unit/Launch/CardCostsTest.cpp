//===- CardCostsTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/CardCosts.h"
#include "fa/Launch/Splits.h"

#include "gtest/gtest.h"

using namespace fa;

static constexpr CardFacts kH200 = {90, 132, 4916736},
                           kH100 = {90, 132, 3352320},
                           kH100Pcie = {90, 114, 2039040},
                           kA100 = {80, 108, 2039040};

/// Costs that are none of a measured card.
static LaunchCosts others() {
  LaunchCosts costs;
  costs.waveBytes = 1000;
  costs.scoreMillibytes = 7000;
  return costs;
}

TEST(CardCosts, OfACardThatWasMeasured) {
  EXPECT_EQ(findCosts(kH200, others()), LaunchCosts());
  // A clock that differs somewhat is the same card's.
  CardFacts near = kH200;
  near.bandwidth = 4800000;
  EXPECT_EQ(findCosts(near, others()), LaunchCosts());
  LaunchCosts h100;
  h100.bandwidth = kH100.bandwidth;
  EXPECT_EQ(findCosts(kH100, others()), h100);
  // The twins: another bandwidth, architecture or number of processors.
  near.bandwidth = 4000000;
  EXPECT_NE(findCosts(near, others()), LaunchCosts());
  near = kH200;
  near.computeCapability = 100;
  EXPECT_NE(findCosts(near, others()), LaunchCosts());
  near = kH200;
  near.processors = 114;
  EXPECT_NE(findCosts(near, others()), LaunchCosts());
}

/// What takes a time is as many bytes as the card reads meanwhile; the rest is
/// the same.
TEST(CardCosts, OfAnotherCardAreThePlansScaled) {
  LaunchCosts found = findCosts(kH100Pcie, others());
  EXPECT_EQ(found.processors, 114);
  EXPECT_EQ(found.bandwidth, 2039040);
  EXPECT_EQ(found.waveBytes, 480);    // 0.4802 of 1000
  EXPECT_EQ(found.mergeBytes, 59006); // of 120 KiB
  EXPECT_EQ(found.alonePercent, 77);  // of 160
  EXPECT_EQ(found.scoreMillibytes, 7000);
  EXPECT_EQ(found.lastWavePercent, 200);
  // Fewer processors share the memory of an A100.
  EXPECT_EQ(findCosts(kA100, LaunchCosts()).waveBytes, 30104);
  // Not more than four times as many.
  EXPECT_EQ(findCosts({90, 1, 4916736}, others()).waveBytes, 4000);
  EXPECT_EQ(findCosts({90, 1 << 20, 1}, others()).waveBytes, 250);
}

TEST(CardCosts, AreThePlansWhereTheDriverSaysNothing) {
  EXPECT_EQ(findCosts({90, 132, 0}, others()), others());
  EXPECT_EQ(findCosts({}, others()), others());
}

/// A card with less bandwidth decides otherwise: its memory hides less of a
/// merge.
TEST(CardCosts, DecideOtherwise) {
  SplitProblem decode = {.programs = 8,
                         .processors = 132,
                         .residentBlocks = 4,
                         .tiles = 1024,
                         .tileBytes = 53248 / 3};
  int differing = 0;
  for (decode.programs = 8; decode.programs <= 1024; decode.programs += 8)
    for (decode.tiles = 16; decode.tiles <= 4096; decode.tiles *= 2)
      differing += chooseSplits(decode, findCosts(kH100Pcie, LaunchCosts())) !=
                   chooseSplits(decode, findCosts(kH200, LaunchCosts()));
  EXPECT_GT(differing, 0);
}
