//===- NamedTensor.h - tensors by the names of dimensions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_NAMEDTENSOR_H
#define FA_LIB_FUSION_NAMEDTENSOR_H

#include "GradientAlgebra.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// A tensor whose dimensions are those of scores, or features.
struct NamedTensor {
  mlir::Value value;
  DimNames dims;

  bool operator==(const NamedTensor &) const = default;
};

/// The tensor that `named` is a view of.
NamedTensor findBase(NamedTensor named);

/// `from` with the dimensions of `dims`, a tensor of `type`: transposed, with
/// dimensions of size 1 where `dims` names none.
mlir::Value rearrange(mlir::ImplicitLocOpBuilder &b, NamedTensor from,
                      llvm::ArrayRef<int> dims, mlir::RankedTensorType type);

} // namespace fa

#endif // FA_LIB_FUSION_NAMEDTENSOR_H
