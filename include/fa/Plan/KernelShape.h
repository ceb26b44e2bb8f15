//===- KernelShape.h - what variants of a kernel differ in ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_KERNELSHAPE_H
#define FA_PLAN_KERNELSHAPE_H

#include "fa/Support/FewKeysPrice.h"

#include <cstdint>
#include <optional>

namespace fa {

/// What distinguishes the variants of a kernel.
struct KernelShape {
  /// What a kernel does. `Split` sees part of the keys and leaves outputs,
  /// maxima and logarithms of sums in workspace, `Merge` makes results of them.
  enum Part { Whole, Split, Merge } part = Whole;
  /// Of Split: how many there are; 0: a launch chooses.
  int64_t splits = 0;
  /// Of Split: keys of each of them, which the launch does not choose; 0: as
  /// many tiles for each as for any other.
  int64_t keysOfSplit = 0;
  /// Of Split, or with a price: the later a program's rows are, the more keys
  /// they see, from the first key on.
  bool growsWithRows = false;
  bool wideMerge = false; ///< a program merges whole rows, split by split
  /// Of Split, without wideMerge: the most splits that its merge loads at a
  /// time.
  int64_t mergeAhead = 32;
  int64_t rows = 64;      ///< queries in a tile
  int64_t columns = 128;  ///< keys in a tile
  bool unitStride = true; ///< elements of a row are neighbours
  /// Bytes that the rows of q, k and v begin at multiples of.
  int64_t alignment = 1;
  /// So do those of captured tensors that are read as scores lie (scoreTiles),
  /// whose elements are neighbours then.
  bool alignedScores = false;
  /// Tiles of keys begin at multiples of their size, as boxes of pages do.
  bool alignedKeys = false;
  /// Tiles hold a head dimension rounded up to a multiple of this.
  int64_t dimMultiple = 1;
  /// What all scores are multiplied with last, a constant above 0, is left to
  /// the softmax.
  bool foldScale = false;
  /// A scale that is the same for all scores is above 0: the softmax applies it
  /// with its own factor, at no cost.
  bool positiveScale = false;
  /// Only the device knows the sign of a scale that is the same for all scores:
  /// the softmax applies its magnitude with its own factor, and scores are
  /// negated where it is negative.
  bool foldsMagnitude = false;
  /// The scores' bias, which is a ramp, is what their dot adds to (tile.ramp);
  /// with `positiveScale`.
  bool ramp = false;
  /// What the rows of a tile are besides the queries of one head. `Heads`: of
  /// one query, the query heads that share a KV head. `Queries`: of
  /// `maxQueries` at most, the queries of all these heads (tile.grouped_view).
  enum Pack { OneHead, Heads, Queries } pack = OneHead;
  /// Of `Queries`: rows that a box brings, the block of tile.grouped_view; 0:
  /// rows have no blocks.
  int64_t boxRows = 0;
  int64_t maxQueries = 0; ///< that the kernel is taken for; 0: all
  int64_t maxKeys = 0;    ///< the same of keys; a kernel has one of the two
  /// Where later queries see more keys, the last tile ends with the queries,
  /// rounded up to a multiple of this, and the first begins before them: rows
  /// that are none see few keys. 0: the first begins with them.
  int64_t endMultiple = 0;
  /// Keys are walked by one loop, in which tiles without a mask take a branch
  /// around it, from one of these on; otherwise tiles at edges of the mask have
  /// loops of their own.
  bool oneLoop = false;
  /// Groups of rows of a tile walk the keys that they see (tile.own_rows).
  bool ownRows = false;
  /// Of one interval of keys, a program walks a tile even where it sees none:
  /// one begins beside the end of the one before, whatever that sees.
  bool someKeys = false;
  /// A tile of keys is the tile of values, too, loaded once.
  bool sharesTiles = false;
  /// Blocks that are to fetch together.
  int64_t cluster = 1;
  /// Blocks may take programs in turn from a counter in workspace.
  bool hasCounter = false;
  /// The least programs for each processor that the kernel is meant for.
  int64_t manyPrograms = 0;
  /// The least percent of a host's threads, or of processors, that the programs
  /// of a launch that the kernel is meant for keep busy; 0: any.
  int64_t leastBusy = 0;
  /// The most programs for each processor that the kernel is meant for; 0: any.
  int64_t fewPrograms = 0;
  /// The kernel is meant for launches in which it costs less than others by the
  /// rule for splits or, without costs, has fewer rows.
  bool fewerRows = false;
  /// The kernel is meant for launches in which it has at most half as many rows
  /// as others.
  bool halfRows = false;
  /// What launches of few keys are predicted to take, where that is known: the
  /// kernel is meant for those in which it costs least.
  std::optional<FewKeysPrice> price;
  /// Parts of a block that run a program, each on keys of its own.
  int64_t parts = 1;
};

} // namespace fa

#endif // FA_PLAN_KERNELSHAPE_H
