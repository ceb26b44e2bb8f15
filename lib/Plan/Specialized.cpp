//===- Specialized.cpp - kernels whose warps are specialized --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Specialized.h"

#include "FewKeys.h"
#include "Races.h"

#include "fa/Plan/SchedulePlan.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// All rows of a consumer are before the first query or none is: a box that
/// begins there could be read, but not stored.
static constexpr int64_t kRowsOfConsumer = 64;

/// Columns of values that a warpgroup's dot has at most.
static constexpr int64_t kMostColumns = 256;

namespace {

class SpecializedPlanner {
public:
  SpecializedPlanner(const AttentionFacts &facts, const ForwardRules &rules,
                     const TileFit &fit)
      : facts(facts), mask(facts.mask), forward(rules),
        rules(rules.specialized), fit(fit), widest(fit.widest()),
        isPlain(!facts.modifiesScores),
        isOne(mask.isInterval() && !mask.readsRows) {}

  /// The kernel for launches of many programs.
  KernelShape chooseMany(KernelShape shape) const {
    chooseBias(shape);
    shape.foldsMagnitude =
        forward.foldScale && facts.hasFoldableMagnitude && isPlain;
    bool isMiddle = chooseTile(shape);
    // Tiles of a packed sequence begin with it.
    if (!facts.isPacked)
      shape.endMultiple = kRowsOfConsumer;
    chooseLoops(shape, isMiddle);
    return shape;
  }

  /// The same whose scores read tiles of captured tensors.
  KernelShape chooseFetched(KernelShape shape) const {
    shape.rows = rules.tile.rows;
    shape.columns = rules.tile.columns;
    shape.alignedScores = true;
    return fit.fitted(shape, rules.slotColumns);
  }

  KernelShape chooseFew(KernelShape many) const {
    KernelShape shape = many;
    shape.rows = rules.fewRows;
    shape.columns = bit_floor(uint64_t(many.columns));
    shape.ownRows = shape.oneLoop = shape.someKeys = false;
    // A processor's second program is short where the first is long.
    shape.fewPrograms = rules.fewPrograms * (isSteep() ? 2 : 1);
    if (isSteep() && isPlain && isOne && rules.fewMiddleColumns &&
        widest > 80 && widest <= 96) {
      shape.columns = rules.fewMiddleColumns;
      shape = fit.fitted(shape, rules.slotColumns);
    }
    return shape;
  }

  KernelShape choosePaired(KernelShape many) const {
    KernelShape shape = many;
    shape.rows = rules.paired.rows;
    shape.columns = rules.paired.columns;
    shape.ownRows = shape.oneLoop = shape.someKeys = false;
    shape.maxKeys = kFewKeys;
    return shape;
  }

  KernelShape choosePacked(KernelShape shape, int64_t rows,
                           int64_t columns) const {
    shape.rows = rows;
    shape.columns = columns;
    shape.pack = KernelShape::Queries;
    shape.boxRows = kRowsOfConsumer;
    shape.maxQueries = rules.packedQueries;
    shape.fewerRows = true;
    return fit.fitted(shape, rules.slotColumns);
  }

  /// Consumers share 64 rows, and deal the columns of values
  /// (tgpu-open-channels, PartitionColumns.cpp).
  KernelShape chooseWide(KernelShape shape, int64_t keys) const {
    shape.rows = kRowsOfConsumer;
    shape.columns = keys;
    return shape;
  }

  KernelShape chooseWidePacked(KernelShape wide) const {
    wide.pack = KernelShape::Queries;
    wide.boxRows = kRowsOfConsumer;
    wide.maxQueries = kRowsOfConsumer;
    return wide;
  }

  /// Whether blocks of two consumers, all of whose queries see the same keys,
  /// are to fetch together; of three consumers it does not pay
  /// (bench/results/2026-11-23-h200-clusters.md).
  bool hasClusters() const {
    return rules.clusterBlocks > 1 && isPlain && widest >= 128 &&
           hasEqualPrograms() && !mask.lengths && !facts.isPacked &&
           !facts.hasPages && !facts.hasNarrowKeys;
  }

  /// Whether there are kernels for few keys, two blocks of which share a
  /// processor.
  bool hasPairs() const {
    return rules.paired.rows && widest <= 128 && isPriced();
  }

  /// Whether it was measured what launches of few keys take. Where bits may not
  /// depend on a batch, neither may the kernel; who asks for splits gets them.
  bool isPriced() const {
    return forward.splits <= 1 && isPlain && !facts.isPacked &&
           !facts.hasPages && !facts.hasNarrowKeys && !facts.hasHeadsApart() &&
           !facts.splitKeys && (hasEqualPrograms() || (isOne && isSteep()));
  }

  /// The same shape with its price, if it has one.
  KernelShape priced(KernelShape shape) const {
    if (!isPriced())
      return shape;
    shape.price = predictFewKeys(shape, facts, fit);
    shape.growsWithRows = shape.pack == KernelShape::OneHead && isSteep();
    return shape;
  }

  /// Whether splits walk their keys in one loop: two consumers with plain
  /// scores are 1.04 to 1.36 of the rate of two loops at D 128, where programs
  /// that are not split are 0.98 (bench/results/2026-11-27-h100-loops.md).
  bool splitsInOneLoop(const KernelShape &many) const {
    return isPlain && hasEqualPrograms() && many.rows == rules.tile.rows &&
           widest <= 128;
  }

  /// Whether the keys of `many`, the kernel for many programs, may be split.
  /// The rule for splits counts with programs that are equally long, or evenly
  /// longer.
  bool hasSplits() const {
    return rules.hasSplits && !facts.scoreTiles && !facts.isPacked &&
           !facts.hasPages && isOne && !mask.hasLowerBound;
  }

  /// Whether blocks are to take programs in turn. How long those of packed
  /// sequences are follows from offsets, and of listed blocks from counts,
  /// which no launch knows. Who widens tiles is given none.
  bool takesPrograms() const {
    return rules.dynamicPrograms && !facts.hasNarrowKeys &&
           (facts.hasHeadsApart() || rules.dynamicForAll);
  }

private:
  /// Whether later queries see more keys, and the first ones few.
  bool isSteep() const { return mask.growsWithQuery && !mask.hasLowerBound; }

  /// Whether all queries see as many keys.
  bool hasEqualPrograms() const {
    return isOne && !mask.hasLowerBound && !mask.growsWithQuery;
  }

  /// A linear bias that the scores' dot adds to
  /// (bench/results/2026-11-22-h200-ramps.md). Tiles where it is largest come
  /// first, so that maxima hardly rise.
  void chooseBias(KernelShape &shape) const {
    bool isSameForRows = mask.isInterval() && mask.hasLengthsAlone;
    shape.ramp =
        forward.foldScale && facts.hasFoldableScale && facts.bias &&
        facts.bias->isRamp && mask.isInterval() &&
        (isSameForRows || (!facts.bias->isAbsolute && mask.growsWithQuery));
    shape.positiveScale |= shape.ramp;
  }

  /// Whether little is done to scores. More rows leave each thread fewer
  /// registers, too few for what a score region needs, or the bounds of three
  /// loops and more, or where a packed sequence lies. Three consumers hide what
  /// a short form of tanh takes.
  bool isNarrow(const KernelShape &shape, bool isCapped) const {
    // Beside a partition that widens tiles a block has registers for two, or
    // for three whose tiles have fewer keys and that do nothing else.
    if (facts.hasNarrowKeys)
      return isPlain && isOne && widest <= 64 && !mask.hasLowerBound &&
             !facts.isPacked && !facts.dropsProbabilities && facts.results == 1;
    // Random numbers at D 64: 2 kB of spills with three consumers, none with
    // two (ptxas 13.0.88).
    if (facts.dropsProbabilities)
      return false;
    // With an LSE 108 bytes of spills at D 64, with a lower bound 236.
    if (facts.isPacked)
      return isPlain && !mask.hasLowerBound && facts.results == 1;
    if (isPlain)
      return (mask.isComplete && !mask.readsRows) || !mask.hasLowerBound;
    // At D 64 a bias with two sides leaves none for lengths or an LSE
    // (bench/results/2026-11-23-h200-bias.md).
    bool isLight = widest > 64 || (facts.bias && !facts.bias->isAbsolute) ||
                   (!mask.lengths && facts.results == 1);
    return isCapped || (shape.ramp && !mask.hasLowerBound && isLight);
  }

  /// Whether a last tile of keys is cut beside rows that begin and end inside
  /// of an argument: three consumers have no registers for both (ptxas, C7512).
  /// They are 1.2 of the rate of two at D 64
  /// (bench/results/2026-11-27-h100-layers.md).
  bool isCutInside() const {
    return facts.beginsInside &&
           (!facts.keys || facts.keys % rules.tile.columns);
  }

  /// Rows and keys; whether they are those of head dimensions between 64 and
  /// 128 (bench/results/2026-11-23-h200-tile-widths.md).
  bool chooseTile(KernelShape &shape) const {
    bool edges = mask.hasLowerBound;
    bool isCapped = facts.hasShortCap && isOne && !edges;
    int64_t shortWindow = rules.shortWindow * (widest <= 64 ? 2 : 1);
    bool isShort = isOne && edges && mask.width && *mask.width <= shortWindow;
    // Tiles of pages begin before such a window does: fewer rows see them.
    bool narrow = isNarrow(shape, isCapped) && !(isShort && facts.hasPages);
    bool isMiddle = widest > 64 && (isCapped ? widest <= 128 : widest < 128) &&
                    narrow && rules.middleColumns;
    shape.rows = ((widest <= 64 && narrow) || isMiddle) && !isCutInside()
                     ? rules.narrowRows
                     : rules.tile.rows;
    if (facts.hasNarrowKeys && fit.dimV() > kColumnsOfFour)
      shape.rows = std::min(shape.rows, kRowsOfConsumer);
    bool areThree = facts.hasNarrowKeys && shape.rows > 2 * kRowsOfConsumer;
    shape.columns = isMiddle   ? rules.middleColumns
                    : areThree ? rules.widenedColumns
                               : rules.tile.columns;
    // Tiles between powers of two were faster for plain scores, if no mask has
    // a lower edge. What a ramp is multiplied with comes in powers of two
    // alone.
    bool isBetween = !forward.tileBytes || (isPlain && !edges);
    if (isShort)
      shape.columns = std::min(shape.columns, rules.shortColumns);
    if (shape.ramp || !isBetween)
      shape.columns = bit_floor(uint64_t(shape.columns));
    int64_t mostKeys = shape.columns;
    shape = fit.fitted(shape, rules.slotColumns);
    KernelShape larger = shape;
    larger.columns += shape.columns / 2;
    bool isWidened = facts.hasNarrowKeys;
    if (isBetween && widest <= 160 && larger.columns < mostKeys &&
        !(isWidened && larger.columns % kWidenedRows) &&
        !fit.isTooLarge(larger, rules.slotColumns))
      shape = larger;
    return isMiddle;
  }

  /// How the keys of a tile are walked
  /// (bench/results/2026-11-22-h200-windows.md, 2026-11-22-h200-programs.md).
  void chooseLoops(KernelShape &shape, bool isMiddle) const {
    bool edges = mask.hasLowerBound, grows = mask.growsWithQuery;
    // Where keys have fewer places than rows, consumers end at different tiles.
    bool isWideWindow = edges && mask.width.value_or(0) >= 4 * shape.rows;
    shape.ownRows = isPlain && isOne && shape.rows > shape.columns &&
                    !isWideWindow && (edges || (grows && widest > 64));
    shape.oneLoop = (shape.ownRows && (edges || fit.isWide())) ||
                    (isPlain && (edges || mask.readsRows)) ||
                    mask.intervals > 1;
    // For programs that begin beside the end of others, which takes bounds of
    // both.
    bool isTight = widest <= 64 && grows;
    shape.someKeys = isPlain && isOne && !edges && widest <= 128 && !isMiddle &&
                     !(isTight && mask.lengths);
    shape.alignedKeys = facts.hasPages && edges;
  }

  const AttentionFacts &facts;
  const MaskFacts &mask;
  const ForwardRules &forward;
  const SpecializedRules &rules;
  const TileFit &fit;
  int64_t widest;
  bool isPlain; ///< nothing changes scores
  bool isOne; ///< one interval that follows from a row's number: one loop does
};

} // namespace

bool fa::hasFewPrograms(const AttentionFacts &facts,
                        const ForwardRules &rules) {
  return rules.specialized.tile.rows && facts.bytes() == 2 &&
         rules.specialized.fewRows && !facts.scoreTiles && !facts.hasPages &&
         !facts.hasNarrowKeys;
}

/// Boxes of pages begin where tiles do that are counted from the first key,
/// which those of a second interval are not.
static bool canFetch(const AttentionFacts &facts, const ForwardRules &rules) {
  return rules.specialized.tile.rows && facts.bytes() == 2 &&
         !(facts.hasPages && facts.mask.intervals > 1);
}

int64_t fa::countBoxRows(const AttentionFacts &facts, const ForwardRules &rules,
                         int64_t rows) {
  bool isWhole = rows % kRowsOfConsumer == 0;
  return canFetch(facts, rules) && isWhole ? kRowsOfConsumer : 0;
}

/// Keys of a tile of which there is room for two slots; 0: there is none for
/// 16. Of keys that are values, 64 in two slots are 1.18 of 32 in three, with
/// which products with values could be a step late, in MLA's decode
/// (bench/results/2026-11-26-h100-mla.md).
static int64_t countWideKeys(const AttentionFacts &facts,
                             const ForwardRules &rules) {
  if (rules.specialized.wideKeys)
    return rules.specialized.wideKeys;
  int64_t dim = alignTo(facts.headDim, rules.dimMultiple);
  int64_t columns = dim + (facts.sharesTiles ? 0 : facts.valueDim);
  int64_t room =
      rules.tileBytes - kBarrierBytes - facts.bytes() * kRowsOfConsumer * dim;
  int64_t keys = room / (2 * facts.bytes() * columns) / 16 * 16;
  return std::clamp<int64_t>(keys, 0, kRowsOfConsumer);
}

bool fa::hasWideValues(const AttentionFacts &facts, const ForwardRules &rules) {
  // Each of two consumers has blocks of 128 bytes of each row.
  int64_t block = 2 * 128 / facts.bytes();
  return canFetch(facts, rules) && rules.specialized.hasWide &&
         !facts.hasNarrowKeys && facts.valueDim > kMostColumns &&
         facts.valueDim <= 2 * kMostColumns && facts.valueDim % block == 0 &&
         countWideKeys(facts, rules) > 0;
}

std::vector<PlannedKernel> fa::planSpecialized(const AttentionFacts &facts,
                                               const ForwardRules &rules,
                                               const TileFit &fit,
                                               const KernelShape &general) {
  std::vector<PlannedKernel> all;
  if (!canFetch(facts, rules))
    return all;
  SpecializedPlanner planner(facts, rules, fit);
  if (hasWideValues(facts, rules)) {
    KernelShape wide = planner.chooseWide(general, countWideKeys(facts, rules));
    wide.sharesTiles = false;
    if (rules.variants && !facts.hasHeadsApart())
      all.push_back({"_roles_packed", planner.chooseWidePacked(wide)});
    all.push_back({"_roles", wide});
    for (PlannedKernel &kernel : all)
      kernel.isAlternative = true;
    return all;
  }
  KernelShape many = planner.chooseMany(general);
  bool hasFew = hasFewPrograms(facts, rules);
  all.push_back({"_roles_fetched", planner.chooseFetched(general)});
  if (int64_t rows = rules.specialized.packedRows;
      rows && hasFew && rules.variants && !facts.hasHeadsApart()) {
    if (many.rows > rows)
      all.push_back({"_roles_packed_many",
                     planner.choosePacked(general, many.rows, many.columns)});
    all.push_back({"_roles_packed",
                   planner.choosePacked(general, rows,
                                        bit_floor(uint64_t(many.columns)))});
  }
  if (hasFew)
    all.push_back({"_roles_few", planner.chooseFew(many)});
  if (hasFew && planner.hasPairs())
    all.push_back({"_roles_paired", planner.choosePaired(many)});
  // Before what a launch takes that does not split.
  if (planner.hasSplits()) {
    all.push_back({"_roles", many});
    all.back().isSplitAlone = true;
    all.back().shape.oneLoop |= planner.splitsInOneLoop(many);
  }
  if (planner.hasClusters()) {
    all.push_back({"_roles_clusters", many});
    all.back().shape.cluster = rules.specialized.clusterBlocks;
  }
  if (planner.takesPrograms()) {
    all.push_back({"_roles_dynamic", many});
    all.back().shape.hasCounter = true;
    all.back().shape.manyPrograms = rules.specialized.dynamicPrograms;
  }
  all.push_back({"_roles", many});
  for (PlannedKernel &kernel : all) {
    kernel.isAlternative = true;
    kernel.shape = planner.priced(kernel.shape);
  }
  return all;
}
