//===- Splits.cpp - how many splits the keys have -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Splits.h"

#include <algorithm>
#include <optional>

using namespace fa;

/// In whole KiB, as the costs of programs that compute were fitted.
static int64_t wholeKib(int64_t bytes) { return bytes / 1024 * 1024; }

/// Tiles of more rows are those of three warpgroups that take turns.
static constexpr int64_t kRowsOfTwoWarpgroups = 128;

/// What a row of several heads' tile costs more than `rowBytes`, for each 128
/// columns and in hundredths of them: where it lies is divided for
/// (bench/results/2026-11-30-h200-few-heads.md).
static constexpr int64_t kPackedRowPercent = 50;

static int64_t percentOf(int64_t bytes, int64_t percent) {
  return bytes * percent / 100;
}

namespace {

/// Programs that wait for arithmetic, each in `splits` blocks.
struct ComputedPrograms {
  int64_t programs, splits;
  int64_t places; ///< blocks that run at a time
  int64_t tiles;  ///< that a program has at most
  int64_t tilesLess;
  int64_t ofTile, ofEnds; ///< what they cost

  int64_t blocks() const { return programs * splits; }
  int64_t tilesOfAll() const {
    return programs * tiles - programs * tilesLess / 2;
  }
  /// What all cost, shared by all places.
  int64_t share() const {
    return (tilesOfAll() * ofTile + blocks() * ofEnds) / places;
  }
  int64_t cost() const {
    // Of the blocks in the order of their tiles, the one with this number.
    auto ofBlock = [&](int64_t number) {
      int64_t most = tiles - tilesLess * number / blocks();
      return (most + splits - 1) / splits * ofTile + ofEnds;
    };
    int64_t waves = (blocks() + places - 1) / places;
    int64_t cost = std::max(ofBlock(0), waves * ofBlock((waves - 1) * places));
    return tilesLess ? std::max(cost, share()) : cost;
  }
};

/// What a problem costs in so many splits, as Splits.h says.
class Pricing {
public:
  Pricing(const SplitProblem &problem, const LaunchCosts &costs)
      : p(problem), costs(costs),
        places(problem.processors * problem.residentBlocks) {}

  int64_t of(int64_t splits) const {
    return p.computes ? ofComputing(splits) : ofReading(splits);
  }

  /// Not more than it costs in so many splits or any more, where programs wait
  /// for arithmetic: all places have as much to do.
  int64_t leastOfComputing(int64_t splits) const {
    ComputedPrograms computed = computedIn(splits);
    return computed.share() + ofMerge(computed.blocks());
  }

private:
  // Of programs that wait for arithmetic: a tile, what a program has besides
  // its tiles, and the merge.
  int64_t ofTile() const {
    int64_t ofScore =
        isOfThree() ? costs.overlappedScoreMillibytes : costs.scoreMillibytes;
    int64_t bytes = p.hasUnevenRows
                        ? percentOf(p.tileBytes, costs.unevenRowsPercent)
                        : p.tileBytes;
    return std::max(bytes, p.tileRows * p.tileKeys * ofScore / 1000);
  }
  bool isOfThree() const { return p.tileRows > kRowsOfTwoWarpgroups; }
  int64_t ofEnds() const {
    int64_t bytes =
        p.packsRows
            ? costs.rowBytes +
                  percentOf(costs.rowBytes, kPackedRowPercent) * p.mergeTiles
        : isOfThree() ? costs.overlappedRowBytes
                      : costs.rowBytes;
    return wholeKib(p.tileRows * bytes);
  }
  int64_t ofMerge(int64_t blocks) const {
    return costs.computedMergeBytes +
           wholeKib(blocks * p.tileRows * p.mergeTiles * costs.mergeRowBytes);
  }

  ComputedPrograms computedIn(int64_t splits) const {
    return {p.programs,  splits,   places,  p.tiles,
            p.tilesLess, ofTile(), ofEnds()};
  }
  int64_t ofComputing(int64_t splits) const {
    ComputedPrograms computed = computedIn(splits);
    int64_t cost = computed.cost();
    return splits == 1 ? cost : cost + ofMerge(computed.blocks());
  }

  int64_t ofReading(int64_t splits) const {
    int64_t blocks = p.programs * splits;
    int64_t whole = blocks / places, rest = blocks % places;
    int64_t share = p.tiles * p.tileBytes / splits;
    int64_t mostTiles = (p.tiles + splits - 1) / splits;
    int64_t longest = mostTiles * p.tileBytes;
    int64_t alone = percentOf(longest, costs.alonePercent);
    int64_t wait = p.hasUnevenRows ? mostTiles * costs.unevenTileBytes : 0;
    if (p.parts > 1) {
      alone = percentOf(longest, costs.partsAlonePercent);
      // Two of a pair share what one of them alone gets.
      if (whole == 0 && rest > countPairs(p.processors))
        alone *= kProcessorsOfPair;
      alone = std::max(alone, mostTiles * costs.partsTileBytes);
    }
    int64_t cost = whole * (std::max(alone, share * p.residentBlocks) + wait);
    if (rest) {
      int64_t most = (rest + p.processors - 1) / p.processors;
      if (p.parts == 1)
        alone = whole ? percentOf(longest, costs.lastWavePercent)
                      : std::max(alone,
                                 percentOf(share * most, costs.unevenPercent));
      cost += std::max(alone, share * rest / p.processors) + wait;
    }
    cost += (whole + (rest ? 1 : 0)) * costs.waveBytes;
    if (splits > 1)
      cost += (p.parts > 1 ? costs.partsMergeBytes : costs.mergeBytes) +
              splits * costs.mergeSplitBytes;
    return cost;
  }

  const SplitProblem &p;
  const LaunchCosts &costs;
  int64_t places; ///< blocks that run at a time
};

} // namespace

/// Beyond these, splits change nothing, and costs would overflow.
static constexpr int64_t kMaxTiles = 1 << 24, kMaxTileBytes = 1 << 18,
                         kMaxTileSize = 1 << 8, kMaxMergeTiles = 1 << 4,
                         kMaxWaves = 64;

std::optional<PricedSplits> fa::priceSplits(const SplitProblem &given,
                                            const LaunchCosts &costs) {
  constexpr int64_t mostSplits = 128;
  SplitProblem p = given;
  p.tiles = std::clamp<int64_t>(p.tiles, 0, kMaxTiles);
  p.tilesLess = std::clamp<int64_t>(p.tilesLess, 0, p.tiles);
  p.tileBytes = std::clamp<int64_t>(p.tileBytes, 1, kMaxTileBytes);
  p.tileRows = std::clamp<int64_t>(p.tileRows, 1, kMaxTileSize);
  p.tileKeys = std::clamp<int64_t>(p.tileKeys, 1, kMaxTileSize);
  p.mergeTiles = std::clamp<int64_t>(p.mergeTiles, 1, kMaxMergeTiles);
  if (p.programs <= 0 ||
      p.programs / kMaxWaves >= p.processors * p.residentBlocks)
    return std::nullopt;
  Pricing cost(p, costs);
  PricedSplits best = {1, cost.of(1)};
  for (int64_t splits = 2; splits <= std::min(p.tiles, mostSplits);
       splits += splits < 8 ? 1 : 8) {
    // A launch has no time to price what cannot be the cheapest.
    if (p.computes && cost.leastOfComputing(splits) >= best.cost)
      break;
    if (int64_t found = cost.of(splits); found < best.cost)
      best = {splits, found};
  }
  return best;
}

int64_t fa::chooseSplits(const SplitProblem &problem,
                         const LaunchCosts &costs) {
  auto best = priceSplits(problem, costs);
  return best ? best->splits : 1;
}

bool fa::partsPay(const SplitProblem &problem, const LaunchCosts &costs) {
  constexpr int64_t mostWaves = 2, mostParts = 32;
  int64_t parts = std::clamp<int64_t>(problem.parts, 1, mostParts);
  if (parts == 1 || problem.programs > mostWaves * problem.processors)
    return false;
  // Keys that are less than a tile of all parts are tiles of some.
  SplitProblem inParts = problem;
  inParts.tiles = std::clamp<int64_t>(problem.tiles, 1, kMaxTiles);
  SplitProblem apart = inParts;
  apart.tiles *= parts;
  apart.tileBytes /= parts;
  apart.residentBlocks *= parts;
  apart.parts = 1;
  auto together = priceSplits(inParts, costs),
       alone = priceSplits(apart, costs);
  return together && alone &&
         together->cost * costs.partsPercent < alone->cost * 100;
}

int64_t fa::priceFewKeys(const FewKeysProblem &problem,
                         const FewKeysPrice &price) {
  // Beyond these, sums would overflow.
  constexpr int64_t mostPrograms = int64_t(1) << 32;
  int64_t programs = std::clamp<int64_t>(problem.programs, 1, mostPrograms);
  int64_t keys = std::clamp<int64_t>(problem.keys, 0, kFewKeys);
  bool isAlone = programs <= problem.processors;
  int64_t percent = isAlone ? price.alonePercent : 100;
  int64_t tiles = keys / problem.tileKeys;
  int64_t ends = price.program + (keys % problem.tileKeys ? price.lastTile : 0);
  int64_t least =
      std::clamp<int64_t>(problem.leastKeys / problem.tileKeys, 0, tiles);
  ComputedPrograms computed = {.programs = programs,
                               .splits = 1,
                               .places = problem.processors *
                                         (isAlone ? 1 : price.blocks),
                               .tiles = tiles,
                               .tilesLess = tiles - least,
                               .ofTile = percentOf(price.tile, percent),
                               .ofEnds = percentOf(ends, percent)};
  return price.launch + computed.cost();
}

int64_t fa::chooseHostSplits(int64_t programs, int64_t keys) {
  constexpr int64_t leastKeys = 2048, enough = 32;
  if (programs <= 0)
    return 1;
  int64_t wanted = (enough - 1) / programs + 1;
  return std::clamp<int64_t>(keys / leastKeys, 1, wanted);
}
