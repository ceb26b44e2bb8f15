//===- CardCosts.h - what launches cost on the card there is ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CARDCOSTS_H
#define FA_LAUNCH_CARDCOSTS_H

#include "fa/Support/LaunchCosts.h"

namespace fa {

/// What a driver says of a card that costs follow from.
struct CardFacts {
  int64_t computeCapability = 0; ///< 90 for 9.0; 0 if not of NVIDIA
  int64_t processors = 0;
  int64_t bandwidth = 0; ///< MB/s, as `LaunchCosts::bandwidth`; 0: not said
};

/// The costs of a card. They are known where they were measured on one like
/// it: of the same compute capability, with as many processors and as much
/// bandwidth within 5 %. Else they are those that a plan was `made` with, in
/// which what stands for a time is counted in as many bytes as a processor of
/// this card gets meanwhile; as they are where the driver does not say how many
/// that is.
LaunchCosts findCosts(const CardFacts &card, const LaunchCosts &made);

} // namespace fa

#endif // FA_LAUNCH_CARDCOSTS_H
