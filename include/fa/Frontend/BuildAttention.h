//===- BuildAttention.h - a problem as a program at S0 ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FRONTEND_BUILDATTENTION_H
#define FA_FRONTEND_BUILDATTENTION_H

#include "fa/Numerics/AttentionProblem.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa {

/// Writes attention out on whole tensors (S0) as function `name` of a new
/// module. Arguments: q, k, v [b, h, s, d], then as the problem asks bias,
/// slopes, lengths, the first key and the first after the last that a query
/// sees of its document (i32 [b, sq] both), the sink, the seed and the offset
/// of dropout (i64 [2]), and the scale as f32; results: the output and, if
/// asked for, the log-sum-exp. Only the head dims are static. The layout of
/// memory is not part of the program. Where the problem asks for gradients the
/// function is the same, with the log-sum-exp, and says by tile.vjp_wrt and
/// tile.vjp_of that it stands for its gradients. What the compiler does not
/// support is an error that names it.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildAttention(mlir::MLIRContext &context, const AttentionProblem &problem,
               llvm::StringRef name = "attention");

} // namespace fa

#endif // FA_FRONTEND_BUILDATTENTION_H
