//===- RowView.h - a value that is repeated along a tensor ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ROWVIEW_H
#define FA_LIB_FUSION_ROWVIEW_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa {

/// A value that is repeated along dimensions of a tensor: `dims` says for each
/// of its dimensions which of the tensor's it is; −1: none, it is of size 1.
struct RowView {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;

  /// `value` as a view of itself.
  static RowView of(mlir::Value value);

  /// Looks through what repeats or adds and drops dimensions of size 1.
  void strip();

  /// Whether the value has one element for each line of the tensor, of `rank`
  /// dimensions, along `dim`, in the tensor's order.
  bool isAlong(int64_t dim, int64_t rank) const;

private:
  bool stripOne(mlir::Operation *op);
  /// Each group of dimensions was one before, of which one is not of size 1.
  bool regroup(llvm::ArrayRef<mlir::ReassociationIndices> groups,
               mlir::RankedTensorType wide, int64_t rank);
  /// Each dimension was a group before, of which one is not of size 1.
  bool spread(llvm::ArrayRef<mlir::ReassociationIndices> groups,
              mlir::RankedTensorType wide);
};

} // namespace fa

#endif // FA_LIB_FUSION_ROWVIEW_H
