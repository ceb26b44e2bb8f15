//===- LoopBuilder.h - the loops of one operation ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOLINALG_LOOPBUILDER_H
#define FA_LIB_CONVERSION_TILETOLINALG_LOOPBUILDER_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Builds the loops of one operation on whole tensors. Files: LoopBuilder (what
/// all need), LoopsOfTensors (shapes, elements, dots), LoopsOfPages,
/// LoopsOfSoftmax, LoopsOfAttention.
class LoopBuilder {
public:
  explicit LoopBuilder(mlir::Operation *op) : b(op->getLoc(), op) {}

  /// The values that replace the results of `op`; nothing: it stays.
  std::optional<mlir::SmallVector<mlir::Value>> lower(mlir::Operation *op);

private:
  using Body = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

  //===--- Helpers ---===//

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  mlir::Value constant(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                       double value);
  mlir::Value infinity(mlir::ImplicitLocOpBuilder &b, mlir::Type type);
  mlir::Value index(int64_t value);
  mlir::Value sizeOf(mlir::Value tensor, int64_t dim);
  mlir::AffineExpr dimExpr(unsigned d) { return b.getAffineDimExpr(d); }
  mlir::AffineMap mapOf(int64_t rank, mlir::ArrayRef<mlir::AffineExpr> exprs);
  mlir::AffineMap identity(int64_t rank) {
    return b.getMultiDimIdentityMap(rank);
  }

  /// A tensor of `type` without values, as large as `sizes` say.
  mlir::Value empty(mlir::RankedTensorType type,
                    mlir::ArrayRef<mlir::Value> sizes);
  mlir::Value emptyLike(mlir::RankedTensorType type, mlir::Value tensor);
  mlir::Value filled(mlir::Value tensor, mlir::Value scalar);

  /// Loops over `rank` dimensions, of which the last `numReduced` reduce.
  mlir::Value loops(mlir::Value init, mlir::ValueRange inputs,
                    mlir::ArrayRef<mlir::AffineMap> maps,
                    mlir::ArrayRef<mlir::utils::IteratorType> iterators,
                    Body body);

  /// A tensor of `type` whose elements are computed from those of `inputs`, all
  /// of its sizes.
  mlir::Value pointwise(mlir::RankedTensorType type, mlir::ValueRange inputs,
                        Body body);

  /// Combines `input` along `dim`, starting from `init`, of the other
  /// dimensions. `rows` are values for each of those.
  mlir::Value along(mlir::Value input, int64_t dim, mlir::ValueRange rows,
                    mlir::Value init, Body body);

  /// Computes each element from that of `input` and its row's of `rows`.
  mlir::Value withRows(mlir::Value input, int64_t dim, mlir::ValueRange rows,
                       Body body);

  //===--- Shapes ---===//

  mlir::Value lowerTranspose(tile::TransposeOp op);
  mlir::Value lowerExpand(tile::ExpandDimsOp op);
  mlir::Value lowerRepeat(tile::RepeatOp op);
  /// `result`, of the sizes that tile.repeat of `input` gives, as that.
  mlir::Value repeated(mlir::Value input, int64_t times, mlir::Value result);
  mlir::Value lowerBroadcast(tile::BroadcastOp op);
  mlir::Value lowerIota(tile::IotaOp op);
  mlir::Value lowerPaged(tile::PagedOp op);
  mlir::Value lowerElementwise(mlir::Operation *op);

  //===--- Dots ---===//

  /// Σ_k a[.., m, k] b[.., n, k]; a batch of `b` may be shared.
  mlir::Value dot(mlir::RankedTensorType type, mlir::Value left,
                  mlir::Value right, mlir::Value acc, bool transposeB);

  static mlir::Value widened(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                             mlir::Type type);

  mlir::Value lowerDot(tile::DotOp op);

  //===--- Softmax ---===//

  mlir::Value lowerReduce(tile::ReduceOp op);

  /// A tensor of `type`, that of `input` without `dim`.
  mlir::Value rowsOf(mlir::RankedTensorType type, mlir::Value input,
                     int64_t dim);

  /// The state of a softmax over `input` along `dim`.
  struct RowState {
    mlir::Value max;   ///< of what has been seen; −inf: nothing
    mlir::Value shift; ///< max, or 0 where that is −inf: what is subtracted
    mlir::Value sum;
  };

  /// exp(x − shift).
  static mlir::Value exponential(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                                 mlir::Value shift);

  /// Continues `max` and `sum` over `input`.
  RowState scan(mlir::Value input, int64_t dim, mlir::Value max,
                mlir::Value sum);

  /// The state before anything was seen: nothing, or the sink.
  RowState initialState(mlir::Value input, int64_t dim, mlir::Value sink);

  mlir::Value lowerSoftmax(tile::SoftmaxOp op);

  /// `sum`, or 1 where it is 0.
  mlir::Value divisor(mlir::ImplicitLocOpBuilder &b, mlir::Value sum,
                      mlir::Type element);

  mlir::Value lowerLogSumExp(tile::LogSumExpOp op);

  mlir::Value logSumExp(mlir::RankedTensorType type, mlir::Value max,
                        mlir::Value sum);

  /// `input` times the factors of dropout by `rng`.
  mlir::Value dropout(mlir::Value input, mlir::Value rng,
                      mlir::FloatAttr probability);

  //===--- Attention ---===//

  /// The region's value for each element of `scores`, or of its shape.
  mlir::Value applyRegion(mlir::Region &region, mlir::OperandRange captures,
                          mlir::Value scores, bool readsScore);

  /// `tensor`, [b, h, .., ..], in f32 and times the number of `scales`, [b,
  /// hkv], for each batch and KV head or, of [b, hkv, n], for each `scaleKeys`
  /// of the last dimension; as it is if `scales` is null.
  mlir::Value scaledHeads(mlir::Value tensor, mlir::Value scales,
                          std::optional<int64_t> scaleKeys);

  mlir::Value scoresOf(tile::OnlineAttentionOp op);

  mlir::SmallVector<mlir::Value> lowerAttention(tile::OnlineAttentionOp op);

  mlir::SmallVector<mlir::Value> lowerFinalize(tile::OnlineFinalizeOp op);

  mlir::ImplicitLocOpBuilder b;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOLINALG_LOOPBUILDER_H
