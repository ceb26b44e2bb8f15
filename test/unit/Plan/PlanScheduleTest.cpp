//===- PlanScheduleTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/PlanSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

static ScheduleRules onHopper(StringRef asked = "") {
  return scheduleRules(cantFail(findMachine("sm_90a")),
                       cantFail(parseConstraints(asked)));
}

/// Of `consumers` warpgroups, head dimensions `dim`, and tiles of `keys` keys
/// of 16 bits.
static LoopFacts ofHalves(int64_t consumers, int64_t dim, int64_t keys) {
  LoopFacts facts;
  facts.consumers = consumers;
  facts.programBytes = {64 * dim * 2};
  facts.step = {{keys, dim, keys * dim * 2}, {keys, dim, keys * dim * 2}};
  facts.dots = {{keys, dim, false, false}, {dim, keys, true, true}};
  facts.hasSoftmax = true;
  return facts;
}

TEST(PlanSchedule, SharesRegisters) {
  auto registersOf = [](const LoopFacts &facts) {
    SchedulePlan plan = planSpecialized(facts, onHopper());
    EXPECT_EQ(whyInvalid(plan), "");
    return std::pair(plan.find("load")->registers,
                     plan.find("compute")->registers);
  };
  LoopFacts facts = ofHalves(1, 64, 128);
  EXPECT_EQ(registersOf(facts), std::pair(int64_t(0), int64_t(0)));
  facts.consumers = 2;
  EXPECT_EQ(registersOf(facts), std::pair(int64_t(40), int64_t(232)));
  facts.hasOrigin = true;
  EXPECT_EQ(registersOf(facts), std::pair(int64_t(56), int64_t(224)));
  facts.consumers = 3;
  EXPECT_EQ(registersOf(facts), std::pair(int64_t(32), int64_t(160)));
  EXPECT_EQ(whyNotSpecialized(3), "");
  EXPECT_NE(whyNotSpecialized(4), "");
}

/// Two blocks of a kernel for few keys share a processor, and its registers;
/// what a block begins with is enough for what its partitions exchange.
TEST(PlanSchedule, PairsBlocksOfFewKeys) {
  LoopFacts facts = ofHalves(1, 128, 64);
  EXPECT_EQ(planSpecialized(facts, onHopper()).residentBlocks(), 1);
  EXPECT_EQ(planSpecialized(facts, onHopper()).registersAtStart(), 248);
  facts.isForFewKeys = true;
  SchedulePlan plan = planSpecialized(facts, onHopper());
  EXPECT_EQ(whyInvalid(plan), "");
  EXPECT_TRUE(plan.persistent);
  EXPECT_EQ(plan.residentBlocks(), 2);
  EXPECT_EQ(plan.registersAtStart(), 128);
  EXPECT_LE(2 * bytesOf(facts, plan.slots), 233472 - 2 * 1024);
  // Three would begin with 80, which are fewer than these have together.
  plan.partitions[0].registers = 24;
  plan.partitions[1].registers = 144;
  EXPECT_EQ(plan.residentBlocks(), 2);
  plan.partitions[1].registers = 136;
  EXPECT_EQ(plan.residentBlocks(), 3);
  EXPECT_EQ(plan.registersAtStart(), 80);
}

/// A partition that widens tiles of 8 bits has the registers of a third one
/// that computes, and slots of 8 bits have what room there is.
TEST(PlanSchedule, WidensTilesBetweenPartitions) {
  LoopFacts facts = ofHalves(2, 128, 128);
  EXPECT_EQ(planSpecialized(facts, onHopper()).find("convert"), nullptr);
  facts.narrowBytes = {128 * 128, 128 * 128};
  SchedulePlan plan = planSpecialized(facts, onHopper());
  EXPECT_EQ(whyInvalid(plan), "");
  ASSERT_NE(plan.find("convert"), nullptr);
  EXPECT_EQ(plan.find("convert")->registers, 32);
  EXPECT_EQ(plan.find("compute")->registers, 224);
  EXPECT_FALSE(plan.isShortOfRegisters());
  EXPECT_EQ(plan.slots.step, 2);
  EXPECT_EQ(plan.slots.narrow, 1);
  // Values alone: keys are multiplied in 8 bits.
  facts.step[0].bytes = facts.programBytes[0] = 128 * 128;
  facts.narrowBytes = {128 * 128};
  EXPECT_EQ(planSpecialized(facts, onHopper()).slots.narrow, 2);
  // What does not fit twice has one slot, besides what is fetched meanwhile.
  facts = ofHalves(2, 192, 128);
  facts.narrowBytes = {128 * 256, 128 * 256};
  plan = planSpecialized(facts, onHopper());
  EXPECT_EQ(plan.slots.step, 1);
  EXPECT_LE(bytesOf(facts, plan.slots), onHopper().sharedBytes);
}

/// Five warpgroups begin with as many registers as they have later.
TEST(PlanSchedule, WidensTilesBesideThreeThatHaveFewKeys) {
  LoopFacts facts = ofHalves(3, 64, 96);
  facts.narrowBytes = {96 * 128};
  EXPECT_EQ(whyNotSpecialized(facts), "");
  SchedulePlan plan = planSpecialized(facts, onHopper());
  EXPECT_EQ(whyInvalid(plan), "");
  EXPECT_EQ(plan.registersAtStart(), 96);
  EXPECT_EQ(plan.find("compute")->registers, 136);
  EXPECT_EQ(plan.find("load")->registers + plan.find("convert")->registers +
                3 * 136,
            5 * 96);
  facts = ofHalves(3, 64, 128);
  facts.narrowBytes = {128 * 128};
  EXPECT_NE(whyNotSpecialized(facts), "");
}

TEST(PlanSchedule, WidensTilesOfManyQueriesInBlocksOfTwo) {
  LoopFacts facts = ofHalves(2, 128, 128);
  facts.narrowBytes = {128 * 128};
  EXPECT_EQ(whyNotSpecialized(facts), "");
  facts.consumers = 3;
  EXPECT_NE(whyNotSpecialized(facts), "");
  facts.consumers = 2;
  facts.isForFewQueries = true;
  EXPECT_NE(whyNotSpecialized(facts), "");
  facts = ofHalves(2, 256, 64);
  EXPECT_EQ(whyNotSpecialized(facts), "");
  facts.narrowBytes = {64 * 256};
  EXPECT_NE(whyNotSpecialized(facts), "");
  facts.consumers = 1;
  EXPECT_EQ(whyNotSpecialized(facts), "");
}

/// A tile that late dots read as well as the scores' is held for two steps:
/// without room for a third slot they are not late.
TEST(PlanSchedule, HasThreeSlotsOfTilesThatAreHeld) {
  auto stepsOf = [](const LoopFacts &facts, const ScheduleRules &rules) {
    return planSpecialized(facts, rules).slots.step;
  };
  LoopFacts facts = ofHalves(2, 576, 32);
  facts.programBytes.clear();
  facts.wholeBytes = {64 * 576 * 2};
  facts.step = {{32, 576, 32 * 576 * 2, /*readers=*/2}};
  EXPECT_EQ(stepsOf(facts, onHopper()), 3);
  EXPECT_EQ(stepsOf(facts, onHopper("stages=2")), 2);
  facts.step[0].readers = 1;
  EXPECT_EQ(stepsOf(facts, onHopper()), 2);
  EXPECT_EQ(planSpecialized(facts, onHopper()).dots[1].stage, 1);
  facts.step = {{64, 576, 64 * 576 * 2, /*readers=*/2}};
  EXPECT_EQ(stepsOf(facts, onHopper()), 2);
  EXPECT_EQ(planSpecialized(facts, onHopper()).dots[1].stage, 0);
}

/// Tiles of fewer than 128 keys have three slots where a key takes no more than
/// 512 bytes and there is room.
TEST(PlanSchedule, HasThreeSlotsOfFewKeys) {
  auto stepsOf = [](const LoopFacts &facts, const ScheduleRules &rules) {
    return planSpecialized(facts, rules).slots.step;
  };
  EXPECT_EQ(stepsOf(ofHalves(2, 128, 96), onHopper()), 3);
  EXPECT_EQ(stepsOf(ofHalves(2, 128, 128), onHopper()), 2);
  EXPECT_EQ(stepsOf(ofHalves(2, 192, 96), onHopper()), 2);
  EXPECT_EQ(stepsOf(ofHalves(2, 128, 96), onHopper("stages=2")), 2);
  // Barriers, a line of each row, Q, three slots of K and V.
  ScheduleRules tight = onHopper();
  tight.sharedBytes = 1024 + 2 * 64 * 128 + 2 * 16384 + 3 * 2 * 24576;
  EXPECT_EQ(stepsOf(ofHalves(2, 128, 96), tight), 3);
  --tight.sharedBytes;
  EXPECT_EQ(stepsOf(ofHalves(2, 128, 96), tight), 2);
}

/// Twice as many where consumers begin at different tiles, up to 128 KiB.
TEST(PlanSchedule, HasMoreSlotsOfConsumersThatAreApart) {
  LoopFacts facts = ofHalves(3, 64, 128);
  EXPECT_EQ(planSpecialized(facts, onHopper()).slots.step, 2);
  facts.beginsApart = true;
  EXPECT_EQ(planSpecialized(facts, onHopper()).slots.step, 4);
  facts.consumers = 1;
  EXPECT_EQ(planSpecialized(facts, onHopper()).slots.step, 2);
  LoopFacts wide = ofHalves(2, 128, 128);
  wide.beginsApart = true;
  EXPECT_EQ(planSpecialized(wide, onHopper()).slots.step, 2);
}

TEST(PlanSchedule, HasTwoSlotsOfQWhereProgramsOverlap) {
  LoopFacts facts = ofHalves(2, 128, 128);
  auto slotsOf = [&](const ScheduleRules &rules) {
    return planSpecialized(facts, rules).slots.program;
  };
  EXPECT_EQ(slotsOf(onHopper()), 2);
  facts.hasSomeKeys = true;
  EXPECT_EQ(slotsOf(onHopper()), 4);
  EXPECT_EQ(slotsOf(onHopper("schedule=roles")), 2);
}

TEST(PlanSchedule, FetchesScoresAsFarAsThereIsRoom) {
  LoopFacts facts = ofHalves(2, 64, 64);
  facts.scoreBytes = {64 * 64 * 2, 64 * 64 * 4};
  ScheduleRules rules = onHopper("stages=2");
  auto slotsOf = [&](int64_t bytes) {
    rules.sharedBytes = 1024 + 2 * 64 * 128 + 2 * 8192 + 2 * 2 * 8192 + bytes;
    return planSpecialized(facts, rules).slots.scores;
  };
  int64_t each = 2 * (8192 + 16384);
  EXPECT_EQ(slotsOf(2 * each), (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(slotsOf(2 * each - 1), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(slotsOf(each), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(slotsOf(each - 1), (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(slotsOf(0), (std::vector<int64_t>{0, 0}));
}

TEST(PlanSchedule, SpeculatesAndTakesTurnsWhereItPays) {
  auto planFor = [](int64_t consumers, int64_t dim, bool changes) {
    LoopFacts facts = ofHalves(consumers, dim, 128);
    facts.changesScores = changes;
    return planSpecialized(facts, onHopper());
  };
  EXPECT_EQ(planFor(2, 64, false).maximum, MaximumRule::Lazy);
  EXPECT_EQ(planFor(2, 128, false).maximum, MaximumRule::Speculative);
  EXPECT_EQ(planFor(3, 64, false).maximum, MaximumRule::Speculative);
  EXPECT_FALSE(planFor(2, 128, false).pingPong);
  EXPECT_TRUE(planFor(2, 128, true).pingPong);
  EXPECT_FALSE(planFor(2, 256, true).pingPong);
  EXPECT_TRUE(planFor(3, 64, false).pingPong);
  EXPECT_FALSE(planFor(1, 64, true).pingPong);
  EXPECT_TRUE(planFor(3, 64, false).isShortOfRegisters());
  EXPECT_FALSE(planFor(2, 64, false).isShortOfRegisters());
}

/// One sum is a step late. Several begin together and first, and are done
/// before the next scores begin. Consumers whose sums are of what they compute
/// take turns.
TEST(PlanSchedule, SumsAreAStepLate) {
  LoopFacts facts = ofHalves(2, 64, 64);
  facts.hasSoftmax = false;
  auto loopOf = [&](std::vector<bool> sums, int64_t dim) {
    facts.dots.clear();
    for (bool isSum : sums)
      facts.dots.push_back(isSum ? LoopFacts::StepDot{dim, 64, true, true}
                                 : LoopFacts::StepDot{64, dim, false, false});
    SchedulePlan plan = planSpecialized(facts, onHopper());
    EXPECT_EQ(whyInvalid(plan), "");
    EXPECT_EQ(plan.maximum, MaximumRule::Lazy);
    bool isMixed = llvm::is_contained(sums, false);
    EXPECT_EQ(plan.pingPong, isMixed && llvm::is_contained(sums, true));
    EXPECT_EQ(plan.sumsFirst, isMixed && llvm::count(sums, true) > 1);
    return plan.dots;
  };
  using Dots = std::vector<PlannedDot>;
  EXPECT_EQ(loopOf({false, true}, 256), (Dots{{0, 0}, {1, 1}}));
  EXPECT_EQ(loopOf({false, false, true}, 128), (Dots{{0, 0}, {0, 1}, {1, 2}}));
  EXPECT_EQ(loopOf({false, false, true, true}, 64),
            (Dots{{0, 2}, {0, 3}, {1, 0}, {1, 1}}));
  EXPECT_EQ(loopOf({false, false, true, true}, 128),
            (Dots{{0, 2}, {0, 3}, {1, 0}, {1, 1}}));
  EXPECT_EQ(loopOf({false, true, false, true}, 128),
            (Dots{{0, 2}, {1, 0}, {0, 3}, {1, 1}}));
  EXPECT_EQ(loopOf({true, true}, 64), (Dots{{0, 0}, {0, 1}}));
  EXPECT_EQ(loopOf({true}, 64), (Dots{{0, 0}}));
  EXPECT_EQ(loopOf({false}, 64), (Dots{{0, 0}}));
}

/// What consumers exchange has two slots where there is room; its dot begins
/// among the sums, or behind those that are late.
TEST(PlanSchedule, ExchangesBesideSums) {
  LoopFacts facts = ofHalves(2, 64, 64);
  facts.hasSoftmax = false;
  facts.programBytes = {8192, 8192};
  facts.wholeBytes = {16384};
  facts.exchangeBytes = {16384};
  LoopFacts::StepDot scores = {64, 64, false, false},
                     sum = {64, 64, true, true},
                     exchanged = {32, 128, false, false, true};
  facts.dots = {scores, scores, sum, exchanged, sum};
  using Dots = std::vector<PlannedDot>;
  SchedulePlan plan = planSpecialized(facts, onHopper());
  EXPECT_EQ(whyInvalid(plan), "");
  EXPECT_EQ(plan.slots.exchange, 2);
  EXPECT_FALSE(plan.pingPong);
  EXPECT_EQ(plan.dots, (Dots{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}));
  facts.dots = {scores, sum, exchanged};
  EXPECT_EQ(planSpecialized(facts, onHopper()).dots,
            (Dots{{0, 0}, {1, 1}, {0, 2}}));
  // Barriers, a line of each row, what stays, three slots of each step's tiles.
  ScheduleRules tight = onHopper();
  tight.sharedBytes =
      1024 + 2 * 64 * 128 + 2 * 2 * 8192 + 16384 + 3 * 2 * 8192 + 2 * 16384;
  EXPECT_EQ(planSpecialized(facts, tight).slots.exchange, 2);
  --tight.sharedBytes;
  EXPECT_EQ(planSpecialized(facts, tight).slots.exchange, 1);
  facts.exchangeBytes = {};
  EXPECT_EQ(planSpecialized(facts, tight).slots.exchange, 0);
}

TEST(PlanSchedule, HasAsManyWarpsAsThereAreRowsFor) {
  ScheduleRules rules = onHopper("warps=8");
  EXPECT_EQ(planUniform(100, rules).warps(), 8);
  EXPECT_EQ(planUniform(7, rules).warps(), 4);
  EXPECT_EQ(planUniform(0, rules).warps(), 1);
}
