//===- KernelBuilder.h - one attention kernel at S3 -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KERNELBUILDER_H
#define FA_LIB_FUSION_KERNELBUILDER_H

#include "AttentionFunction.h"

#include "fa/Plan/KernelShape.h"

namespace fa {

/// Whether the scale of `attention` can be promised to be above 0 and applied
/// by the softmax of scores that are not modified: it is an argument or such a
/// constant.
bool hasFoldableScale(tile::OnlineAttentionOp attention);

/// Whether the softmax could apply the magnitude of the scale and of what keys
/// are multiplied with, which may be 0 or less.
bool hasFoldableMagnitude(tile::OnlineAttentionOp attention);

/// Whether scores are a tanh of themselves, but for factors, the last of which
/// is a constant: a softcap alone, of those that have a short form.
bool hasShortCap(tile::OnlineAttentionOp attention);

/// Whether a kernel can compute the scalar `value` of its function: from
/// scalar arguments, sizes of arguments and fixed elements of them.
bool isKernelScalar(mlir::Value value);

/// Builds kernel `name` of `entry` at `b`, which attends to all keys or to a
/// split of them. Every scalar that it needs must be a kernel scalar.
tile::KernelOp buildKernel(mlir::OpBuilder &b, AttentionFunction source,
                           const KernelShape &shape, mlir::StringRef name,
                           mlir::StringRef entry);

/// Builds the kernel that merges what `first`, a kernel on splits of the keys
/// with the shape `of`, leaves in workspace, always in the same order. Its
/// tiles are small: a program has little to do but to wait for memory.
tile::KernelOp buildMergeKernel(mlir::OpBuilder &b, AttentionFunction source,
                                const KernelShape &of, mlir::StringRef name,
                                tile::KernelOp first);

} // namespace fa

#endif // FA_LIB_FUSION_KERNELBUILDER_H
