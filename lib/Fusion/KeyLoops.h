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

/// The loops of a kernel over the intervals of a mask, in tiles of `columns`
/// keys.
class KeyLoops {
public:
  /// A loop over the tiles from `begin` to `end`, which some row may see in
  /// part; takes and returns the running state.
  using LoopBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value begin, mlir::Value end, bool partial,
      mlir::ValueRange state)>;

  /// With `edgeFirst` the tiles at the upper edge of an interval come before
  /// those that every row sees whole.
  KeyLoops(mlir::ImplicitLocOpBuilder &b, int64_t columns,
           llvm::ArrayRef<KeyInterval> intervals, LoopBuilder buildLoop,
           bool edgeFirst = false);

  /// Narrows `ranges`, which are sorted, to the share of split `split`: as many
  /// tiles of keys as any other, counted from the first key that some row sees.
  /// Returns where the keys of the share end, at `length` at most.
  mlir::Value takeSplit(llvm::MutableArrayRef<KeyRange> ranges,
                        mlir::Value split, mlir::Value numSplits,
                        mlir::Value length);

  /// What some of the rows see, `own`, in tiles that are counted from where
  /// those of `all` rows begin: at least one of them, if there is one.
  KeyRange narrowed(const KeyRange &all, KeyRange own);

  /// Those of one loop over `keys`.
  WholeTiles wholeTiles(const KeyRange &keys);

  /// The loops over `ranges`, which are sorted; returns the state behind
  /// them. Several share their code: a loop takes one after the other, each
  /// beginning where the tiles of those before it ended.
  llvm::SmallVector<mlir::Value> build(llvm::ArrayRef<KeyRange> ranges,
                                       llvm::SmallVector<mlir::Value> state);

private:
  mlir::Value index(int64_t value);
  mlir::Value roundToTiles(mlir::Value value, bool up);
  llvm::SmallVector<mlir::Value> buildInterval(const KeyRange &keys,
                                               bool hasLowerEdge,
                                               mlir::ValueRange initial);

  mlir::ImplicitLocOpBuilder &b;
  int64_t columns;
  LoopBuilder buildLoop;
  bool hasLowerEdge, complete; ///< of some interval
  bool edgeFirst;
};

} // namespace fa

#endif // FA_LIB_FUSION_KEYLOOPS_H
