//===- BuildMerge.h - a merge of parts as a program at S3 -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FRONTEND_BUILDMERGE_H
#define FA_FRONTEND_BUILDMERGE_H

#include "fa/Numerics/MergeProblem.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa {

/// Writes the kernels (S3) of a merge, variants of entry `name` of a new
/// module. Arguments: of each part its output [b, h, s, d] and log-sum-exp f32
/// [b, h, s], then the output and, if asked for, the log-sum-exp of all. Only
/// the head dim is static.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildMerge(mlir::MLIRContext &context, const MergeProblem &problem,
           llvm::StringRef name = "merge");

} // namespace fa

#endif // FA_FRONTEND_BUILDMERGE_H
