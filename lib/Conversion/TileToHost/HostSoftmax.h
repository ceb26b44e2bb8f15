//===- HostSoftmax.h - online softmax of a host kernel ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTSOFTMAX_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTSOFTMAX_H

#include "HostContext.h"

namespace fa {

//===----------------------------------------------------------------------===//
// One step (LowerSoftmax.cpp)
//===----------------------------------------------------------------------===//

/// Where the results of an online softmax are.
struct SoftmaxResults {
  TileBuffer p, alpha, max, sum;
};

/// Maxima and sums of some registers of rows.
struct RowState {
  mlir::SmallVector<mlir::Value> max, sum;
};

SoftmaxResults allocateResults(HostContext &ctx, tile::OnlineSoftmaxOp op,
                               TileBuffer p);
RowState readState(HostContext &ctx, tile::OnlineSoftmaxOp op, mlir::Value row,
                   int64_t vectors);
/// Stores the new maxima and the factors of what was summed up to now, and
/// returns finite maxima and scaled sums.
RowState emitRescale(HostContext &ctx, const RowState &old,
                     mlir::ArrayRef<mlir::Value> max,
                     const SoftmaxResults &results, mlir::Value row);
void storeState(HostContext &ctx, mlir::ArrayRef<mlir::Value> sum,
                const SoftmaxResults &results, mlir::Value row);
void keepResults(HostContext &ctx, tile::OnlineSoftmaxOp op,
                 const SoftmaxResults &results, ColumnLimits limits);
/// `max`, the lowest number where it is -inf.
mlir::Value emitFinite(HostContext &ctx, mlir::Value max);
/// exp(score - max) of vectors; `max` is not -inf.
mlir::Value emitExponential(HostContext &ctx, mlir::Value score,
                            mlir::Value max);
/// The scores of register v of a block of rows at a column.
using ScoreSource = llvm::function_ref<mlir::Value(int64_t v, mlir::Value col)>;
/// Called in each trip of the loop over columns, with its number.
using BesideTrip = llvm::function_ref<void(mlir::Value trip)>;
/// Writes exp(score - max) to `row` of `p`, which may be where the scores are,
/// in pairs or rounded to `narrow` if given, and returns their sum, which
/// starts at `sum`.
mlir::SmallVector<mlir::Value> emitExponentials(
    HostContext &ctx, ScoreSource scoreAt, TileBuffer p, mlir::Value columns,
    mlir::Value row, mlir::ArrayRef<mlir::Value> maxima,
    mlir::ArrayRef<mlir::Value> sum, mlir::Type narrow, BesideTrip beside = {});

/// The lowering of one whose scores are those of `dot`, by matrix units
/// (LowerTileSoftmax.cpp).
void lowerTileSoftmax(HostContext &ctx, tile::OnlineSoftmaxOp op,
                      tile::DotOp dot);

//===----------------------------------------------------------------------===//
// The end, and merges (LowerMerge.cpp)
//===----------------------------------------------------------------------===//

/// Of one vector of rows.
mlir::Value emitLogSumExp(HostContext &ctx, tile::OnlineFinalizeOp op,
                          mlir::Value max, mlir::Value sum);
/// Of the vector of rows at `at`: stores their maxima and sums, and returns
/// what the accumulator and the merged output are multiplied with.
std::pair<mlir::Value, mlir::Value>
emitMergeFactors(HostContext &ctx, tile::OnlineMergeOp op, mlir::Value at,
                 TileBuffer maxOut, TileBuffer sumOut);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTSOFTMAX_H
