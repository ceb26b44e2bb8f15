//===- Splits.h - how many splits the keys have -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where queries are few and keys are many, a program for each tile of queries
// leaves most of a card, or of a host's threads, idle. A plan then has a kernel
// whose programs see a part of the keys each, and one that merges what they
// leave in workspace.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_SPLITS_H
#define FA_LAUNCH_SPLITS_H

#include "fa/Support/FewKeysPrice.h"
#include "fa/Support/LaunchCosts.h"

#include <optional>

namespace fa {

/// Processors that share their way to memory: NVIDIA's texture processing
/// clusters. Blocks go to one of each first.
inline constexpr int64_t kProcessorsOfPair = 2;
inline int64_t countPairs(int64_t processors) {
  return processors / kProcessorsOfPair + processors % kProcessorsOfPair;
}

/// What the rule for the number of splits looks at.
struct SplitProblem {
  int64_t programs = 0;       ///< that there would be without splits
  int64_t processors = 1;     ///< of the card
  int64_t residentBlocks = 1; ///< that a processor holds at a time
  int64_t tiles = 0;          ///< of a program's keys, the most that one has
  /// With `computes`: tiles that the program with fewest has less. Those of the
  /// others lie between, evenly, and those with most come first.
  int64_t tilesLess = 0;
  int64_t tileBytes = 1; ///< of K and V that a program reads for a tile
  int64_t tileRows = 1;  ///< of queries
  int64_t tileKeys = 1;
  int64_t mergeTiles = 1; ///< of kMergeColumns, of a row of the output
  int64_t parts = 1;      ///< that read a program's tile together
  bool computes = false;  ///< dots of warpgroups, and not reading, take time
  bool packsRows = false; ///< rows of a tile are of several heads
  /// Rows of K or V are longer than 128 bytes and no multiple of 32 bytes.
  bool hasUnevenRows = false;
};

/// The rule for the number of splits, 1 for none: the cheapest, the first of
/// several, of 2 to 7 and the multiples of 8 up to 128, none of them without a
/// tile.
///
/// A launch costs what follows, counted in the bytes that a processor gets of
/// the memory's bandwidth meanwhile. The numbers are the card's
/// (include/fa/Support/LaunchCosts.def); those of an H200 are in parentheses.
/// - Programs run in waves of `residentBlocks` on each processor. A wave reads
///   what its programs read, by the processors together, but a program alone
///   needs `alonePercent` of its own bytes (1.6 times), as it waits for memory
///   between tiles; `lastWavePercent` (twice) in a last wave that is not full,
///   as the processors that are first to have room get all of it. Where all are
///   one wave, of which some processors have more than others, each reads its
///   share at most 100 / `unevenPercent` times as slowly (1.1). A program of
///   several parts alone needs `partsAlonePercent` (0.4), in any wave, twice
///   that in an only wave of more than one for each pair of processors: 72 of
///   them read 44 GB/s each (bench/results/2026-11-30-h200-decode.md). Each of
///   its tiles takes `partsTileBytes` (27 KiB, 0.8 us) at least, as long as a
///   warp's copies take to be there.
/// - A tile of uneven rows costs a program `unevenTileBytes` (3 KiB) besides,
///   in any wave: it is more requests, which others do not make shorter.
/// - A wave begins and ends with `waveBytes` (58 KiB) of nothing else.
/// - The merge costs `mergeBytes` (120 KiB) to launch, behind programs in parts
///   `partsMergeBytes` (60 KiB), and `mergeSplitBytes` (2.5) for each split.
///
/// The H200's (132 processors, 4.5 TB/s) are fitted to bf16, D 64 to 256, 1 to
/// 352 programs of 1k to 48k keys, 1 to 64 splits of blocks of one warp and 1
/// to 48 of such in four parts: what the rule finds takes 1.02 of the time of
/// the fastest, as a geometric mean (bench/results/2026-11-30-h200-parts.md).
///
/// Programs that wait for arithmetic go to the processor that is free first,
/// those with most tiles first. All together take the most of: what the longest
/// program takes; what all take, shared by all processors; and, as some
/// processor has one of each wave, so many times what the longest of the last
/// wave takes. A program is counted in bytes as well (75 KiB a microsecond):
/// for each tile its bytes, or `scoreMillibytes` (6.5 bytes) for each score if
/// that is more, in tiles of more than 128 rows `overlappedScoreMillibytes`
/// (4.4 bytes) – of uneven rows `unevenRowsPercent` (twice) of its bytes count
/// – and `rowBytes` (3.2 KiB) for each row, in tiles of more than 128 rows
/// `overlappedRowBytes` (1.6 KiB); of rows of several heads, where each lies is
/// divided for, `rowBytes` and half as much for each 128 columns. The merge
/// costs `computedMergeBytes` (195 KiB), and `mergeRowBytes` (1.6 KiB for 64 of
/// them) for each row of a block that leaves something to it and each 128
/// columns of the row. Fitted to the same card, bf16, D 64 to 256, tiles of 64
/// and 128 rows and 128 keys, 4 to 128 programs of 1k to 16k keys, 1 to 32
/// splits (bench/results/2026-11-23-h200-packed-roles.md); scores of tiles of
/// 192 rows to an H100 (2026-11-25-h100-sweep.md), what rows of these and of
/// several heads cost to 411 shapes on the H200, each in two kernels or numbers
/// of splits (2026-11-30-h200-few-heads.md); for programs of causal masks,
/// which grow, they hold, too (2026-11-28-h200-causal-splits.md).
int64_t chooseSplits(const SplitProblem &problem, const LaunchCosts &costs);

/// A number of splits and what a launch in so many costs.
struct PricedSplits {
  int64_t splits, cost;
};

/// The number of splits that the rule finds, and what it costs. Nothing where
/// it has no costs: programs fill too many waves.
std::optional<PricedSplits> priceSplits(const SplitProblem &problem,
                                        const LaunchCosts &costs);

/// Whether `parts` of a block that read each program's keys together are faster
/// than as many blocks of one, of which a processor holds `parts` times as
/// many: the cheapest of either by the rule above, which gives parts too little
/// (`partsPercent`, 1.06). On an H200 they are up to 1.4 times as fast for few
/// programs and for those that fill one wave, but 0.87 to 1 of blocks of one
/// between them, where keys are 4k and more, and 0.91 to 1 for 176 to 224
/// (bench/results/2026-11-30-h200-decode.md, 2026-11-30-h200-parts.md). More
/// than two programs for each processor are as fast in blocks of one.
bool partsPay(const SplitProblem &problem, const LaunchCosts &costs);

/// What the price of few keys is counted from.
struct FewKeysProblem {
  int64_t programs = 0;
  int64_t processors = 1; ///< of the card
  int64_t keys = 0;       ///< kFewKeys at most
  int64_t leastKeys = 0;  ///< that the first row sees; `keys`: all see as many
  int64_t tileKeys = 1;
};

/// What a launch without splits is predicted to take, in nanoseconds of an
/// H200: programs that wait for arithmetic, as above, `price.blocks` of them
/// on a processor at a time. Where there are no more programs than processors,
/// each has one alone. Fitted to 1285 random shapes of at most 512 keys, D 64
/// to 256, each by up to five kernels: who takes the cheapest takes 1.005 of
/// the time of the fastest, as a geometric mean
/// (bench/results/2026-11-30-h200-few-keys.md).
int64_t priceFewKeys(const FewKeysProblem &problem, const FewKeysPrice &price);

/// The rule on the host: splits of at least 2048 keys, until there are 32
/// programs. It does not look at threads, so that a result has the same bits
/// whatever their number.
int64_t chooseHostSplits(int64_t programs, int64_t keys);

} // namespace fa

#endif // FA_LAUNCH_SPLITS_H
