//===- HostLaunch.h - launches on the host CPU ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_HOSTLAUNCH_H
#define FA_LAUNCH_HOSTLAUNCH_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/HostDevice.h"

namespace fa {

/// A kernel's code: see include/fa/Conversion/TileToHost.h.
using HostFunction = void (*)(int64_t, int64_t, int64_t, const int64_t *,
                              void *);

/// What a launch runs on `device`, which makes the workspace itself.
inline Result<LaunchChoice>
chooseOnHost(std::span<const KernelInfo> kernels,
             std::span<const LaunchArgument> arguments,
             const HostDevice &device) {
  return chooseLaunch(kernels, arguments,
                      LaunchMachine::host(device.numThreads()),
                      Workspace::any());
}

/// Runs the kernels of `choice`, whose code is `functions`, one after the
/// other, every program of their grids, and returns when all have returned.
/// `chooseOnHost` made the choice for these arguments and this device.
Failure launchOnHost(const LaunchChoice &choice,
                     std::span<const HostFunction> functions,
                     HostDevice &device,
                     std::span<const LaunchArgument> arguments);

} // namespace fa

#endif // FA_LAUNCH_HOSTLAUNCH_H
