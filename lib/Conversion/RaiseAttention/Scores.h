//===- Scores.h - what a score is made of -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_SCORES_H
#define FA_LIB_CONVERSION_RAISEATTENTION_SCORES_H

#include "ExponentialSums.h"

namespace fa::raise {

/// A score: of x = scale · Σ q · k what `change` says, where all masks pass.
struct Scores {
  double factor = 1; ///< of the scale, times
  /// powers of scalars.
  std::vector<std::pair<unsigned, int>> scalars;
  const Factor *q = nullptr, *k = nullptr;
  unsigned dot = 0; ///< the factor Σ q · k
  std::vector<const Factor *> masks;
  /// The score without masks, if it is not x itself; else empty.
  Sum change;
};

/// Takes `score` apart; false, and `why`, if it has no product of Q and K, or
/// several.
bool readScores(const ExponentialSums &sums, const Sum &score, Scores &scores,
                std::string &why);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_SCORES_H
