//===- ContextOptions.h - what a context is created with --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CONTEXTOPTIONS_H
#define FA_LAUNCH_CONTEXTOPTIONS_H

#include "fa/Launch/HostDevice.h"
#include "fa/Launch/Text.h"
#include "fa/fa.h"

namespace fa {

/// The size that faContextOptions had before `target` was added.
inline constexpr size_t kFirstContextOptionsSize =
    offsetof(faContextOptions, target);

/// The options as they are given, with what an older caller does not know left
/// 0; null is all 0.
Result<faContextOptions> readContextOptions(const faContextOptions *options);

/// The host's threads as the options ask for them.
std::shared_ptr<HostDevice> createHostDevice(const faContextOptions &options);

} // namespace fa

#endif // FA_LAUNCH_CONTEXTOPTIONS_H
