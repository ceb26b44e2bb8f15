//===- LaunchCosts.h - what launches cost on a card -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the choice between a plan's kernels counts with is data of a card: a
// Machine has it, bundles carry it, and a loader looks for that of the card
// that it runs on (fa/Launch/CardCosts.h). Without LLVM, as all of these share
// it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_LAUNCHCOSTS_H
#define FA_SUPPORT_LAUNCHCOSTS_H

#include <cstdint>

namespace fa {

/// The costs of LaunchCosts.def, which says what each means. By default those
/// that were measured on an H200.
struct LaunchCosts {
#define LAUNCH_COST(MEMBER, H200, LEAST, MOST, SCALE, SINCE, KEY, DOC)         \
  int64_t MEMBER = H200;
#include "fa/Support/LaunchCosts.def"

  bool operator==(const LaunchCosts &) const = default;
};

} // namespace fa

#endif // FA_SUPPORT_LAUNCHCOSTS_H
