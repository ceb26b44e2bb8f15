//===- Splits.cpp - how many splits the keys have -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Splits.h"

#include <algorithm>
#include <optional>

using namespace fa;

static constexpr int64_t kib = 1024;

/// Of programs that wait for arithmetic: a tile, what a program has besides its
/// tiles, and the merge.
static int64_t costOfTile(const SplitProblem &p) {
  return std::max(p.tileBytes, p.tileRows * p.tileKeys * 13 / 2);
}
static int64_t costOfEnds(const SplitProblem &p) {
  return p.tileRows * 16 / 5 * kib;
}
static int64_t costOfMerge(const SplitProblem &p, int64_t blocks) {
  return 195 * kib + blocks * p.tileRows * 13 / 512 * kib;
}

/// What a launch in `splits` costs that waits for arithmetic.
static int64_t costOfComputing(const SplitProblem &p, int64_t splits) {
  int64_t blocks = p.programs * splits,
          places = p.processors * p.residentBlocks;
  int64_t waves = (blocks + places - 1) / places;
  int64_t longest = (p.tiles + splits - 1) / splits * costOfTile(p);
  int64_t cost = waves * (longest + costOfEnds(p));
  return splits > 1 ? cost + costOfMerge(p, blocks) : cost;
}

/// Not more than it costs in so many splits or any more: all places have as
/// much to do.
static int64_t leastCostOfComputing(const SplitProblem &p, int64_t splits) {
  int64_t blocks = p.programs * splits,
          places = p.processors * p.residentBlocks;
  return (p.programs * p.tiles * costOfTile(p) + blocks * costOfEnds(p)) /
             places +
         costOfMerge(p, blocks);
}

/// What a launch in `splits` costs, as Splits.h says.
static int64_t costOf(const SplitProblem &p, int64_t splits) {
  if (p.computes)
    return costOfComputing(p, splits);
  int64_t blocks = p.programs * splits,
          places = p.processors * p.residentBlocks;
  int64_t whole = blocks / places, rest = blocks % places;
  int64_t share = p.tiles * p.tileBytes / splits;
  int64_t longest = (p.tiles + splits - 1) / splits * p.tileBytes;
  int64_t alone = longest * (p.parts > 1 ? 45 : 123) / 100;
  int64_t cost = whole * std::max(alone, share * p.residentBlocks);
  if (rest) {
    int64_t most = (rest + p.processors - 1) / p.processors;
    if (p.parts == 1)
      alone = whole ? longest * 2 : std::max(alone, share * most * 4 / 5);
    cost += std::max(alone, share * rest / p.processors);
  }
  cost += (whole + (rest ? 1 : 0)) * 58 * kib;
  if (splits > 1)
    cost += 120 * kib + splits * 5 * kib / 2;
  return cost;
}

namespace {

/// A number of splits and what a launch in so many costs.
struct PricedSplits {
  int64_t splits, cost;
};

} // namespace

/// Beyond these, splits change nothing, and costs would overflow.
static constexpr int64_t kMaxTiles = 1 << 24, kMaxTileBytes = 1 << 18,
                         kMaxTileSize = 1 << 8, kMaxWaves = 64;

/// The cheapest, as Splits.h says; none where programs fill too many waves.
static std::optional<PricedSplits> findCheapest(const SplitProblem &given) {
  constexpr int64_t mostSplits = 128;
  SplitProblem p = given;
  p.tiles = std::clamp<int64_t>(p.tiles, 0, kMaxTiles);
  p.tileBytes = std::clamp<int64_t>(p.tileBytes, 1, kMaxTileBytes);
  p.tileRows = std::clamp<int64_t>(p.tileRows, 1, kMaxTileSize);
  p.tileKeys = std::clamp<int64_t>(p.tileKeys, 1, kMaxTileSize);
  if (p.programs <= 0 ||
      p.programs / kMaxWaves >= p.processors * p.residentBlocks)
    return std::nullopt;
  PricedSplits best = {1, costOf(p, 1)};
  for (int64_t splits = 2; splits <= std::min(p.tiles, mostSplits);
       splits += splits < 8 ? 1 : 8) {
    // A launch has no time to price what cannot be the cheapest.
    if (p.computes && leastCostOfComputing(p, splits) >= best.cost)
      break;
    if (int64_t cost = costOf(p, splits); cost < best.cost)
      best = {splits, cost};
  }
  return best;
}

int64_t fa::chooseSplits(const SplitProblem &problem) {
  auto best = findCheapest(problem);
  return best ? best->splits : 1;
}

std::optional<bool> fa::isCheaper(const SplitProblem &one,
                                  const SplitProblem &other) {
  auto mine = findCheapest(one), theirs = findCheapest(other);
  return mine && theirs ? std::optional(mine->cost < theirs->cost)
                        : std::nullopt;
}

bool fa::partsPay(const SplitProblem &problem) {
  constexpr int64_t mostWaves = 2, percent = 96, mostParts = 32;
  int64_t parts = std::clamp<int64_t>(problem.parts, 1, mostParts);
  if (parts == 1 || problem.programs > mostWaves * problem.processors)
    return false;
  SplitProblem apart = problem;
  apart.tiles = std::min(problem.tiles, kMaxTiles) * parts;
  apart.tileBytes /= parts;
  apart.residentBlocks *= parts;
  apart.parts = 1;
  auto together = findCheapest(problem), alone = findCheapest(apart);
  return together && alone && together->cost * percent < alone->cost * 100;
}

int64_t fa::chooseHostSplits(int64_t programs, int64_t keys) {
  constexpr int64_t leastKeys = 2048, enough = 32;
  if (programs <= 0)
    return 1;
  int64_t wanted = (enough - 1) / programs + 1;
  return std::clamp<int64_t>(keys / leastKeys, 1, wanted);
}
