//===- ElementReads.h - reads that cannot leave their tensor ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch checks sizes, not values. A tensor.extract stays inside its tensor
// whatever is launched if every index is one that a size rule bounds.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ELEMENTREADS_H
#define FA_LIB_FUSION_ELEMENTREADS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa {

/// Which coordinate of an attention's score or mask region `value` is: 0 to 3
/// for batch, head, query and key; -1 if it is none.
int64_t getCoordinate(mlir::Value value);

/// Whether index `dim` of `extract` is a number below its dimension's static
/// size.
bool hasFixedIndex(mlir::tensor::ExtractOp extract, unsigned dim);

/// Whether `extract` reads the same element in every launch, and inside its
/// tensor.
bool readsFixedElement(mlir::tensor::ExtractOp extract);

/// Whether every index of `extract`, in an attention's region, is fixed or a
/// coordinate: the size there is checked against the coordinate's.
bool readsInBounds(mlir::tensor::ExtractOp extract);

/// Whether `value`, in an attention's region, is the number behind the batch's.
bool isNextBatch(mlir::Value value);

/// The same as readsInBounds, or at the number behind the batch's, as offsets
/// of packed sequences are read: there is one more of them than of batches.
bool readsOffsetsInBounds(mlir::tensor::ExtractOp extract);

/// A number that `index` is below, if the sizes of coordinates, by number, say
/// one: of a coordinate, and of a part of one, as where several dimensions are
/// its heads.
std::optional<int64_t> findBound(mlir::Value index,
                                 llvm::function_ref<int64_t(int64_t)> sizeOf);

} // namespace fa

#endif // FA_LIB_FUSION_ELEMENTREADS_H
