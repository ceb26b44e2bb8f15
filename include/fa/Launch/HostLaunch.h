//===- HostLaunch.h - launches on the host CPU ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_HOSTLAUNCH_H
#define FA_LAUNCH_HOSTLAUNCH_H

#include "fa/Launch/HostDevice.h"
#include "fa/Launch/Launch.h"

namespace fa {

/// A kernel's code: see include/fa/Conversion/TileToHost.h.
using HostFunction = void (*)(int64_t, int64_t, int64_t, const int64_t *,
                              void *);

/// Runs every program of the grid and returns when all have returned. The
/// kernel takes the arguments: `selectKernel` gave it.
Failure launchOnHost(const KernelInfo &kernel, HostFunction function,
                     HostDevice &device,
                     std::span<const LaunchArgument> arguments);

} // namespace fa

#endif // FA_LAUNCH_HOSTLAUNCH_H
