//===- CallerKernels.h - a function that calls its parts --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_CALLERKERNELS_H
#define FA_LIB_FUSION_CALLERKERNELS_H

#include "fa/Plan/ForwardRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa {

/// Whether `function` calls others: those that tile-split-function made of it.
bool callsParts(mlir::func::FuncOp function);

/// Whether `function` has no attention and no gradients of one: what is around
/// them in a function that calls it.
bool isOfTensors(mlir::func::FuncOp function);

/// Replaces `function` and the functions that it calls, each one time, by the
/// kernels of one launch, in the order of its calls: those of an attention and
/// of gradients as for a function of their own, those of what is around them
/// (TensorPart.h), and unfused what these cannot be.
/// Where these ask for strides or alignment of what a launch is given, a second
/// launch of more general kernels stands behind. `unusedName` gives a symbol
/// like a name. An error says why that cannot be done.
mlir::LogicalResult
buildCallerKernels(mlir::func::FuncOp function, const ForwardRules &rules,
                   llvm::function_ref<std::string(mlir::StringRef)> unusedName);

} // namespace fa

#endif // FA_LIB_FUSION_CALLERKERNELS_H
