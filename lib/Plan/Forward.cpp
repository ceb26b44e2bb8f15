//===- Forward.cpp - the kernels of a forward attention -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Forward.h"

#include "Specialized.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// The most splits that a merge of many rows loads at a time, where programs
/// are few and where they are many: its warps wait for memory, and the fewer
/// registers each has, the more of them a processor holds. 32 splits take 64 to
/// 255, 16 of them 40 to 128 and 8 of them 32 to 64 (sm_90a, D 64 to 160;
/// bench/results/2026-11-28-h200-causal-splits.md).
static constexpr int64_t kAheadOfFew = 16, kAheadOfMany = 8;

namespace {

class ForwardPlanner {
public:
  ForwardPlanner(const AttentionFacts &facts, const ForwardRules &rules)
      : facts(heeded(facts, rules)), rules(rules), fit(this->facts, rules) {}

  Expected<std::vector<PlannedKernel>> plan() {
    if (facts.splitKeys && rules.splits)
      return createStringError("expected no number of splits where each has " +
                               Twine(facts.splitKeys) +
                               " keys (tile.batch_invariant), found " +
                               Twine(rules.splits));
    KernelShape first = chooseFirst();
    // One slot of each tile is the least that later passes can do with.
    if (int64_t least = fit.bytesOf(first, /*slots=*/1);
        rules.tileBytes && least > rules.tileBytes)
      return refuse(first, least);
    KernelShape general = chooseGeneral(first);
    if (rules.variants && !facts.hasHeadsApart() &&
        !hasWideValues(facts, rules))
      addFewQueries(first, general);
    addSpecialized(general);
    all.push_back({"", general});
    if (rules.variants)
      all.push_back({"_strided", chooseStrided(first)});
    if (facts.splitKeys)
      erase_if(all, [](const PlannedKernel &kernel) {
        return isChosenByBatch(kernel);
      });
    for (PlannedKernel &kernel : all) {
      if (facts.hasBlockLists())
        takeBlocks(kernel.shape);
      addSplit(kernel);
    }
    return std::move(all);
  }

private:
  /// Loads to registers are written to a buffer for each layout that a tile is
  /// read in, so that a shared tile would save no room there.
  static AttentionFacts heeded(AttentionFacts facts,
                               const ForwardRules &rules) {
    facts.sharesTiles &= !rules.leftInRegisters;
    return facts;
  }

  /// Whether a launch takes the kernel by how many programs, and so batches and
  /// heads, it has, or by how many keys, which are those of the longest
  /// sequence.
  static bool isChosenByBatch(const PlannedKernel &kernel) {
    const KernelShape &shape = kernel.shape;
    return shape.fewPrograms || shape.fewerRows || shape.cluster > 1 ||
           shape.maxKeys || kernel.isSplitAlone;
  }

  Error refuse(const KernelShape &shape, int64_t least) const {
    return createStringError(
        "expected head dimensions of which a tile of " + Twine(shape.rows) +
        " queries and " + Twine(shape.columns) + " keys fits into " +
        Twine(rules.tileBytes) + " bytes of shared memory, found " +
        Twine(fit.dim()) + " and " + Twine(fit.dimV()) + ", which take " +
        Twine(least));
  }

  bool isWide() const { return fit.isWide(); }
  bool is16bit() const { return facts.bytes() <= 2; }

  /// Whether f32 is multiplied as sums of bf16. Small head dimensions leave too
  /// much of a matrix unit's steps of 32 empty
  /// (bench/results/2026-11-23-cpu-f32-pieces.md).
  bool isSum() const {
    return rules.sumsOfBf16 && facts.element == AttentionFacts::F32 &&
           std::min(fit.dim(), fit.dimV()) >= 48;
  }

  bool isAsBf16() const {
    return facts.element == AttentionFacts::BF16 || isSum() ||
           (rules.sumsOfBf16 && facts.element == AttentionFacts::F16);
  }

  //===--- Shapes ---===//

  /// What all variants begin with.
  KernelShape chooseFirst() const {
    KernelShape shape;
    shape.rows = is16bit() ? rules.rows16bit : rules.tile.rows;
    if (isWide())
      shape.rows = std::min(shape.rows, rules.wideRows);
    shape.columns = rules.tile.columns;
    shape = fit.fitted(shape);
    shape.alignment = rules.alignment;
    shape.dimMultiple = rules.dimMultiple;
    shape.sharesTiles = facts.sharesTiles;
    shape.foldScale = rules.foldScale;
    shape.positiveScale =
        rules.foldScale && facts.hasFoldableScale && !facts.modifiesScores;
    return shape;
  }

  /// Beside kernels of other sizes.
  static int64_t roundKeys(const KernelShape &first) {
    return bit_floor(uint64_t(first.columns));
  }

  KernelShape chooseDecode(const KernelShape &first) const {
    KernelShape shape = first;
    shape.rows = rules.decode.tile.rows;
    shape.columns = rules.decode.tile.columns ? rules.decode.tile.columns
                                              : roundKeys(first);
    shape.pack = KernelShape::Heads;
    return fit.lessKeys(fit.paired(shape), rules.decode.tileBytes);
  }

  KernelShape choosePacked(KernelShape shape) const {
    shape.rows = shape.maxQueries = rules.packedRows;
    shape.columns = bit_floor(uint64_t(rules.tile.columns));
    shape.pack = KernelShape::Queries;
    shape = fit.paired(fit.fitted(shape));
    shape.boxRows = countBoxRows(facts, rules, shape.rows);
    return shape;
  }

  KernelShape chooseStrided(const KernelShape &first) const {
    KernelShape shape = first;
    shape.unitStride = false;
    shape.alignment = 1;
    shape.positiveScale = false;
    shape.rows = bit_floor(uint64_t(std::min(shape.rows, rules.stridedRows)));
    shape.columns = roundKeys(first);
    return fit.paired(shape);
  }

  KernelShape chooseGeneral(KernelShape shape) const {
    auto take = [&](const TileSize &tile) {
      shape.rows = tile.rows ? tile.rows : shape.rows;
      shape.columns = tile.columns ? tile.columns : shape.columns;
    };
    if (rules.middleColumns && is16bit() && fit.widest() > 80 && !isWide())
      shape.columns = rules.middleColumns;
    if (facts.bytes() == 4 && !fit.isIeee() && fit.widest() <= 64)
      take(rules.tf32);
    if (rules.pairedTileBytes && isWide() && is16bit()) {
      shape.rows = rules.rows16bit;
      // The accumulator of wider values leaves registers for one block alone.
      if (fit.dimV() <= 192)
        shape = fit.paired(shape);
    }
    if (isAsBf16()) {
      take(rules.bf16);
      // Three for an element take more of the second cache.
      if (isSum())
        shape.columns /= 2;
    }
    return shape;
  }

  //===--- Kernels for few queries ---===//

  /// Slots of all parts fit into a processor's memory, and what they are merged
  /// to into registers. Products of f32 go through memory, which has no room
  /// for those of all parts.
  bool hasDecodeParts() const {
    int64_t parts = rules.decode.parts;
    return parts > 1 && facts.bytes() == 2 && !facts.hasWideProbabilities &&
           fit.dimV() <= 128 && fit.dimV() >= 16 * parts;
  }

  void addFewQueries(const KernelShape &first, const KernelShape &general) {
    KernelShape decode = chooseDecode(first);
    if (hasDecodeParts()) {
      KernelShape parted = decode;
      parted.parts = rules.decode.parts;
      parted.fewPrograms = 1;
      all.push_back({"_decode_parts", parted});
    }
    all.push_back({"_decode", decode});
    if (rules.packedRows)
      addPacked(first, general);
    if (rules.shortQueries && isSum()) {
      all.push_back({"_short", first});
      all.back().shape.maxQueries = rules.shortQueries;
    }
  }

  void addPacked(const KernelShape &first, const KernelShape &general) {
    KernelShape packed = choosePacked(first);
    if (isAsBf16() && !isSum() && rules.packedRowsBf16) {
      packed.rows = packed.maxQueries = rules.packedRowsBf16;
      packed.columns = general.columns;
    }
    // Where tiles of more rows, or of one head, have as few rows, these are
    // faster; dots of warpgroups have at most 256 columns
    // (bench/results/2026-11-29-h200-packed-tiles.md).
    packed.halfRows = hasFewPrograms(facts, rules) && fit.widest() <= 256;
    // Of one head nothing is known of more queries.
    if (packed.halfRows)
      packed.maxQueries =
          std::min(packed.maxQueries, rules.specialized.fewRows / 2 - 1);
    all.push_back({"_packed", packed});
  }

  /// Each tile that a channel brings is read by one dot, or its columns are
  /// dealt.
  void addSpecialized(KernelShape general) {
    AttentionFacts apart = facts;
    apart.sharesTiles &= hasWideValues(facts, rules);
    general.sharesTiles = false;
    append_range(all,
                 planSpecialized(apart, rules,
                                 TileFit(apart, rules, /*isSpecialized=*/true),
                                 general));
  }

  /// A tile is part of a listed block, whose sizes are multiples of 64.
  void takeBlocks(KernelShape &shape) const {
    shape = dividing(shape, facts.keyLists.queries, facts.keyLists.keys);
    shape.ownRows = shape.oneLoop = shape.someKeys = false;
  }

  /// Splits pay where queries are few, or programs leave processors idle, and
  /// keys are not few.
  void addSplit(PlannedKernel &kernel) const {
    const KernelShape &shape = kernel.shape;
    bool isForFew = shape.pack != KernelShape::OneHead || shape.fewPrograms;
    if (rules.splits == 1 || facts.hasHeadsApart() || shape.maxKeys ||
        !(isForFew || kernel.isSplitAlone))
      return;
    KernelShape &split = kernel.split.emplace(shape);
    split.part = KernelShape::Split;
    split.splits = rules.splits;
    split.keysOfSplit = facts.splitKeys;
    // Without splits, bits are others.
    kernel.isSplitAlone |= facts.splitKeys != 0;
    split.growsWithRows = shape.pack == KernelShape::OneHead &&
                          facts.mask.growsWithQuery &&
                          !facts.mask.hasLowerBound;
    split.wideMerge = rules.wideMerge;
    if (shape.pack == KernelShape::OneHead)
      split.mergeAhead = shape.fewPrograms ? kAheadOfFew : kAheadOfMany;
    // A split may have no key, and so may some of its rows where others have.
    split.someKeys = split.ownRows = false;
  }

  const AttentionFacts facts;
  const ForwardRules &rules;
  TileFit fit;
  std::vector<PlannedKernel> all;
};

} // namespace

Expected<std::vector<PlannedKernel>>
fa::planForward(const AttentionFacts &facts, const ForwardRules &rules) {
  return ForwardPlanner(facts, rules).plan();
}
