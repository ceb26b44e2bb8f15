//===- ProgramBuilder.h - what programs of an attention share ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first kernel of an attention and the one that merges what it left own
// tiles of the same rows: they find them in the same way, and both can end in
// the function's results.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_PROGRAMBUILDER_H
#define FA_LIB_FUSION_PROGRAMBUILDER_H

#include "KernelBody.h"
#include "KernelBuilder.h"

#include "Tile/GroupedRows.h"

namespace fa {

class ProgramBuilder : protected KernelBody {
public:
  ProgramBuilder(mlir::OpBuilder &builder, const AttentionFunction &source,
                 const KernelShape &shape)
      : KernelBody(builder, tile::OnlineAttentionOp(source.attention).getLoc()),
        source(source), attention(source.attention), shape(shape) {}

protected:
  //===--- Rows ---===//
  /// Creates the kernel and the views of q, k and v; leaves the builder at the
  /// start of its body.
  void beginKernel(mlir::StringRef name, mlir::StringRef entry);
  /// Which batch and head this program computes; `tileNumber`, of axis 0 of the
  /// grid, is the number of its tile of rows, counted from the first row or, if
  /// `fromEnd`, from the end.
  void findRows(Value tileNumber, bool fromEnd = false);
  /// Rows of this program in q, the output or the log-sum-exp: [rows, dim] or
  /// [rows].
  Value queryView(Value memref);
  /// Of packed queries: the head and the query of each row, vectors of index.
  struct PackedRows {
    Value heads, queries;
  };
  PackedRows findPacked();
  tile::GroupedRows groupedRows();
  /// How many splits of the keys there are.
  Value countSplits();
  /// The same of what split `split` left in tensor `number` of the workspace:
  /// outputs (0), maxima (1) or logarithms of sums (2).
  Value partialView(unsigned number, Value split);

  /// The number of `scales` for this program's batch and KV head.
  Value loadScale(const ArgumentView &scales);

  /// P of f16 is rounded kRaisedWeights times as large where it is multiplied
  /// with scales of values: 448 · scale is one of f16's numbers, as outputs
  /// are, so that nothing overflows, and less of P is below the normal ones.
  static constexpr float kRaisedWeights = 256;
  bool raisesWeights() const;

  //===--- State ---===//
  /// Nothing seen yet, or the sink; accumulators of `columns`.
  mlir::SmallVector<Value> initialState(int64_t columns, bool withSink);
  /// What the function does to a result before it returns it, on a tile.
  Value applyEpilogue(mlir::ArrayRef<mlir::Operation *> epilogue, Value value);
  /// Stores the function's results. Programs of other columns of the output,
  /// if `column` says where this one's begin, have the same rows.
  void storeResults(tile::OnlineFinalizeOp finalize, Value column = {});
  /// The memory of a result, as the attention sees it.
  Value resultMemory(const AttentionFunction::Result &result);

  /// A head dimension as tiles have it.
  int64_t tileDim(int64_t size) {
    return llvm::alignTo(size, shape.dimMultiple);
  }

  AttentionFunction source;
  tile::OnlineAttentionOp attention;
  KernelShape shape;
  /// [b, h, s, d]; packed [h, s, d].
  Value qMemory, kMemory, vMemory;
  Sequence queries, keys; ///< of packed sequences
  Value table; ///< [b, m] where K and V are pages [n, h, page, d], or null
  Value kvHead, group;
  Value tileStart; ///< row of the view where the tile begins
  Value numQueries, numKeys;
  Value isIdle; ///< i1: this program writes nothing; null: not known

private:
  Value countRows(Value memory);
  Value rowsOf(Value memref, mlir::ArrayRef<mlir::OpFoldResult> leading);
  /// The part of `memref`, of which all but the columns are given; `dims` of
  /// these are kept.
  Value rowsAt(Value memref, mlir::SmallVector<mlir::OpFoldResult> offsets,
               mlir::SmallVector<mlir::OpFoldResult> sizes, unsigned dims = 1);
};

} // namespace fa

#endif // FA_LIB_FUSION_PROGRAMBUILDER_H
