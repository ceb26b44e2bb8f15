//===- DescribeAttention.h - an attention's facts for a plan ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_DESCRIBEATTENTION_H
#define FA_LIB_FUSION_DESCRIBEATTENTION_H

#include "AttentionFunction.h"
#include "BackwardFunction.h"

#include "fa/Plan/AttentionFacts.h"

namespace fa {

/// What plans of the function's kernels depend on.
AttentionFacts describeAttention(const AttentionFunction &source);
AttentionFacts describeAttention(const BackwardFunction &source);

} // namespace fa

#endif // FA_LIB_FUSION_DESCRIBEATTENTION_H
