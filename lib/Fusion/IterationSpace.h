//===- IterationSpace.h - the loops of a linalg.generic ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ITERATIONSPACE_H
#define FA_LIB_FUSION_ITERATIONSPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// `value` with its dimensions in the order of `permutation`.
mlir::Value transposed(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                       llvm::ArrayRef<int64_t> permutation);

/// `value` with a dimension of size 1 at `dim`.
mlir::Value expanded(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                     int64_t dim);

/// Where each result of an indexing map goes: a dimension of the iteration
/// space, or −1 for a constant 0. Fails for anything else.
mlir::FailureOr<llvm::SmallVector<int64_t>> positionsOf(mlir::AffineMap map);

/// The iteration space of a linalg.generic, in which tensors are aligned: a
/// tensor of the whole space has a dimension for each loop.
class IterationSpace {
public:
  IterationSpace(mlir::ImplicitLocOpBuilder &b, mlir::linalg::GenericOp op);

  int64_t rank() const { return shape.size(); }
  mlir::RankedTensorType type(mlir::Type element) const {
    return mlir::RankedTensorType::get(shape, element);
  }

  /// The dynamic sizes, in order.
  llvm::SmallVector<mlir::Value> dynamicSizes();

  /// `value`, a tensor read at `positions` or a scalar, as a tensor of the
  /// whole space; nothing if that needs more than views.
  mlir::FailureOr<mlir::Value> align(mlir::Value value,
                                     llvm::ArrayRef<int64_t> positions);

private:
  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Value> values; ///< of dynamic sizes, once needed
  /// For each loop a tensor and which of its dimensions has the loop's size.
  llvm::DenseMap<int64_t, std::pair<mlir::Value, int64_t>> sources;
};

} // namespace fa

#endif // FA_LIB_FUSION_ITERATIONSPACE_H
