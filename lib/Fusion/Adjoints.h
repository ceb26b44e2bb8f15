//===- Adjoints.h - reverse mode over a block of tensors --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ADJOINTS_H
#define FA_LIB_FUSION_ADJOINTS_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// The gradients of a scalar with respect to values of a block, its adjoints,
/// from those of some of them back to those that they are computed from
/// (Adjoints.cpp; of an attention AttentionAdjoints.cpp).
class Adjoints {
public:
  /// Operations are built by `b`, whose insertion point all operations of
  /// `block` are before but for its terminator.
  Adjoints(mlir::ImplicitLocOpBuilder &b, mlir::Block &block)
      : b(b), block(block) {}

  /// Adjoints of `input` are wanted, and of what depends on it.
  void addInput(mlir::Value input) { active.insert(input); }
  /// `value`, or what it is a transpose or reshape of, need not be computed: it
  /// is in `argument`.
  void addKnown(mlir::Value value, mlir::Value argument);
  /// What the scalar's gradient with respect to `value`, a result, is.
  void addCotangent(mlir::Value value, mlir::Value cotangent) {
    cotangents.push_back({value, cotangent});
  }
  /// Goes from the last operation to the first. An operation whose derivative
  /// is not known and wanted is an error at its place.
  mlir::LogicalResult propagate();
  /// The sum so far; 0 if nothing was added.
  mlir::Value of(mlir::Value value);

private:
  /// Adds to the adjoint of `value`, if it is wanted.
  void add(mlir::Value value, mlir::Value adjoint);
  mlir::LogicalResult visit(mlir::Operation *op);
  static mlir::LogicalResult refuse(mlir::Operation *op,
                                    const mlir::Twine &what);
  mlir::LogicalResult visitElementwise(mlir::Operation *op);
  mlir::LogicalResult visitAttention(tile::AttentionOp op);
  /// The captures of `op` whose gradients are wanted.
  mlir::FailureOr<llvm::SmallVector<int64_t>> findLearned(tile::AttentionOp op);
  void visitBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult visitReduce(tile::ReduceOp op);
  mlir::LogicalResult visitDot(tile::DotOp op);
  mlir::LogicalResult visitSoftmax(tile::SoftmaxOp op);
  mlir::LogicalResult visitLogSumExp(tile::LogSumExpOp op);
  /// The output and the log-sum-exp of `op`: known or computed again.
  std::pair<mlir::Value, mlir::Value> resultsOf(tile::AttentionOp op);
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// `rows`, of one dimension less, along dimension `dim` of what `like` is.
  mlir::Value spread(mlir::Value rows, int64_t dim, mlir::Value like);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Block &block;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> known, sums;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> cotangents;
};

} // namespace fa

#endif // FA_LIB_FUSION_ADJOINTS_H
