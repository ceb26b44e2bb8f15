//===- BuildRaised.h - a function of one attention --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_BUILDRAISED_H
#define FA_LIB_CONVERSION_RAISEATTENTION_BUILDRAISED_H

#include "Places.h"

#include "fa/Conversion/RaiseAttention.h"

namespace fa::raise {

/// Builds the function that `placed` is; nothing, with a refusal, if a mask has
/// no code.
std::optional<RaisedAttention>
buildRaised(const PlacedAttention &placed, LaunchNumbers &numbers,
            ExponentialSums &sums, tile::KernelOp kernel, Refusal &refusal);

/// What was found, and what a launch must be, in lines for a reader.
std::vector<std::string> reportRaised(const PlacedAttention &placed,
                                      const RaisedAttention &raised,
                                      const LaunchNumbers &numbers,
                                      const ExponentialSums &sums);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_BUILDRAISED_H
