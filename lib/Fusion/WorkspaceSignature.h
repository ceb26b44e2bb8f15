//===- WorkspaceSignature.h - what kernels hand over ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_WORKSPACESIGNATURE_H
#define FA_LIB_FUSION_WORKSPACESIGNATURE_H

#include "KernelBuilder.h"
#include "SizeNames.h"

namespace fa {

/// The number of the first argument in workspace, behind those of the function
/// and its results, which splits of the keys leave to be merged: outputs, f32
/// [splits, b, hq, sq, dv]; maxima and the logarithms of sums of exponentials,
/// f32 [splits, b, hq, sq] each.
unsigned firstOfWorkspace(const AttentionFunction &source);

/// Their types: row-major, with splits, batches, heads and queries of any
/// number.
mlir::SmallVector<mlir::Type> workspaceTypes(const AttentionFunction &source);

/// How many tiles of `shape.columns` the columns of an output are.
int64_t countColumnTiles(const AttentionFunction &source,
                         const KernelShape &shape);

/// Names all sizes that workspace has, and the number of keys, which is given.
mlir::AffineExpr nameWorkspaceSizes(const AttentionFunction &source,
                                    SizeNames &names);

/// Sets what a launch must know of a counter of programs, its only workspace.
void setCounterAttributes(tile::KernelOp kernel,
                          const AttentionFunction &source, SizeNames &names);

/// Sets what a launch of few keys compares the kernel by: its shape's price and
/// how many keys there are.
void setPriceAttributes(tile::KernelOp kernel, const AttentionFunction &source,
                        const KernelShape &shape, SizeNames &names);

/// Sets what a launch must know to take workspace and to choose splits.
void setSplitAttributes(tile::KernelOp kernel, const AttentionFunction &source,
                        const KernelShape &shape, SizeNames &names);

} // namespace fa

#endif // FA_LIB_FUSION_WORKSPACESIGNATURE_H
