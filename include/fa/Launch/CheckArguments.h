//===- CheckArguments.h - do arguments fit a kernel? ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CHECKARGUMENTS_H
#define FA_LAUNCH_CHECKARGUMENTS_H

#include "fa/Launch/LaunchArgument.h"

namespace fa {

/// Checks what holds for every variant of a kernel: number and kinds, element
/// types, ranks, sane sizes, strides and pointers.
Failure checkArguments(const KernelInfo &kernel,
                       std::span<const LaunchArgument> arguments);

/// Whether this variant is for arguments of these sizes. One that is, and that
/// `fitsVariant` refuses all the same, is a faster one for other strides, gaps
/// and addresses.
bool fitsSizes(const KernelInfo &kernel,
               std::span<const LaunchArgument> arguments,
               std::string *why = nullptr);

/// Whether these arguments have the sizes, strides and alignments that this
/// variant counts on. A launch asks several variants, so the reason is written
/// to `why` only where it is wanted.
bool fitsVariant(const KernelInfo &kernel,
                 std::span<const LaunchArgument> arguments,
                 std::string *why = nullptr);

} // namespace fa

#endif // FA_LAUNCH_CHECKARGUMENTS_H
