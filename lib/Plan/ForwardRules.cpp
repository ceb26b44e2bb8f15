//===- ForwardRules.cpp - sizes of a machine's attention kernels ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/ForwardRules.h"

#include "Races.h"

#include "fa/Plan/PlanSchedule.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// With tf32, 128 rows and 32 keys are 1.1 times as fast on an H200 as 64 and
/// 64 (docs/spills.md).
static constexpr TileSize kTf32Tile = {128, 32};

/// Without specialized warps: with 64 keys a thread has too few registers at
/// head dimensions above 80, and on an sm_80 shared memory for one block
/// (docs/spills.md).
static constexpr int64_t kMiddleColumns = 32;

/// Of specialized warps with D between 64 and 128: as many keys as leave three
/// consumers the registers of their scores, and room for three slots
/// (bench/results/2026-11-23-h200-tile-widths.md).
static constexpr int64_t kSpecializedMiddleColumns = 96;

/// Of specialized warps in launches of few programs, causal, with D above 80
/// and at most 96: 52.4 to 37.0 microseconds at best against 64 keys, on an
/// H100; D 72 does not gain (bench/results/2026-11-25-h100-sweep.md).
static constexpr int64_t kSpecializedFewMiddleColumns = 128;

/// Parts of a block for few queries, where their tiles have room: each has as
/// much as a block of one warp, queries of at most this many bytes among it
/// (bench/results/2026-11-22-h200-parts.md). Which launches take them:
/// include/fa/Launch/Splits.h.
static constexpr int64_t kDecodeParts = 4, kDecodeQueryBytes = 16 * 128 * 2;

/// Of specialized warps and short windows: on an H100 1.03 to 1.51 of the rate
/// of 128 keys at D 128 and 1.0 to 1.27 at D 64, where 256 keys are short, too;
/// at D 128 those are 0.9 (bench/results/2026-11-27-h100-layers.md).
static constexpr int64_t kShortColumns = 64, kShortWindow = 128;

/// Of two blocks on a processor, which are up to 1.7 of the rate of larger
/// tiles (bench/results/2026-11-27-h100-few-keys.md). Which launches take them:
/// lib/Plan/FewKeys.h.
static constexpr TileSize kPairedTile = {kWarpgroupRows, 64};

/// Queries of the heads of a group in one tile, chosen by what they cost: with
/// so many, beside 128, 1.04 of the rate for 129 to 1024 queries, by choices
/// that were computed from measured times
/// (bench/results/2026-11-29-h200-packed-tiles.md).
static constexpr int64_t kPackedQueries = 1024;

/// Programs of a processor from which on blocks of packed sequences take them
/// in turn: to set the counter costs a launch about two microseconds, and by
/// count every n-th program is up to a quarter longer
/// (bench/results/2026-11-27-h100-packed.md).
static constexpr int64_t kDynamicPrograms = 4;

/// Of bf16 and f16, from the times of one wave of programs on an H100
/// (bench/results/2026-11-27-h100-layers.md), and without specialized warps
/// (2026-11-27-h100-products.md).
static constexpr PricedProduct kSpecializedProducts[] = {
    {{2 * kWarpgroupRows, 256, 64}, 100},
    {{2 * kWarpgroupRows, 192, 64}, 81},
    {{2 * kWarpgroupRows, 128, 64}, 60},
    {{kWarpgroupRows, 64, 128}, 41},
};
static constexpr PricedProduct kProducts[] = {
    {{128, 128, 64}, 128},
    {{128, 64, 64}, 70},
    {{64, 64, 64}, 41},
};

/// `asked`, or `chosen` where nothing was asked for.
static int64_t orElse(int64_t asked, int64_t chosen) {
  return asked ? asked : chosen;
}

/// What all GPUs have in common.
static void fillGpu(ForwardRules &rules, const Machine &machine,
                    const PlanConstraints &asked) {
  rules.tile = {orElse(asked.qTile, 64), orElse(asked.kvTile, 64)};
  rules.rows16bit = orElse(asked.qTile, 128);
  rules.dimMultiple = 16;
  rules.alignment = 16;
  rules.foldScale = true;
  // A tile of fewer queries than 64 would not fill the warps of a block.
  rules.packedRows = asked.qTile ? 0 : 64;
  // A tile that was asked for is not made smaller.
  rules.stridedRows = rules.wideRows = orElse(asked.qTile, 64);
  bool isFree = !asked.qTile && !asked.kvTile;
  rules.tileBytes = isFree ? machine.sharedBytes : 0;
}

static SpecializedRules specializedRules(const PlanConstraints &asked) {
  SpecializedRules rules;
  int64_t rows =
      asked.consumers ? kWarpgroupRows * asked.consumers : asked.qTile;
  // Two or three warpgroups.
  rules.tile = {orElse(rows, 2 * kWarpgroupRows), orElse(asked.kvTile, 128)};
  rules.hasWide = !rows || rows == kWarpgroupRows;
  rules.wideKeys = asked.kvTile;
  rules.narrowRows = orElse(rows, 3 * kWarpgroupRows);
  rules.middleColumns = orElse(asked.kvTile, kSpecializedMiddleColumns);
  rules.widenedColumns = orElse(asked.kvTile, kColumnsOfFive);
  rules.shortColumns = orElse(asked.kvTile, kShortColumns);
  rules.shortWindow = kShortWindow;
  // Beside what is asked for there is nothing else.
  if (!rows && asked.schedule.empty()) {
    // All that launches of few programs have
    // (bench/results/2026-11-22-h200-few-programs.md).
    rules.fewRows = kWarpgroupRows;
    rules.fewMiddleColumns = orElse(asked.kvTile, kSpecializedFewMiddleColumns);
    rules.packedRows = 2 * kWarpgroupRows;
    rules.packedQueries = kPackedQueries;
    rules.clusterBlocks = kClusterBlocks;
    if (!asked.kvTile && !asked.stages)
      rules.paired = kPairedTile;
  }
  rules.dynamicForAll = asked.schedule == "dynamic";
  if (rules.dynamicForAll)
    rules.dynamicPrograms = 1;
  else if (asked.schedule.empty())
    rules.dynamicPrograms = kDynamicPrograms;
  rules.hasSplits = asked.splits != 1;
  // 128 bytes of 16-bit elements, as wide as boxes and swizzles are.
  rules.slotColumns = 64;
  return rules;
}

static void fillNvidia(ForwardRules &rules, const Machine &machine,
                       const PlanConstraints &asked) {
  fillGpu(rules, machine, asked);
  bool isSpecialized = machine.hasWarpgroups() && asked.schedule != "plain";
  if (isSpecialized)
    rules.specialized = specializedRules(asked);
  rules.products = kProducts;
  if (isSpecialized)
    rules.products = kSpecializedProducts;
  rules.processors = machine.processors;
  if (!asked.kvTile)
    rules.decode.tileBytes = kDecodeTileBytes;
  if (asked.qTile || asked.kvTile)
    return;
  rules.tf32 = kTf32Tile;
  // Specialized warps leave others what their own tiles cannot describe; two
  // blocks with 64 keys have room there, and are 1.07 to 1.12 times as fast.
  if (!isSpecialized)
    rules.middleColumns = kMiddleColumns;
  // Beside what is asked for there is nothing else.
  if (!asked.stages && !asked.warps &&
      kDecodeParts * (3 * kDecodeTileBytes + kDecodeQueryBytes) <=
          machine.sharedBytes)
    rules.decode.parts = kDecodeParts;
}

static void fillAmd(ForwardRules &rules, const Machine &machine,
                    const PlanConstraints &asked) {
  fillGpu(rules, machine, asked);
  rules.leftInRegisters = true;
  // Loads direct to LDS have two slots.
  if (!asked.qTile && !asked.kvTile)
    rules.pairedTileBytes =
        machine.sharedBytes / (machine.hasDirectLoads ? 4 : 2);
}

static void fillHost(ForwardRules &rules, const VectorUnit &vectors,
                     const PlanConstraints &asked) {
  // Whole blocks of registers. P of a block stays in the first cache; fewer
  // keys than that lose to the rescaling of O, more to the edge of a causal
  // mask. In decode the first cache holds a step's K, then its V.
  int64_t block = vectors.bits / 32 *
                  chooseDotBlock(vectors.bits, vectors.registers).vectors;
  rules.tile = {int64_t(alignTo(64, block)), 64};
  rules.bf16.rows = rules.tile.rows;
  // K and V are widened for each tile of queries.
  rules.rows16bit = alignTo(128, block);
  // A few queries are a program for each KV head, whose keys can be split.
  rules.packedRows = asked.qTile ? 0 : alignTo(48, block);
  rules.decode.tile.columns = 32;
  if (vectors.tileDots) {
    // V is transposed for each tile of queries; sums go to and from memory for
    // each tile of keys.
    rules.bf16 = {256, 256};
    rules.sumsOfBf16 = true;
    // K and V are taken apart for each tile of queries.
    rules.shortQueries = asked.qTile ? 0 : 192;
    rules.packedRowsBf16 = 64; // the rows of a block of tiles
    rules.ownedMultiple = 32;
  }
  rules.wideMerge = true;
  rules.ownsHeads = true;
  if (asked.qTile)
    rules.tile.rows = rules.rows16bit = rules.bf16.rows = asked.qTile;
  if (asked.kvTile) {
    rules.tile.columns = rules.bf16.columns = asked.kvTile;
    rules.decode.tile.columns = 0;
  }
}

ForwardRules fa::forwardRules(const Machine &machine,
                              const PlanConstraints &constraints) {
  ForwardRules rules;
  rules.splits = constraints.splits;
  switch (machine.dots) {
  case DotUnit::Any:
    rules.tile = {orElse(constraints.qTile, rules.tile.rows),
                  orElse(constraints.kvTile, rules.tile.columns)};
    rules.rows16bit = orElse(constraints.qTile, rules.rows16bit);
    break;
  case DotUnit::Vector:
    fillHost(rules, machine.vectors, constraints);
    break;
  case DotUnit::Warp:
  case DotUnit::Warpgroup:
    fillNvidia(rules, machine, constraints);
    break;
  case DotUnit::MatrixCore:
    fillAmd(rules, machine, constraints);
    break;
  }
  return rules;
}
