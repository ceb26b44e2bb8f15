//===- DescribeLoops.h - a kernel's facts for its schedule ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_DESCRIBELOOPS_H
#define FA_LIB_SCHEDULE_DESCRIBELOOPS_H

#include "FetchedTiles.h"

#include "fa/Plan/PlanSchedule.h"

namespace fa {

/// What the schedule of `kernel` at S3 depends on, whose warps are to be
/// specialized. Where they cannot be, null, and `reason` says why.
std::optional<LoopFacts> describeLoops(tile::KernelOp kernel,
                                       std::string &reason);

/// What the plan says of `kernel`, whose rows are dealt and which fetches
/// `tiles`, that is not so; empty: all of it is.
std::string whyOtherThanPlanned(tile::KernelOp kernel,
                                const FetchedTiles &tiles,
                                const SchedulePlan &plan);

/// What `ramp` is multiplied with.
tgpu::BufferType rampNumbers(tile::RampOp ramp);

} // namespace fa

#endif // FA_LIB_SCHEDULE_DESCRIBELOOPS_H
