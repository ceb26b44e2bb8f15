//===- Tune.h - the search for the fastest candidate ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TUNE_H
#define FA_RUNTIME_TUNE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// What became of a candidate.
struct CandidateResult {
  double ms = 0;      ///< median; 0 if it does not count
  std::string reason; ///< why it does not count; "" if it does
};

/// What is faster by less than this part may be so by chance: the earlier
/// candidate stays.
constexpr double kTuningMargin = 0.01;

/// The fastest of `count` candidates, `measure(n)` in turn giving what became
/// of each; one whose code is the same as an earlier one's need not count. An
/// error: none counts, with the first reason; or what `measure` gave, which
/// ends the search.
llvm::Expected<size_t> findFastest(
    size_t count,
    llvm::function_ref<llvm::Expected<CandidateResult>(size_t)> measure);

} // namespace fa

#endif // FA_RUNTIME_TUNE_H
