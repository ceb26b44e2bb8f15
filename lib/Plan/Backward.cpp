//===- Backward.cpp - the kernels of an attention's gradients -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Backward.h"

#include "TileFit.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// Tiles that are walked have no more rows, where a tile's size is not asked
/// for: S, dP, and two sums for each column of the values are in registers
/// (bench/results/2026-11-25-h100-backward-loops.md).
static constexpr int64_t kWalked = 64, kOwned = 64;
static constexpr int64_t kLeastSide = 16;

/// With specialized warps, heads no wider than these leave registers for more:
/// for as many queries as a tile has, or for these, and of narrow ones for
/// these keys (bench/results/2026-11-30-h200-backward.md).
static constexpr int64_t kNarrow = 64, kNarrowKeys = 112;
static constexpr int64_t kMiddle = 96, kMiddleQueries = 96;

/// Queries of a step of packed sequences above so large a head dimension.
static constexpr int64_t kPackedWide = 112, kPackedWalked = 32;

/// Queries of a step whose scores are costly, of wide heads: with 64 ptxas
/// spills 270 to 1050 bytes a thread, and kernels take 1.2 to 1.6 of the time
/// (bench/results/2026-11-28-h200-flex-backward.md).
static constexpr int64_t kCostlyWalked = 32;

/// Percent of a host's threads that programs of whole heads, with five dots,
/// have to keep busy to be as fast as tiles with seven, which always do.
static constexpr int64_t kLeastBusy = 72;

namespace {

class BackwardPlanner {
public:
  BackwardPlanner(const AttentionFacts &facts, const ForwardRules &rules)
      : facts(facts), rules(rules), fit(facts, rules) {}

  Expected<std::vector<PlannedChain>> plan() const {
    KernelShape general = fitted(start());
    if (int64_t least = bytesOf(general, /*slots=*/1, columns());
        rules.tileBytes && least > rules.tileBytes)
      return createStringError(
          "expected head dimensions of which a tile of " + Twine(general.rows) +
          " rows and one of " + Twine(general.columns) + " fit into " +
          Twine(rules.tileBytes) + " bytes of shared memory, found " +
          Twine(fit.dim()) + " and " + Twine(fit.dimV()) + ", which take " +
          Twine(least));
    std::vector<PlannedChain> chains;
    bool isWholeTiles =
        facts.bytes() > 2 || fit.dim() % rules.ownedMultiple == 0;
    if (rules.ownsHeads && isWholeTiles)
      chains.push_back({"_whole", wholeChain(general), /*ownsHeads=*/true});
    chains.push_back({"", chainOf(general)});
    if (rules.variants) {
      KernelShape strided = general;
      strided.unitStride = false;
      strided.alignment = 1;
      chains.push_back({"_strided", chainOf(strided)});
    }
    return chains;
  }

private:
  KernelShape start() const {
    KernelShape shape;
    bool isGpu = rules.tileBytes || rules.dimMultiple > 1;
    shape.rows = isGpu ? std::min(rules.tile.rows, kOwned) : rules.tile.rows;
    shape.columns = std::min(rules.tile.columns, kWalked);
    shape.alignment = rules.alignment;
    shape.dimMultiple = rules.dimMultiple;
    return shape;
  }

  /// Of Q and dO, or of K and V, each a multiple of `multiple`.
  int64_t columns(int64_t multiple = 1) const {
    return alignTo(fit.dim(), multiple) + alignTo(fit.dimV(), multiple);
  }

  /// Bytes of tiles that a program owns, Q and dO or K and V, which have
  /// `ownColumns` together, and of `slots` each of the other ones, whose
  /// columns are multiples of `multiple`.
  int64_t bytesOf(const KernelShape &shape, int64_t slots, int64_t ownColumns,
                  int64_t multiple = 1) const {
    int64_t walked = slots * shape.columns * columns(multiple);
    int64_t owned = rules.leftInRegisters ? 0 : shape.rows * ownColumns;
    // P and dS of multiply-adds go through memory.
    int64_t scores = fit.isIeee() ? 2 * shape.rows * shape.columns : 0;
    return facts.bytes() * (walked + owned + scores);
  }

  bool isTooLarge(const KernelShape &shape, int64_t ownColumns,
                  int64_t multiple = 1) const {
    return rules.tileBytes &&
           bytesOf(shape, /*slots=*/2, ownColumns, multiple) > rules.tileBytes;
  }

  KernelShape fitted(KernelShape shape) const {
    while (shape.columns > kLeastSide && isTooLarge(shape, columns()))
      shape.columns /= 2;
    while (shape.rows > kLeastSide && isTooLarge(shape, columns()))
      shape.rows /= 2;
    return shape;
  }

  std::vector<PlannedBackward> chainOf(const KernelShape &shape) const {
    std::vector<PlannedBackward> chain = {
        {BackwardPart::Rows, "_delta", withAllRows(shape)}};
    addTo(chain, BackwardPart::Queries, "_dq_roles", "_dq", shape);
    if (isApart())
      addApart(chain, shape);
    else
      addTo(chain, BackwardPart::Keys, "_dkv_roles", "_dkv", shape);
    addOthers(chain, shape);
    return chain;
  }

  std::vector<PlannedBackward> wholeChain(KernelShape shape) const {
    std::vector<PlannedBackward> chain;
    addOthers(chain, shape);
    shape.leastBusy = kLeastBusy;
    chain.insert(chain.begin(), {BackwardPart::Whole, "_dqkv", shape});
    return chain;
  }

  /// Gradients of what scores read.
  void addOthers(std::vector<PlannedBackward> &chain,
                 const KernelShape &shape) const {
    chain.push_back({BackwardPart::Capture, "_dcapture", shape});
    chain.push_back({BackwardPart::Table, "_dtable", shape});
    // Nothing of it is in shared memory.
    chain.push_back({BackwardPart::Heads, "_dheads", withAllRows(shape)});
  }

  /// With as many rows as fill a kernel's warps.
  KernelShape withAllRows(KernelShape shape) const {
    shape.rows = start().rows;
    return shape;
  }

  /// ownColumns: those of what a program owns together, if not all.
  void addTo(std::vector<PlannedBackward> &chain, BackwardPart part,
             StringLiteral specialized, StringLiteral plain,
             const KernelShape &shape, int64_t ownColumns = 0) const {
    if (shape.unitStride && isSpecialized()) {
      KernelShape larger = specializedShape(part, shape);
      if (!fit.isWide())
        larger = fitted(larger);
      // Slots have whole lines. Of wide heads the schedule specializes 64 rows
      // as well.
      int64_t line = rules.specialized.slotColumns;
      int64_t own = ownColumns ? alignTo(ownColumns, line) : columns(line);
      if (!isTooLarge(larger, own, line))
        chain.push_back({part, specialized, inBlocks(part, larger),
                         /*isAlternative=*/true});
    }
    chain.push_back({part, plain, inBlocks(part, shape)});
  }

  /// Whether dV and dK have a kernel each: both sums of wide heads take all
  /// registers of a thread, and are spilled.
  bool isApart() const {
    return rules.tileBytes && !rules.leftInRegisters && fit.isWide();
  }

  void addApart(std::vector<PlannedBackward> &chain,
                const KernelShape &shape) const {
    size_t first = chain.size();
    addTo(chain, BackwardPart::Keys, "_dv_roles", "_dv", shape, fit.dim());
    for (PlannedBackward &values : MutableArrayRef(chain).drop_front(first))
      values.ofKeys = false;
    first = chain.size();
    addTo(chain, BackwardPart::Keys, "_dk_roles", "_dk", shape);
    for (PlannedBackward &keys : MutableArrayRef(chain).drop_front(first))
      keys.ofValues = false;
  }

  /// Whole tiles are those of blocks that are listed.
  KernelShape inBlocks(BackwardPart part, const KernelShape &shape) const {
    bool ofKeys = part == BackwardPart::Keys;
    const AttentionFacts::Blocks &own =
        ofKeys ? facts.queryLists : facts.keyLists;
    if (!own.queries)
      return shape;
    return ofKeys ? dividing(shape, own.keys, own.queries)
                  : dividing(shape, own.queries, own.keys);
  }

  /// Factors of dropout are one tile of scores more: at D 128 they take 1.4 kB
  /// of spills with 64 queries (ptxas 13.0.88). So is what scores read: a bias
  /// of queries and keys takes 0.5 to 1.2 kB with 112 keys at D 64.
  KernelShape specializedShape(BackwardPart part, KernelShape shape) const {
    const TileSize &tile = rules.specialized.tile;
    bool ofKeys = part == BackwardPart::Keys;
    shape.rows = tile.rows;
    if (facts.dropsProbabilities)
      shape.columns /= ofKeys && fit.widest() > kNarrow ? 2 : 1;
    else if (tile.rows == 2 * kOwned && ofKeys)
      shape.columns = walkedQueries(shape.columns);
    else if (tile.rows == 2 * kOwned && fit.widest() <= kNarrow &&
             !facts.readsByScore)
      shape.columns = std::min(tile.columns, kNarrowKeys);
    return shape;
  }

  /// Queries of a step where `usual` are what there is room for in any case.
  /// Masks take registers: documents with 128 at D 64 spill 1.3 kB a thread,
  /// and packed sequences, whose row numbers each thread loads by itself, 1.0
  /// kB with 128 at D 64 causal; at D 128 32 are 1.13 to 1.37 of 64, and at D
  /// 80 to 112 0.78 to 0.92
  /// (bench/results/2026-11-27-h100-packed-backward.md).
  int64_t walkedQueries(int64_t usual) const {
    int64_t widest = fit.widest(), most = rules.specialized.tile.columns;
    bool isCheap =
        !facts.mask.readsRows && !facts.isPacked && !facts.modifiesScores;
    if (widest <= kMiddle && isCheap)
      return widest <= kNarrow ? most : std::min(most, kMiddleQueries);
    if (widest > kNarrow && facts.hasCostlyScores)
      return std::min(usual, kCostlyWalked);
    if (widest > kPackedWide && !fit.isWide() && facts.isPacked)
      return std::min(usual, kPackedWalked);
    return usual;
  }

  /// Whether warps are specialized.
  bool isSpecialized() const {
    return rules.specialized.tile.rows && facts.bytes() == 2;
  }

  const AttentionFacts &facts;
  const ForwardRules &rules;
  TileFit fit;
};

} // namespace

Expected<std::vector<PlannedChain>>
fa::planBackward(const AttentionFacts &facts, const ForwardRules &rules) {
  return BackwardPlanner(facts, rules).plan();
}
