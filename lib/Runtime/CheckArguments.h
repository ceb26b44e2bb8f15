//===- CheckArguments.h - do arguments fit a kernel? ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_CHECKARGUMENTS_H
#define FA_LIB_RUNTIME_CHECKARGUMENTS_H

#include "fa/Runtime/HostPlan.h"

namespace fa {

/// Checks what holds for every variant of a kernel: number and kinds, element
/// types, ranks, sane sizes, strides and pointers.
llvm::Error checkArguments(const KernelInfo &kernel,
                           llvm::ArrayRef<LaunchArgument> arguments);

/// Checks the sizes and strides that this variant knows.
llvm::Error checkVariant(const KernelInfo &kernel,
                         llvm::ArrayRef<LaunchArgument> arguments);

} // namespace fa

#endif // FA_LIB_RUNTIME_CHECKARGUMENTS_H
