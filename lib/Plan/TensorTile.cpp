//===- TensorTile.cpp - the tile of what is around attentions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/TensorTile.h"

#include "fa/Plan/PlanSchedule.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;
using namespace fa;

/// Where threads load what they multiply.
static constexpr ProductTile kLoadedTile = {64, 64, 64};

/// Of a size that is known at launch alone: what a batch of prompts has.
static constexpr int64_t kUsualSize = 2048;

/// Whether tiles of `most` may end behind a size, which is no whole one.
static bool isCut(int64_t size, int64_t most, bool isWhole) {
  return !isWhole && size > most && size % most;
}

ProductTile fa::planProduct(const ProductFacts &facts,
                            const ForwardRules &rules) {
  // No block has fewer rows.
  bool hasFewRows =
      facts.rows && int64_t(PowerOf2Ceil(facts.rows)) < kWarpgroupRows;
  if (!facts.isFetched || hasFewRows)
    return kLoadedTile;
  auto usual = [](int64_t size) { return size ? size : kUsualSize; };
  ProductTile best = kLoadedTile;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const PricedProduct &each : rules.products) {
    const ProductTile &tile = each.tile;
    if (isCut(facts.columns, tile.columns, facts.hasWholeColumns) ||
        isCut(facts.depth, tile.depth, facts.hasWholeDepth))
      continue;
    int64_t programs = divideCeil(usual(facts.rows), tile.rows) *
                       divideCeil(usual(facts.columns), tile.columns) *
                       (facts.count ? facts.count : 1);
    int64_t cost = divideCeil(programs, rules.processors) * each.cost;
    if (cost < least) {
      least = cost;
      best = tile;
    }
  }
  return best;
}
