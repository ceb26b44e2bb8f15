//===- KeyIntervals.h - intervals of keys put together ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KEYINTERVALS_H
#define FA_LIB_FUSION_KEYINTERVALS_H

#include "fa/Fusion/MaskAnalysis.h"

namespace fa {

/// A condition as a disjunction; none: it never holds.
using KeyIntervals = llvm::SmallVector<KeyInterval, 2>;

/// The interval whose bounds are the whole condition.
KeyInterval within(llvm::ArrayRef<KeyBound> bounds);

/// The conjunction or the disjunction of two conditions: more intervals than
/// MaskRule::maxIntervals become one, with the bounds that all of them have.
KeyIntervals combine(KeyIntervals x, const KeyIntervals &y, bool conjunction);

} // namespace fa

#endif // FA_LIB_FUSION_KEYINTERVALS_H
