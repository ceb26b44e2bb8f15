//===- TensorTileTest.cpp -------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/TensorTile.h"

#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

#include <tuple>

using namespace llvm;
using namespace fa;

using Sizes = std::tuple<int64_t, int64_t, int64_t>;

static Sizes planOn(StringRef machine, const ProductFacts &facts,
                    StringRef asked = "") {
  ForwardRules rules = forwardRules(cantFail(findMachine(machine)),
                                    cantFail(parseConstraints(asked)));
  ProductTile tile = planProduct(facts, rules);
  return {tile.rows, tile.columns, tile.depth};
}

static ProductFacts fetched(int64_t rows, int64_t columns, int64_t depth) {
  ProductFacts facts;
  facts.rows = rows;
  facts.columns = columns;
  facts.depth = depth;
  facts.isFetched = true;
  return facts;
}

static const Sizes kLoaded = {64, 64, 64};

TEST(TensorTile, WavesOfProgramsCost) {
  // Many programs, a wave of smaller ones, a part of one.
  EXPECT_EQ(planOn("sm_90a", fetched(8192, 3072, 1024)), Sizes(128, 256, 64));
  EXPECT_EQ(planOn("sm_90a", fetched(3152, 768, 768)), Sizes(128, 192, 64));
  EXPECT_EQ(planOn("sm_90a", fetched(512, 3072, 1024)), Sizes(128, 128, 64));
  EXPECT_EQ(planOn("sm_90a", fetched(512, 1024, 1024)), Sizes(64, 64, 128));
  // Products of a batch are programs, too.
  ProductFacts batch = fetched(512, 1024, 1024);
  batch.count = 32;
  EXPECT_EQ(planOn("sm_90a", batch), Sizes(128, 256, 64));
}

TEST(TensorTile, SizesOfALaunchAreUsualOnes) {
  EXPECT_EQ(planOn("sm_90a", fetched(0, 3072, 1024)),
            planOn("sm_90a", fetched(2048, 3072, 1024)));
}

TEST(TensorTile, EndsWhereAPartDoes) {
  ProductFacts part = fetched(8192, 192, 1024);
  part.count = 16;
  part.hasWholeColumns = false;
  EXPECT_EQ(planOn("sm_90a", part), Sizes(128, 192, 64));
  ProductFacts heads = fetched(64, 64, 192);
  heads.hasWholeDepth = false;
  EXPECT_EQ(std::get<2>(planOn("sm_90a", heads)), 64);
}

TEST(TensorTile, WithoutSpecializedWarps) {
  for (const char *machine : {"sm_80", "sm_89", "sm_90"})
    EXPECT_EQ(planOn(machine, fetched(8192, 3072, 1024)), Sizes(128, 128, 64));
  EXPECT_EQ(planOn("sm_90a", fetched(8192, 3072, 1024), "schedule=plain"),
            Sizes(128, 128, 64));
  EXPECT_EQ(planOn("sm_90", fetched(3072, 2304, 768)), Sizes(128, 64, 64));
  EXPECT_EQ(planOn("sm_90", fetched(512, 3072, 1024)), kLoaded);
}

TEST(TensorTile, LoadedByThreads) {
  ProductFacts facts = fetched(8192, 3072, 1024);
  EXPECT_EQ(planOn("gfx942", facts), kLoaded);
  facts.rows = 32;
  EXPECT_EQ(planOn("sm_90a", facts), kLoaded);
  facts.rows = 33;
  EXPECT_NE(planOn("sm_90a", facts), kLoaded);
  facts.isFetched = false;
  EXPECT_EQ(planOn("sm_90a", facts), kLoaded);
}
