//===- LaunchOptions.h - the C interface's options of a launch --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_LAUNCHOPTIONS_H
#define FA_LAUNCH_LAUNCHOPTIONS_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/SizedStruct.h"
#include "fa/fa.h"

#include <cstddef>

namespace fa {

/// faLaunchOptions, checked.
struct LaunchOptions {
  void *stream = nullptr;
  Workspace workspace;
};

/// The size that the options had in the first version.
inline constexpr size_t kFirstLaunchOptionsSize =
    offsetof(faLaunchOptions, workspaceSize) + sizeof(size_t);

inline Result<LaunchOptions> readLaunchOptions(const faLaunchOptions &given) {
  auto options = readSized("faLaunchOptions", given, kFirstLaunchOptionsSize);
  if (!options)
    return options.takeFailure();
  if (!options->workspace && options->workspaceSize)
    return makeFailure("faLaunchOptions: expected a workspace of ",
                       options->workspaceSize, " bytes, found null");
  return LaunchOptions{options->stream,
                       {options->workspace, options->workspaceSize}};
}

/// `notRaised`: null, or a text that its reader's thread owns.
inline Failure writeLaunchInfo(const LaunchChoice &choice, faLaunchInfo *to,
                               const char *notRaised = nullptr) {
  faLaunchInfo info{};
  info.size = sizeof info;
  info.workspaceSize = choice.workspaceBytes;
  info.splits = choice.splits;
  info.numKernels = static_cast<uint32_t>(choice.kernels.size());
  info.notRaised = notRaised;
  return writeSized("faLaunchInfo", info, to, sizeof(size_t));
}

} // namespace fa

#endif // FA_LAUNCH_LAUNCHOPTIONS_H
