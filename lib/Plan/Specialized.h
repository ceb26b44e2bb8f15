//===- Specialized.h - kernels whose warps are specialized ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_PLAN_SPECIALIZED_H
#define FA_LIB_PLAN_SPECIALIZED_H

#include "TileFit.h"

#include "fa/Plan/Forward.h"

namespace fa {

/// The kernels in which one warpgroup fetches tiles and others compute, in the
/// order in which a launch looks for one; `general` is the kernel that they are
/// alternatives of. What pays was measured
/// (bench/results/schedule-notes.md, "Warp specialization").
std::vector<PlannedKernel> planSpecialized(const AttentionFacts &facts,
                                           const ForwardRules &rules,
                                           const TileFit &fit,
                                           const KernelShape &general);

/// Whether values have more columns than a warpgroup's dot, so that two
/// consumers share rows: then there are no other kernels for few queries.
bool hasWideValues(const AttentionFacts &facts, const ForwardRules &rules);

/// Whether there is one for launches of few programs: not where scores are
/// changed by a tensor that it would have to fetch.
bool hasFewPrograms(const AttentionFacts &facts, const ForwardRules &rules);

/// Of a tile of `rows`, those that a box brings where a partition fetches; 0:
/// none does.
int64_t countBoxRows(const AttentionFacts &facts, const ForwardRules &rules,
                     int64_t rows);

} // namespace fa

#endif // FA_LIB_PLAN_SPECIALIZED_H
