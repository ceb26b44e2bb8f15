//===- TargetName.h - how a place to run is spelt ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_TARGETNAME_H
#define FA_LAUNCH_TARGETNAME_H

#include "fa/Launch/GpuDriver.h"

namespace fa {

struct TargetName {
  std::optional<DriverKind> driver; ///< of a card; none: the CPU
  int card = 0;
};

/// "cpu", "cuda" or "hip" (card 0), "cuda:N" or "hip:N".
Result<TargetName> parseTargetName(std::string_view text);

} // namespace fa

#endif // FA_LAUNCH_TARGETNAME_H
