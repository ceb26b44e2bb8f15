//===- BuildAppend.h - writes to a cache as a program at S3 -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FRONTEND_BUILDAPPEND_H
#define FA_FRONTEND_BUILDAPPEND_H

#include "fa/Numerics/AppendProblem.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa {

/// Writes the kernels (S3) that append tokens to a cache, variants of entry
/// `name` of a new module. Arguments: k [t, hkv, d], v [t, hkv, dv], slots i64
/// [t], the pages of both [n, hkv, page, ..]; with RoPE the positions [t] and
/// the tables [positions, rotary / 2] of cosines and sines; with queries these,
/// [t, hq, d]. Only the head dims are static.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildAppend(mlir::MLIRContext &context, const AppendProblem &problem,
            llvm::StringRef name = "append");

} // namespace fa

#endif // FA_FRONTEND_BUILDAPPEND_H
