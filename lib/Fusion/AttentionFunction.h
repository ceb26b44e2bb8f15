//===- AttentionFunction.h - functions that are one attention - -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ATTENTIONFUNCTION_H
#define FA_LIB_FUSION_ATTENTIONFUNCTION_H

#include "BlockLists.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace fa {

/// A function at S2 that is one online attention on views of its arguments.
struct AttentionFunction {
  struct Result {
    bool isLse; ///< else the output
    ArgumentView view;
    mlir::SmallVector<mlir::Operation *> epilogue; ///< elementwise
  };

  mlir::func::FuncOp function;
  tile::OnlineAttentionOp attention;
  /// Of memory: where q has 8 bits there, `attention` has it widened.
  ArgumentView q, k, v;
  /// i32 [b, m], where k and v are pages [n, hkv, page, d] (tile.paged).
  std::optional<ArgumentView> table;
  /// f32 [b, hkv] each, or [b, hkv, n] of which each is for some keys.
  std::vector<ArgumentView> keyScales;
  std::optional<ArgumentView> valueScales; ///< the same
  std::optional<ArgumentView> sink;        ///< f32 [hq]
  std::optional<ArgumentView> rng;    ///< i64 [2]: seed and offset of dropout
  std::vector<ArgumentView> captures; ///< of the captured tensors
  std::optional<BlockLists> lists;    ///< of the blocks that are walked
  std::vector<Result> results;        ///< by number
  /// Whether a launch checks that `scales` of some keys each are enough for all
  /// keys: what the device knows, or no argument says, it cannot.
  bool areScalesCovering(const ArgumentView &scales) const {
    return !k.offsets && !table && k.hasOwnSize(2) && scales.hasOwnSize(2);
  }
  /// Views of all scales of keys and values.
  mlir::SmallVector<const ArgumentView *> scales() const;
  /// Values are so many of the first columns of the keys that a tile of keys
  /// may be one of values, too: what the other columns add up to is dropped.
  bool sharesTiles = false;
};

/// Whether each of `scales`, of keys or values, is for some keys of a head.
inline bool isOfKeys(const ArgumentView &scales) {
  return scales.dims.size() == 3;
}

/// Finds out whether `function` is one online attention on views of its
/// arguments; else `reason` says what it is, and the result is of no use.
AttentionFunction matchFunction(mlir::func::FuncOp function,
                                std::string &reason);

/// Sets `view` to that of `rng`, if it is not null. Gives the reason if it is
/// not a view of an argument.
std::string matchRng(mlir::Value rng, std::optional<ArgumentView> &view);

/// Sets `views` to those of the tensors among `captures`. Gives the reason if
/// `scale` or a capture is not to be had in a kernel.
std::string matchScoreOperands(mlir::Value scale, mlir::OperandRange captures,
                               std::vector<ArgumentView> &views);

/// Gives the reason if `regions` of an attention read offsets of packed
/// sequences, or one of `batches` is packed, and one of these, which have the
/// sequences as dimension 0, or a dimension of `captures` has no size of an
/// argument that offsets can be counted by.
std::string matchOffsets(mlir::ArrayRef<mlir::Region *> regions,
                         mlir::ArrayRef<const ArgumentView *> batches,
                         mlir::ArrayRef<ArgumentView> captures);

} // namespace fa

#endif // FA_LIB_FUSION_ATTENTIONFUNCTION_H
