//===- BackwardKernels.h - the kernels of gradients -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_BACKWARDKERNELS_H
#define FA_LIB_FUSION_BACKWARDKERNELS_H

#include "fa/Plan/ForwardRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa {

/// Replaces `function`, the gradients of one attention, by the kernels that
/// compute them, which are planned by `rules`; `unusedName` gives a symbol like
/// a name. An error says why that cannot be done.
mlir::LogicalResult buildBackwardKernels(
    mlir::func::FuncOp function, const ForwardRules &rules,
    llvm::function_ref<std::string(mlir::StringRef)> unusedName);

} // namespace fa

#endif // FA_LIB_FUSION_BACKWARDKERNELS_H
