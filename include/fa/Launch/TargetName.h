//===- TargetName.h - how a place to run is spelt ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_TARGETNAME_H
#define FA_LAUNCH_TARGETNAME_H

#include "fa/Launch/Text.h"

namespace fa {

struct TargetName {
  bool isCuda = false;
  int card = 0; ///< of CUDA
};

/// "cpu", "cuda" (its card 0) or "cuda:N".
Result<TargetName> parseTargetName(std::string_view text);

} // namespace fa

#endif // FA_LAUNCH_TARGETNAME_H
