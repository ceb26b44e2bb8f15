//===- RankPlans.h - the plans that are worth a measurement -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search measures: short lists of legal plans, the rules' own first. A
// list never changes what was asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_RANKPLANS_H
#define FA_PLAN_RANKPLANS_H

#include "fa/Plan/PlanSchedule.h"

namespace fa {

/// `asked`, then the same with each tile that is worth a measurement on
/// `machine`. Not all of them fit every problem: what does not compile is none.
std::vector<PlanConstraints> rankTiles(const Machine &machine,
                                       const PlanConstraints &asked);

/// `planSpecialized`, then those that differ from it in one thing and have
/// room; kMostPlans of them at most.
std::vector<SchedulePlan> rankSpecialized(const LoopFacts &facts,
                                          const ScheduleRules &rules,
                                          const PlanConstraints &asked);

/// Likewise `planUniform`.
std::vector<SchedulePlan> rankUniform(int64_t rowTiles,
                                      const ScheduleRules &rules,
                                      const PlanConstraints &asked);

} // namespace fa

#endif // FA_PLAN_RANKPLANS_H
