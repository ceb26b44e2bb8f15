//===- KeyLoops.h - loops over the keys that a tile sees --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KEYLOOPS_H
#define FA_LIB_FUSION_KEYLOOPS_H

#include "fa/Fusion/MaskAnalysis.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Where tiles of keys that every row sees begin, i32: at `places` keys from
/// `begin` on.
struct WholeTiles {
  mlir::Value begin, places;
};

/// Keys that a loop leaves out: from `place` on, a tile's keys are `left` more.
struct KeyGap {
  mlir::Value place, left;
};

/// One loop over tiles of keys, at places `begin` to `end`. A tile's first key
/// is its place and what the gaps before it leave out.
struct KeyLoop {
  mlir::Value begin, end;
  bool partial; ///< some row may see a tile in part
  llvm::SmallVector<KeyGap, 1> gaps = {};
  KeyGap back = {}; ///< where places go back, by how much (null: they do not)
};

/// The loops of a kernel over the intervals of a mask, in tiles of `columns`
/// keys.
class KeyLoops {
public:
  /// Takes and returns the running state.
  using LoopBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      const KeyLoop &loop, mlir::ValueRange state)>;

  /// With `edgeFirst` the tiles at the upper edge of an interval come before
  /// those that every row sees whole, and these before those at the lower edge.
  /// `isLastEdge`: the last tile counts as one at the upper edge in any case.
  /// `isAligned`: intervals begin at multiples of a tile, and so do all loops.
  KeyLoops(mlir::ImplicitLocOpBuilder &b, int64_t columns,
           llvm::ArrayRef<KeyInterval> intervals, LoopBuilder buildLoop,
           bool edgeFirst = false, bool isLastEdge = false,
           bool isAligned = false);

  /// Narrows `ranges`, which are sorted, to the share of split `split`, counted
  /// from the first key that some row sees: `keysOfSplit` keys or, if that is
  /// 0, as many tiles of keys as any other. Returns where the keys of the share
  /// end, at `length` at most.
  mlir::Value takeSplit(llvm::MutableArrayRef<KeyRange> ranges,
                        mlir::Value split, mlir::Value numSplits,
                        mlir::Value length, int64_t keysOfSplit);

  /// What some of the rows see, `own`, in tiles that are counted from where
  /// those of `all` rows begin: at least one of them, if there is one.
  KeyRange narrowed(const KeyRange &all, KeyRange own);

  /// Those of one loop over `keys`.
  WholeTiles wholeTiles(const KeyRange &keys);

  /// One loop over all of `ranges`, which are sorted, each beginning where the
  /// tiles of those before it ended. If there may be a lower edge the first
  /// tile is one that all rows see in the last range, if there is one, and
  /// those before it come last: where rows see few keys, the maxima of a first
  /// tile rise with the next one.
  KeyLoop joined(llvm::ArrayRef<KeyRange> ranges);

  /// The loops over `ranges`, which are sorted; returns the state behind
  /// them. Several share their code: a loop takes one after the other, each
  /// beginning where the tiles of those before it ended.
  llvm::SmallVector<mlir::Value> build(llvm::ArrayRef<KeyRange> ranges,
                                       llvm::SmallVector<mlir::Value> state);

  /// The loops over the keys from `start` (null: 0) to `end`, which all rows
  /// see and which may be none: first, as if they were seen in part, the last
  /// tile, if it is cut, and at least one tile, those with keys `first` to
  /// `last` if there are any; then the others, each of which has keys before
  /// `first` or keys behind `last` alone.
  llvm::SmallVector<mlir::Value>
  buildAround(mlir::Value start, mlir::Value end, mlir::Value first,
              mlir::Value last, llvm::SmallVector<mlir::Value> state);

  /// `value` rounded to whole tiles of keys, upwards or downwards; at least 0.
  mlir::Value roundToTiles(mlir::Value value, bool up);

private:
  mlir::Value index(int64_t value);
  /// Of `ranges` that begin at `begin`, the keys of each of so many splits.
  mlir::Value shareOf(llvm::ArrayRef<KeyRange> ranges, mlir::Value begin,
                      mlir::Value numSplits);
  llvm::SmallVector<mlir::Value> buildInterval(const KeyRange &keys,
                                               bool hasLowerEdge,
                                               mlir::ValueRange initial);

  mlir::ImplicitLocOpBuilder &b;
  int64_t columns;
  LoopBuilder buildLoop;
  bool hasLowerEdge, complete; ///< of some interval
  bool edgeFirst, isLastEdge, isAligned;
};

} // namespace fa

#endif // FA_LIB_FUSION_KEYLOOPS_H
