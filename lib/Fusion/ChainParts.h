//===- ChainParts.h - what is taken off a chain of attention ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of AttentionChain::match that have a file of their own.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_CHAINPARTS_H
#define FA_LIB_FUSION_CHAINPARTS_H

#include "AttentionChain.h"

namespace fa {

/// Whether `op` only looks at its first operand, a tensor, in another shape.
bool isView(mlir::Operation *op);

/// The number of elements of so many dimensions, dynamic if one size is.
int64_t productOf(llvm::ArrayRef<int64_t> sizes);

/// The view operation `op` of another operand.
mlir::Value cloneView(mlir::Operation *op, mlir::Value operand);

/// Takes multiplications by something uniform off `value`, the latest first;
/// `factors` gets them as f32 scalars.
mlir::Value peelFactors(mlir::Value value,
                        llvm::SmallVectorImpl<mlir::Value> &factors);

/// `rows`, [b, h, s, d], widened to f32 and multiplied with numbers for each b
/// and h or for some rows of each, without the products: `scales` gets these
/// numbers, the first one first. Else `rows`.
mlir::Value peelScales(mlir::Value rows,
                       llvm::SmallVectorImpl<RowScales> &scales);

/// Takes masks off the end of the score computation; with `takeSentinels`,
/// finite numbers that are meant as −inf as well.
void peelMasks(AttentionChain &chain, bool takeSentinels);

/// Uniform multipliers of the dot's result become part of the scale.
void peelScale(AttentionChain &chain);

} // namespace fa

#endif // FA_LIB_FUSION_CHAINPARTS_H
