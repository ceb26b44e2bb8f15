//===- Workspace.h - what kernels of a launch hand over ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LAUNCH_WORKSPACE_H
#define FA_LIB_LAUNCH_WORKSPACE_H

#include "fa/Launch/ChooseLaunch.h"

#include <optional>
#include <span>

namespace fa {

/// The value of `expr` for the sizes of `arguments`; nothing if it overflows.
std::optional<int64_t> evaluate(const SizeExpr &expr,
                                std::span<const LaunchArgument> arguments);

/// Bytes of workspace that `kernel` and those that follow it take in so many
/// splits; nothing if a size is negative or 63 bits cannot count them.
std::optional<size_t> countBytes(const KernelInfo &kernel, int64_t splits,
                                 std::span<const LaunchArgument> given);

} // namespace fa

#endif // FA_LIB_LAUNCH_WORKSPACE_H
