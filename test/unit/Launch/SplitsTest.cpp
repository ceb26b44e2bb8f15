//===- SplitsTest.cpp -----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Splits.h"

#include "gtest/gtest.h"

using namespace fa;

/// The figures below are an H200's.
static int64_t chooseSplits(const SplitProblem &problem) {
  return fa::chooseSplits(problem, LaunchCosts());
}
static bool partsPay(const SplitProblem &problem) {
  return fa::partsPay(problem, LaunchCosts());
}
static std::optional<bool> isCheaper(const SplitProblem &one,
                                     const SplitProblem &other) {
  auto mine = priceSplits(one, LaunchCosts()),
       theirs = priceSplits(other, LaunchCosts());
  return mine && theirs ? std::optional(mine->cost < theirs->cost)
                        : std::nullopt;
}

/// Of `programs` that go through `tiles` of 32 keys, K and V of 128 bf16 each,
/// on 132 processors that hold four blocks of three slots and a Q at a time.
static int64_t onHopper(int64_t programs, int64_t tiles) {
  return chooseSplits({.programs = programs,
                       .processors = 132,
                       .residentBlocks = 4,
                       .tiles = tiles,
                       .tileBytes = 53248 / 3});
}

TEST(Splits, AreTheCheapest) {
  // One batch, eight KV heads, 2k, 16k and 128k keys: a program for nearly
  // every processor, or two, and not as many as fit, as the merge takes its
  // time. Of 2k 16 and 24 splits were as fast.
  EXPECT_EQ(onHopper(8, 64), 24);
  EXPECT_EQ(onHopper(8, 512), 32);
  EXPECT_EQ(onHopper(8, 4096), 32);
  // Sixteen batches of 2k and 16k: one wave that has two blocks a processor.
  EXPECT_EQ(onHopper(16 * 8, 64), 2);
  EXPECT_EQ(onHopper(16 * 8, 512), 2);
  // 64 batches: 512 programs are a wave that is nearly full.
  EXPECT_EQ(onHopper(64 * 8, 64), 1);
  EXPECT_EQ(onHopper(64 * 8, 512), 1);
  // 75 batches would leave a second wave of 72.
  EXPECT_EQ(onHopper(75 * 8, 512), 4);
}

/// The same where four parts of a block read a program's keys, of which a
/// processor holds one.
static SplitProblem problemInParts(int64_t programs, int64_t tiles) {
  return {.programs = programs,
          .processors = 132,
          .residentBlocks = 1,
          .tiles = tiles / 4,
          .tileBytes = 4 * 53248 / 3,
          .parts = 4};
}

static int64_t inParts(int64_t programs, int64_t tiles) {
  return chooseSplits(problemInParts(programs, tiles));
}

TEST(Splits, OfProgramsInParts) {
  // 64 blocks read what memory gives, and 56 nearly: one batch to eight of
  // eight KV heads.
  EXPECT_EQ(inParts(8, 64), 8);
  EXPECT_EQ(inParts(8, 512), 7);
  EXPECT_EQ(inParts(8, 4096), 7);
  EXPECT_EQ(inParts(16, 512), 4);
  EXPECT_EQ(inParts(32, 512), 2);
  EXPECT_EQ(inParts(64, 512), 1);
  EXPECT_EQ(inParts(128, 64), 1);
  EXPECT_EQ(inParts(128, 4096), 1);
  // The twin: blocks of one warp need more of them.
  EXPECT_GT(onHopper(16, 512), 4);
  EXPECT_GT(onHopper(64, 512), 1);
}

/// Tiles of D 80 take parts as long as those of D 128: 8 splits of 1024 keys
/// were 1.6 times as fast as none (bench/results/2026-11-30-h200-parts.md).
TEST(Splits, ShortRowsInPartsHaveSplits) {
  SplitProblem problem = {.programs = 4,
                          .processors = 132,
                          .tiles = 1024 / 128,
                          .tileBytes = 133120 / 3,
                          .parts = 4};
  EXPECT_EQ(chooseSplits(problem), 8);
  // The twins: by their bytes alone, and where a merge takes long.
  LaunchCosts costs;
  costs.partsTileBytes = 0;
  costs.partsMergeBytes = 120 * 1024;
  EXPECT_EQ(fa::chooseSplits(problem, costs), 1);
  costs = LaunchCosts();
  costs.partsMergeBytes = 1 << 20;
  EXPECT_EQ(fa::chooseSplits(problem, costs), 1);
}

/// D 72, whose rows begin inside of 32 bytes: 7 splits of 128 programs
/// were 1.22 to 1.44 times as fast as 2, on an H200, and 3 of 192 1.28 times as
/// fast as 1 (bench/results/2026-11-30-h200-decode.md).
TEST(Splits, UnevenRowsHaveMore) {
  auto splits = [](int64_t programs, int64_t keys, bool isUneven) {
    SplitProblem problem = {.programs = programs,
                            .processors = 132,
                            .residentBlocks = 7,
                            .tiles = keys / 32,
                            .tileBytes = 10240,
                            .hasUnevenRows = isUneven};
    return chooseSplits(problem, LaunchCosts());
  };
  EXPECT_EQ(splits(128, 8192, false), 2);
  EXPECT_GE(splits(128, 8192, true), 6);
  EXPECT_EQ(splits(192, 2048, false), 2);
  EXPECT_GE(splits(192, 2048, true), 3);
}

/// Parts beside blocks of one warp: which were faster on an H200
/// (bench/results/2026-11-30-h200-decode.md).
TEST(Splits, WherePartsPay) {
  auto pay = [](int64_t programs, int64_t keys) {
    return partsPay(problemInParts(programs, keys / 32));
  };
  EXPECT_TRUE(pay(8, 2048));
  EXPECT_TRUE(pay(132, 1024)); // 1.08
  EXPECT_TRUE(pay(132, 2048)); // 1.02
  // Pairs of processors share what one of them gets.
  for (int64_t programs : {72, 88, 96, 104})
    for (int64_t keys : {4096, 16384}) // 0.88 to 0.99
      EXPECT_FALSE(pay(programs, keys)) << programs << " x " << keys;
  EXPECT_TRUE(pay(120, 1024)); // 1.06
  for (int64_t programs : {160, 176, 192, 208, 224})
    for (int64_t keys : {4096, 16384}) // 0.91 to 1.00
      EXPECT_FALSE(pay(programs, keys)) << programs << " x " << keys;
  // More than two programs for each processor: 1.01 and less.
  EXPECT_FALSE(pay(272, 2048));
  EXPECT_FALSE(pay(512, 16384));
  // One part is a block of one warp.
  SplitProblem problem = problemInParts(8 * 20, 64);
  problem.parts = 1;
  EXPECT_FALSE(partsPay(problem));
  // No sum overflows.
  EXPECT_FALSE(partsPay(problemInParts(INT64_MAX, INT64_MAX)));
  problem = problemInParts(1, 1);
  problem.tiles = problem.tileBytes = problem.parts = INT64_MAX;
  EXPECT_TRUE(partsPay(problem));
}

TEST(Splits, HaveLimits) {
  EXPECT_EQ(onHopper(8, 1), 1);
  EXPECT_EQ(onHopper(8, 0), 1);
  EXPECT_EQ(onHopper(0, 256), 1);
  EXPECT_EQ(onHopper(1, 1 << 20), 128);
  // No sum overflows.
  EXPECT_EQ(onHopper(1, INT64_MAX), 128);
  EXPECT_EQ(onHopper(INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(chooseSplits({.programs = 1 << 30,
                          .processors = 1 << 20,
                          .residentBlocks = 32,
                          .tiles = INT64_MAX,
                          .tileBytes = INT64_MAX}),
            1);
  // Whatever the problem, each has a tile.
  for (int64_t programs = 1; programs < 100; programs += 7)
    for (int64_t tiles = 1; tiles < 40; ++tiles)
      EXPECT_LE(onHopper(programs, tiles), tiles);
}

TEST(Splits, OfTheHost) {
  EXPECT_EQ(chooseHostSplits(8, 4095), 1);
  EXPECT_EQ(chooseHostSplits(8, 4096), 2);
  EXPECT_EQ(chooseHostSplits(8, 1 << 20), 4);
  EXPECT_EQ(chooseHostSplits(1, 1 << 20), 32);
  EXPECT_EQ(chooseHostSplits(31, 1 << 20), 2);
  EXPECT_EQ(chooseHostSplits(32, 1 << 20), 1);
  EXPECT_EQ(chooseHostSplits(0, 1 << 20), 1);
  EXPECT_EQ(chooseHostSplits(INT64_MAX, INT64_MAX), 1);
}

/// Where tiles are small, what a launch costs besides them weighs more.
TEST(Splits, CountBytes) {
  SplitProblem problem{.programs = 8,
                       .processors = 132,
                       .residentBlocks = 3,
                       .tiles = 32,
                       .tileBytes = 32768};
  EXPECT_EQ(chooseSplits(problem), 32);
  problem.tileBytes = 8192;
  EXPECT_EQ(chooseSplits(problem), 16);
  problem.tileBytes = 1;
  EXPECT_EQ(chooseSplits(problem), 1);
}

/// Kernels of one consumer, 64 rows, and of two, 128, whose tiles of 128 keys
/// of D 128, bf16, have two slots.
static SplitProblem ofOne(int64_t programs, int64_t tiles) {
  return {.programs = programs,
          .processors = 132,
          .tiles = tiles,
          .tileBytes = 73768,
          .tileRows = 64,
          .tileKeys = 128,
          .computes = true};
}
static SplitProblem ofTwo(int64_t programs, int64_t tiles) {
  SplitProblem problem = ofOne(programs, tiles);
  problem.tileBytes = 81968;
  problem.tileRows = 128;
  return problem;
}

/// As measured on an H200, where one of these was the fastest by more than 2 %
/// (bench/results/2026-11-23-h200-packed-roles.md).
TEST(Splits, OfWhatComputes) {
  auto one = [](auto... of) { return chooseSplits(ofOne(of...)); };
  EXPECT_EQ(one(32, 128), 4);
  EXPECT_EQ(one(64, 128), 2);
  EXPECT_EQ(one(8, 64), 16);
  EXPECT_EQ(one(32, 32), 4);
  EXPECT_EQ(one(48, 32), 2);
  EXPECT_EQ(one(64, 32), 2);
  EXPECT_EQ(one(128, 32), 1);
  EXPECT_EQ(one(32, 16), 4);
  EXPECT_EQ(one(64, 16), 2);
  EXPECT_EQ(one(128, 8), 1);
  auto two = [](auto... of) { return chooseSplits(ofTwo(of...)); };
  EXPECT_EQ(two(8, 128), 16);
  EXPECT_EQ(two(16, 128), 8);
  EXPECT_EQ(two(32, 128), 4);
  EXPECT_EQ(two(32, 64), 4);
  EXPECT_EQ(two(8, 32), 8);
  EXPECT_EQ(two(16, 32), 8);
  EXPECT_EQ(two(32, 32), 4);
  EXPECT_EQ(two(64, 8), 1);
}

/// Three consumers, 192 rows: tiles of 128 keys of D 64 in two slots, and of 96
/// of D 72, whose rows are uneven, in three.
static SplitProblem ofThree(int64_t programs, int64_t tiles) {
  return {.programs = programs,
          .processors = 132,
          .tiles = tiles,
          .tileBytes = 90224 / 2,
          .tileRows = 192,
          .tileKeys = 128,
          .computes = true};
}
static SplitProblem ofThreeUneven(int64_t programs, int64_t tiles) {
  SplitProblem problem = ofThree(programs, tiles);
  problem.tileBytes = 196752 / 3;
  problem.tileKeys = 96;
  problem.hasUnevenRows = true;
  return problem;
}

/// As measured on an H100 (bench/results/2026-11-25-h100-sweep.md).
TEST(Splits, OfThreeConsumers) {
  EXPECT_EQ(chooseSplits(ofThree(56, 41)), 2);       // 37.8 us, one 55.1
  EXPECT_EQ(chooseSplits(ofThree(54, 40)), 2);       // 37.5, 54.4
  EXPECT_EQ(chooseSplits(ofThree(82, 61)), 3);       // 73.6, 82.9
  EXPECT_EQ(chooseSplits(ofThreeUneven(44, 43)), 3); // 39.2, 48.7
  EXPECT_EQ(chooseSplits(ofThreeUneven(41, 81)), 3); // 56.8, 89.2
  // One consumer's programs, three times as many, cost more than these, but
  // where there are few keys.
  SplitProblem few = ofThreeUneven(128, 64);
  few.tileBytes = 114800 / 3;
  few.tileRows = few.tileKeys = 64;
  EXPECT_EQ(isCheaper(ofThreeUneven(44, 43), few), true); // 39.2, 69.7
  few.programs = 24;
  few.tiles = 8;
  EXPECT_EQ(isCheaper(ofThreeUneven(9, 6), few), false); // 11.2, 6.9
}

/// Of few keys, what programs have besides their tiles is most of what they
/// cost, as measured on an H200 (bench/results/2026-11-29-h200-packed-tiles.md,
/// 2026-11-30-h200-few-heads.md): rows of several heads have more, those of
/// many columns most.
TEST(Splits, OfKernelsForFewKeys) {
  SplitProblem packed = ofThreeUneven(9, 0), one = ofThreeUneven(18, 1);
  packed.hasUnevenRows = one.hasUnevenRows = false;
  one.tileRows = one.tileKeys = 64;
  one.tileBytes = 38266;
  packed.packsRows = true;
  EXPECT_EQ(isCheaper(one, packed), true); // 3.3 us, 7.1
  SplitProblem three = packed;
  three.packsRows = false;
  EXPECT_EQ(isCheaper(three, packed), true);
  SplitProblem wide = packed;
  wide.mergeTiles = 2;
  EXPECT_EQ(isCheaper(packed, wide), true);
  three.mergeTiles = 2;
  EXPECT_EQ(isCheaper(three, packed), true);
  // The twin: where rows of three consumers cost as much as those of one.
  LaunchCosts costs;
  costs.overlappedRowBytes = costs.rowBytes;
  EXPECT_GT(priceSplits(three, costs)->cost,
            priceSplits(three, LaunchCosts())->cost);
}

/// Two heads of 3944 queries and keys, D 112: three splits of three consumers
/// took 32.7 us where 124 programs of one consumer took 42.2, and of 2048 at D
/// 128 17.2 where they took 16.6 (bench/results/2026-11-30-h200-few-heads.md).
TEST(Splits, OfFewHeads) {
  SplitProblem one = ofOne(124, 61), three = ofThree(42, 41);
  one.tileKeys = 64;
  one.tileBytes = 114800 / 3;
  three.tileKeys = 96;
  three.tileBytes = 196752 / 3;
  EXPECT_EQ(priceSplits(three, LaunchCosts())->splits, 3);
  EXPECT_EQ(isCheaper(three, one), true);
  EXPECT_EQ(isCheaper(ofTwo(32, 16), ofOne(64, 16)), false);
  // The twin: by what rows of three consumers cost before.
  LaunchCosts costs;
  costs.overlappedRowBytes = costs.rowBytes;
  EXPECT_GT(priceSplits(three, costs)->cost, priceSplits(one, costs)->cost);
}

/// Programs of a causal mask, the first of which sees no key before its own, as
/// measured on an H200 (bench/results/2026-11-28-h200-causal-splits.md), beside
/// what programs that all are as long as the longest would have.
TEST(Splits, OfProgramsThatGrow) {
  auto choose = [](SplitProblem problem, int64_t tilesLess) {
    problem.tilesLess = tilesLess;
    return chooseSplits(problem);
  };
  // One wave: 65.1 us, in two 65.2, unsplit 98.0.
  EXPECT_EQ(choose(ofThree(98, 73), 73), 3);
  EXPECT_EQ(choose(ofThree(98, 73), 0), 1);
  // Of 22 programs 88: 16.2, unsplit 27.5.
  EXPECT_EQ(choose(ofThree(22, 32), 32), 4);
  // Blocks of a second wave are short: 21.2 in three, 24.1 in two.
  EXPECT_EQ(choose(ofOne(64, 32), 32), 3);
  EXPECT_EQ(choose(ofOne(64, 32), 0), 2);
  // Two waves are as long as the longest program already: 47.7, in two 60.2.
  EXPECT_EQ(choose(ofOne(200, 49), 49), 1);
  // Of rows of two tiles of columns the merge takes longer.
  SplitProblem wide = ofOne(64, 64);
  wide.tileBytes = 81960;
  wide.tileKeys = 64;
  EXPECT_EQ(choose(wide, 64), 4); // 27.4, unsplit 50.5
  wide.mergeTiles = 16;
  EXPECT_LT(choose(wide, 64), 4);
  // No sum overflows.
  EXPECT_EQ(choose(ofOne(1, INT64_MAX), INT64_MAX), 128);
  EXPECT_EQ(choose(ofOne(INT64_MAX, INT64_MAX), INT64_MAX), 1);
}

TEST(Splits, OfThreeConsumersGoByCosts) {
  LaunchCosts costs;
  auto choose = [&](const SplitProblem &problem) {
    return fa::chooseSplits(problem, costs);
  };
  EXPECT_EQ(choose(ofThree(60, 10)), 1);
  costs.overlappedScoreMillibytes *= 4;
  EXPECT_GT(choose(ofThree(60, 10)), 1);
  costs = LaunchCosts();
  EXPECT_EQ(choose(ofThree(82, 61)), 3);
  costs.overlappedRowBytes *= 4; // two waves have their ends twice
  EXPECT_EQ(choose(ofThree(82, 61)), 1);
  // Of two consumers another cost counts, of even rows none but their bytes.
  EXPECT_EQ(choose(ofTwo(64, 8)), 1);
  costs = LaunchCosts();
  EXPECT_EQ(choose(ofThreeUneven(60, 10)), 1);
  costs.unevenRowsPercent = 1000;
  EXPECT_GT(choose(ofThreeUneven(60, 10)), 1);
  SplitProblem even = ofThreeUneven(60, 10);
  even.hasUnevenRows = false;
  EXPECT_EQ(choose(even), 1);
}

/// Half as many programs of twice as many rows, on the same card.
TEST(Splits, OfTwoKernelsTheCheaper) {
  auto isTwo = [](int64_t programs, int64_t tiles) {
    return isCheaper(ofTwo(programs / 2, tiles), ofOne(programs, tiles));
  };
  EXPECT_EQ(isTwo(32, 128), true);  // 1.10
  EXPECT_EQ(isTwo(64, 128), true);  // 1.20
  EXPECT_EQ(isTwo(128, 128), true); // 1.22
  EXPECT_EQ(isTwo(128, 64), true);  // 1.05
  EXPECT_EQ(isTwo(64, 16), false);  // 0.90
  EXPECT_EQ(isTwo(32, 16), false);  // 0.83
  EXPECT_EQ(isTwo(128, 8), false);  // 0.69
  // More waves than there are costs for.
  EXPECT_EQ(isTwo(INT64_MAX, 8), std::nullopt);
}

/// The rule goes by the costs that it is given: each decides something.
TEST(Splits, GoByCosts) {
  SplitProblem reading = {.programs = 8,
                          .processors = 132,
                          .residentBlocks = 4,
                          .tiles = 64,
                          .tileBytes = 53248 / 3};
  auto of = [](const SplitProblem &problem, auto change) {
    LaunchCosts costs;
    change(costs);
    return fa::chooseSplits(problem, costs);
  };
  EXPECT_EQ(of(reading, [](LaunchCosts &) {}), 24);
  EXPECT_LT(of(reading, [](auto &costs) { costs.mergeSplitBytes *= 8; }), 24);
  EXPECT_EQ(of(reading, [](auto &costs) { costs.mergeBytes = 1 << 24; }), 1);
  EXPECT_GT(of(reading, [](auto &costs) { costs.alonePercent = 1000; }), 24);
  // Two waves and no more where a wave costs as much as all of them.
  SplitProblem wave = reading;
  wave.programs = 75 * 8;
  wave.tiles = 512;
  EXPECT_EQ(of(wave, [](LaunchCosts &) {}), 4);
  EXPECT_LT(of(wave, [](auto &costs) { costs.waveBytes = 1 << 24; }), 4);
  EXPECT_NE(of(wave, [](auto &costs) { costs.lastWavePercent = 100; }), 4);
  // One wave, of which some processors have a program more than others.
  auto costless = [](auto &costs) { costs.mergeSplitBytes = 0; };
  EXPECT_EQ(of(reading, costless), 48);
  EXPECT_GT(of(reading,
               [&](auto &costs) {
                 costless(costs);
                 costs.unevenPercent = 50;
               }),
            48);
}

TEST(Splits, OfWhatComputesGoByCosts) {
  auto of = [](const SplitProblem &problem, auto change) {
    LaunchCosts costs;
    change(costs);
    return fa::chooseSplits(problem, costs);
  };
  SplitProblem problem = ofOne(32, 128);
  EXPECT_EQ(of(problem, [](LaunchCosts &) {}), 4);
  EXPECT_EQ(
      of(problem, [](auto &costs) { costs.computedMergeBytes = 1 << 24; }), 1);
  EXPECT_LT(of(problem, [](auto &costs) { costs.mergeRowBytes = 1 << 12; }), 4);
  // The more a score costs, the more a launch of few tiles is split.
  problem = ofOne(48, 8);
  EXPECT_EQ(of(problem, [](LaunchCosts &) {}), 1);
  EXPECT_GT(of(problem, [](auto &costs) { costs.scoreMillibytes = 100000; }),
            1);
  // Two waves of shorter programs, which have twice as many ends.
  problem = ofOne(48, 32);
  auto costless = [](auto &costs) { costs.mergeRowBytes = 0; };
  EXPECT_EQ(of(problem, costless), 2);
  EXPECT_GT(of(problem,
               [&](auto &costs) {
                 costless(costs);
                 costs.rowBytes = 0;
               }),
            2);
}

/// Whether parts pay follows from what they read alone, and from what the rule
/// gives them too little.
TEST(Splits, PartsGoByCosts) {
  SplitProblem problem = problemInParts(132, 64);
  LaunchCosts costs;
  EXPECT_TRUE(fa::partsPay(problem, costs));
  costs.partsPercent = 150;
  EXPECT_FALSE(fa::partsPay(problem, costs));
  problem = problemInParts(8, 512);
  costs = LaunchCosts();
  EXPECT_TRUE(fa::partsPay(problem, costs));
  costs.partsAlonePercent = 1000;
  EXPECT_FALSE(fa::partsPay(problem, costs));
}

/// Of few keys: whole tiles, a last one that is not full, waves, and a program
/// alone on a processor that two share.
TEST(Splits, PriceOfFewKeys) {
  FewKeysPrice price = {.launch = 1000,
                        .program = 100,
                        .tile = 10,
                        .lastTile = 7,
                        .blocks = 2,
                        .alonePercent = 50};
  auto costs = [&](int64_t programs, int64_t keys, int64_t least) {
    return priceFewKeys({.programs = programs,
                         .processors = 10,
                         .keys = keys,
                         .leastKeys = least,
                         .tileKeys = 64},
                        price);
  };
  EXPECT_EQ(costs(10, 128, 128), 1000 + 50 + 2 * 5);
  EXPECT_EQ(costs(11, 128, 128), 1000 + 100 + 2 * 10);
  EXPECT_EQ(costs(20, 128, 128), 1000 + 100 + 2 * 10);
  EXPECT_EQ(costs(21, 128, 128), 1000 + 2 * (100 + 2 * 10));
  EXPECT_EQ(costs(20, 129, 129), 1000 + 107 + 2 * 10);
  EXPECT_EQ(costs(20, 63, 63), 1000 + 107);
  EXPECT_EQ(costs(20, 0, 0), 1000 + 100);
  // The longest first: of two waves the second is shorter.
  EXPECT_EQ(costs(20, 512, 0), 1000 + 100 + 8 * 10);
  EXPECT_EQ(costs(40, 512, 0), 1000 + 2 * (100 + 4 * 10));
  EXPECT_EQ(costs(40, 512, -70), 1000 + 2 * (100 + 4 * 10));
  // Nothing overflows.
  price = {.launch = FewKeysPrice::kMostTime,
           .program = FewKeysPrice::kMostTime,
           .tile = FewKeysPrice::kMostTime,
           .lastTile = FewKeysPrice::kMostTime};
  EXPECT_GT(priceFewKeys({.programs = INT64_MAX,
                          .processors = 1,
                          .keys = INT64_MAX,
                          .leastKeys = INT64_MIN,
                          .tileKeys = 1},
                         price),
            0);
}
