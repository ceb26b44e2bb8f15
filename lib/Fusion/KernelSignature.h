//===- KernelSignature.h - what a kernel is launched with -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KERNELSIGNATURE_H
#define FA_LIB_FUSION_KERNELSIGNATURE_H

#include "KernelBuilder.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Whether the variant can be told from the arguments' types: what it promises
/// must be a size or a stride of an argument.
bool hasVariant(const AttentionFunction &source, const KernelShape &shape);

/// The number of the first argument in workspace, behind those of the function
/// and its results: outputs, f32 [splits, b, hq, sq, dv], and log-sum-exps, f32
/// [splits, b, hq, sq], which splits of the keys leave to be merged.
unsigned firstOfWorkspace(const AttentionFunction &source);

/// How many tiles of `shape.columns` the columns of an output are.
int64_t countColumnTiles(const AttentionFunction &source,
                         const KernelShape &shape);

/// Creates kernel `name` without a body: its argument types, its grid, and what
/// it takes for granted of its arguments' sizes. Leaves `b` at the start of its
/// entry block.
tile::KernelOp createKernel(mlir::ImplicitLocOpBuilder &b,
                            const AttentionFunction &source,
                            const KernelShape &shape, mlir::StringRef name,
                            mlir::StringRef entry);

} // namespace fa

#endif // FA_LIB_FUSION_KERNELSIGNATURE_H
