//===- LeadingDims.h - leading dimensions as batches and heads --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_LEADINGDIMS_H
#define FA_LIB_FUSION_LEADINGDIMS_H

#include "AttentionChain.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// `value`, [leading.., s, d] in the order of q, as [b, h, s, d].
mlir::Value toCanonical(mlir::ImplicitLocOpBuilder &b,
                        const AttentionChain &chain, mlir::Value value);

/// `value`, [b, h, ..], as `type`, [leading.., ..] in the order of the scores.
mlir::Value fromCanonical(mlir::ImplicitLocOpBuilder &b,
                          const AttentionChain &chain, mlir::Value value,
                          mlir::RankedTensorType type);

/// Makes `collapse` a transpose if each of the dimensions that it joins are
/// those, moved, that another one was expanded to.
void dropExpansion(mlir::tensor::CollapseShapeOp collapse);

} // namespace fa

#endif // FA_LIB_FUSION_LEADINGDIMS_H
