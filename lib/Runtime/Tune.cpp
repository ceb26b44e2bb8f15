//===- Tune.cpp - the search for the fastest candidate --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/Tune.h"

#include <optional>

using namespace llvm;
using namespace fa;

Expected<size_t>
fa::findFastest(size_t count,
                function_ref<Expected<CandidateResult>(size_t)> measure) {
  std::optional<size_t> best;
  double bestMs = 0;
  std::string firstReason;
  for (size_t n = 0; n < count; ++n) {
    auto result = measure(n);
    if (!result)
      return result.takeError();
    if (!result->reason.empty()) {
      if (firstReason.empty())
        firstReason = result->reason;
    } else if (!best || result->ms < bestMs * (1 - kTuningMargin)) {
      best = n;
      bestMs = result->ms;
    }
  }
  if (!best)
    return createStringError("none of " + Twine(count) +
                             " candidates counts; the first: " + firstReason);
  return *best;
}
