//===- RankPlansTest.cpp - the plans that are worth a measurement ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/RankPlans.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

static std::vector<std::string> tilesOf(StringRef machine, StringRef asked) {
  std::vector<std::string> tiles;
  for (const PlanConstraints &each : rankTiles(
           cantFail(findMachine(machine)), cantFail(parseConstraints(asked))))
    tiles.push_back(printConstraints(each));
  return tiles;
}

/// A forward of two warpgroups, D 128.
static LoopFacts forward() {
  LoopFacts facts;
  facts.consumers = 2;
  facts.programBytes = {64 * 128 * 2};
  facts.step = {{128, 128, 32768}, {128, 128, 32768}};
  facts.dots = {{128, 128, false, false}, {128, 128, true, true}};
  facts.hasSoftmax = true;
  return facts;
}

static std::vector<SchedulePlan> ranked(const LoopFacts &facts,
                                        StringRef asked) {
  PlanConstraints constraints = cantFail(parseConstraints(asked));
  return rankSpecialized(
      facts, scheduleRules(cantFail(findMachine("sm_90a")), constraints),
      constraints);
}

TEST(RankPlans, TilesBeginWithWhatIsAsked) {
  for (StringRef machine : {"cpu-512x32", "sm_80", "sm_90a", "gfx942"}) {
    auto tiles = tilesOf(machine, "splits=2");
    EXPECT_GT(tiles.size(), 5u);
    EXPECT_EQ(tiles.front(), "splits=2");
    for (StringRef tile : drop_begin(tiles)) {
      EXPECT_TRUE(tile.starts_with("tile=")) << tile.str();
      EXPECT_TRUE(tile.contains("splits=2")) << tile.str();
    }
  }
}

/// Plain kernels are others than those of specialized warps.
TEST(RankPlans, TilesKeepAScheduleThatIsAsked) {
  auto plain = [](StringRef tile) { return tile.contains("schedule=plain"); };
  EXPECT_EQ(count_if(tilesOf("sm_90a", ""), plain), 6);
  EXPECT_TRUE(all_of(tilesOf("sm_90a", "schedule=plain"), plain));
  EXPECT_TRUE(none_of(tilesOf("sm_90a", "schedule=roles"), plain));
  EXPECT_TRUE(none_of(tilesOf("sm_80", ""), plain));
}

TEST(RankPlans, TilesThatAreAskedAreAll) {
  for (StringRef asked : {"tile=64x64", "tile=0x64", "consumers=2"})
    EXPECT_EQ(tilesOf("sm_90a", asked), std::vector<std::string>{asked.str()});
}

TEST(RankPlans, SchedulesBeginWithTheRules) {
  LoopFacts facts = forward();
  auto plans = ranked(facts, "");
  EXPECT_EQ(plans.front(),
            planSpecialized(
                facts, scheduleRules(cantFail(findMachine("sm_90a")), {})));
  EXPECT_GT(plans.size(), 4u);
  EXPECT_LE(plans.size(), size_t(kMostPlans));
  for (auto [n, plan] : enumerate(plans)) {
    EXPECT_EQ(whyInvalid(plan), "");
    EXPECT_EQ(count(plans, plan), 1) << n;
  }
}

/// Q, three slots of 128 keys and a block's barriers have no room at D 128.
TEST(RankPlans, SchedulesHaveRoom) {
  auto hasThree = [](const SchedulePlan &plan) { return plan.slots.step == 3; };
  LoopFacts facts = forward();
  EXPECT_TRUE(none_of(ranked(facts, ""), hasThree));
  for (LoopFacts::StepTile &tile : facts.step)
    tile.bytes /= 2;
  EXPECT_TRUE(any_of(ranked(facts, ""), hasThree));
}

TEST(RankPlans, SchedulesKeepWhatIsAsked) {
  LoopFacts facts = forward();
  for (LoopFacts::StepTile &tile : facts.step)
    tile.bytes /= 2;
  for (const SchedulePlan &plan : ranked(facts, "stages=2"))
    EXPECT_EQ(plan.slots.step, 2);
  for (const SchedulePlan &plan : ranked(facts, "schedule=roles")) {
    EXPECT_FALSE(plan.persistent);
    EXPECT_EQ(plan.cluster, 1);
  }
}

/// Programs are taken in turn, one or two ahead, or dealt beforehand.
TEST(RankPlans, SchedulesTakeProgramsInTurn) {
  LoopFacts facts = forward();
  for (const SchedulePlan &plan : ranked(facts, ""))
    EXPECT_EQ(plan.dynamic, 0);
  facts.hasCounter = true;
  auto plans = ranked(facts, "");
  EXPECT_EQ(plans.front().dynamic, 2);
  for (int64_t ahead : {0, 1})
    EXPECT_TRUE(any_of(plans, [&](const SchedulePlan &plan) {
      return plan.persistent && plan.dynamic == ahead;
    }));
}

TEST(RankPlans, UniformWarpsHaveSlotsAndWarps) {
  auto rank = [](StringRef machine, StringRef asked, int64_t rowTiles) {
    PlanConstraints constraints = cantFail(parseConstraints(asked));
    return rankUniform(
        rowTiles, scheduleRules(cantFail(findMachine(machine)), constraints),
        constraints);
  };
  auto has = [](const std::vector<SchedulePlan> &plans, int64_t warps,
                int64_t slots) {
    return any_of(plans, [&](const SchedulePlan &plan) {
      return plan.warps() == warps && plan.slots.step == slots;
    });
  };
  auto ampere = rank("sm_80", "", 8);
  EXPECT_EQ(ampere.front().slots.step, 0);
  EXPECT_TRUE(has(ampere, 8, 0));
  EXPECT_TRUE(has(ampere, 4, 3));
  // There are no rows for more warps, and loops of AMD's have two slots.
  EXPECT_FALSE(has(rank("sm_80", "", 4), 8, 0));
  EXPECT_FALSE(has(rank("gfx942", "", 8), 4, 3));
  for (const SchedulePlan &plan : rank("sm_80", "warps=2 stages=3", 8)) {
    EXPECT_EQ(plan.warps(), 2);
    EXPECT_EQ(plan.slots.step, 3);
  }
}
