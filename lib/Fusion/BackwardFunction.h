//===- BackwardFunction.h - functions that are gradients --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_BACKWARDFUNCTION_H
#define FA_LIB_FUSION_BACKWARDFUNCTION_H

#include "BlockLists.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace fa {

/// Numbers of rows, f32, in 16 bytes, which is what the tensor memory
/// accelerator takes at a time: rows of workspace have a multiple of them, and
/// tiles of queries begin at one.
inline constexpr int64_t kNumbersTogether = 4;

/// The gradient of a captured tensor or number.
struct CapturedGradient {
  /// Of a dimension in `reads`: at a place that is computed.
  static constexpr int64_t kComputed = 4;

  ArgumentView view; ///< by result number; of a number without dimensions
  mlir::Region *effect;
  /// Of the element that each score reads of the tensor, dimension by
  /// dimension: 0 to 3 where it is the score's batch, head, query or key; -1:
  /// there is one element. A number, too, is one element.
  llvm::SmallVector<int64_t, 4> reads;
  mlir::Value place; ///< of the score region: the one that is computed, or null
  ArgumentView tensor; ///< what is captured, if it is a tensor

  bool readsAt(int64_t coordinate) const {
    return llvm::is_contained(reads, coordinate);
  }
  /// Whether it is a table that is read at a place that is computed.
  bool isTable() const { return place != mlir::Value(); }
  /// Whether it is a sum over all queries and keys: of slopes, for instance, or
  /// of a number of all heads.
  bool isOfHeads() const { return !readsAt(2) && !readsAt(3) && !isTable(); }
};

/// A function that is the gradients of one attention on views of its arguments.
struct BackwardFunction {
  mlir::func::FuncOp function;
  tile::AttentionBackwardOp op;
  ArgumentView q, k, v, output, lse, dout;
  std::optional<ArgumentView> dlse, sink, rng;
  std::vector<ArgumentView> captures; ///< of the captured tensors
  /// Of the gradients that are wanted, by result number.
  std::optional<ArgumentView> dq, dk, dv, dsink;
  std::vector<CapturedGradient> dcaptures;
  /// Of the blocks that programs of queries and of keys walk.
  std::optional<BlockLists> keyLists, queryLists;

  /// Whether queries or keys are those of packed sequences.
  bool isPacked() const { return q.offsets || k.offsets; }

  /// Whether a program may own a KV head with all of its queries: all three
  /// gradients are wanted, and nothing that is made beside dQ alone.
  bool takesWholeHeads() const;

  /// How many gradients of captured tensors are sums over queries and keys:
  /// their terms are summed over the keys beside dQ.
  unsigned numRowSums() const {
    return llvm::count_if(dcaptures, [](const CapturedGradient &gradient) {
      return gradient.isOfHeads();
    });
  }

  /// The number of the first argument in workspace, behind those of the
  /// function and its results: `delta`, the log-sum-exp that kernels take, and
  /// the row sums or, of whole heads, what dQ is summed in (f32 [1, b, hq, sq,
  /// d]), f32 [1, b, hq, sq] each, of packed queries [1, 1, hq, rows]:
  /// those of sequence n begin at 4 (floor(offsets[n] / 4) + n).
  unsigned firstOfWorkspace() const {
    mlir::func::FuncOp f = function;
    return f.getNumArguments() + f.getNumResults();
  }

  /// The number of the argument that is the memory of a gradient.
  unsigned argumentOf(const ArgumentView &gradient) const {
    mlir::func::FuncOp f = function;
    return f.getNumArguments() + gradient.number;
  }
};

/// Finds out whether `function` is the gradients of one attention on views of
/// its arguments; else `reason` says what it is, and the result is of no use.
BackwardFunction matchBackward(mlir::func::FuncOp function,
                               std::string &reason);

} // namespace fa

#endif // FA_LIB_FUSION_BACKWARDFUNCTION_H
