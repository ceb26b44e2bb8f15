//===- ViewHoister.h - views that move up to a dot --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_VIEWHOISTER_H
#define FA_LIB_FUSION_VIEWHOISTER_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// Whether `op` stands between a dot and the next: elementwise, a reduction, or
/// a view.
bool isBetweenDots(mlir::Operation *op);

/// Moves views of what is computed from dots up, to the dots' operands.
/// Elementwise operations and reductions on the way are made anew, on what is
/// seen through the view.
class ViewHoister {
public:
  /// Whether `op` is a view that can be moved: a transpose, or an expansion, of
  /// what is computed from a dot.
  static bool canHoist(mlir::Operation *op);

  /// Replaces `view`, which can be moved, in all that reads it.
  void hoist(mlir::Operation *view);

private:
  /// How a tensor is seen: with its dimensions in another order, or, where
  /// there is no permutation, expanded.
  struct View {
    llvm::SmallVector<int64_t> permutation;
    llvm::SmallVector<mlir::ReassociationIndices> groups;
    llvm::SmallVector<int64_t> sizes;

    bool operator==(const View &) const = default;
    mlir::RankedTensorType typeOf(mlir::RankedTensorType type) const;
  };

  static View viewOf(mlir::Operation *op);

  /// `value` seen through `view`, which is moved as far up as it goes.
  mlir::Value apply(const View &view, mlir::Value value);
  /// The same of what `op` gives, without the view; null if it stays behind.
  mlir::Value applyTo(const View &view, mlir::Operation *op);
  mlir::Value applyToElementwise(const View &view, mlir::Operation *op);
  mlir::Value transposeRows(llvm::ArrayRef<int64_t> permutation,
                            mlir::Operation *op);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<View, mlir::Value>>>
      known;
};

} // namespace fa

#endif // FA_LIB_FUSION_VIEWHOISTER_H
