//===- ScheduleRules.h - what a machine asks of a schedule ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_SCHEDULERULES_H
#define FA_PLAN_SCHEDULERULES_H

#include "fa/Plan/Constraints.h"
#include "fa/Plan/Machine.h"

namespace fa {

/// What the schedules of all kernels of a program have in common on a GPU.
struct ScheduleRules {
  int64_t warps = 4;
  int64_t stages = 2; ///< tiles of keys under way
  /// Slots of kernels all of whose warps run the same code; 0: as many as their
  /// passes find room for.
  int64_t givenSlots = 0;
  int64_t sharedBytes = 101376;
  /// One warpgroup fetches tiles, others compute.
  bool isSpecialized = false;
  /// Of specialized warps: a block runs several programs, and the next one
  /// begins beside the end of this one.
  bool persistent = true, overlapPrograms = true;
  /// Blocks of all persistent kernels that fetch together.
  int64_t cluster = 1;
  /// Of AMD: bytes that two slots of a loop's buffers may take, which has one
  /// else.
  int64_t slotBytes = 0;
  int64_t mostSlots = 3; ///< of loops of uniform warps that are worth a trial
  /// Bytes of a loop's slots up to which a block of one warp has one more.
  int64_t oneWarpBytes = 0;
  /// Of specialized warps: tiles of fewer keys have three slots, if a key takes
  /// no more than so many bytes of a loop's slots.
  int64_t channelKeys = 0, channelKeyBytes = 0;
  /// Of consumers that begin at different tiles: bytes up to which they have
  /// twice as many slots.
  int64_t apartBytes = 0;
  /// A kernel waits by itself for the end of the one before.
  bool beginsEarly = false;
};

/// The rules of `machine`, a GPU, where so much is asked for.
ScheduleRules scheduleRules(const Machine &machine,
                            const PlanConstraints &constraints);

} // namespace fa

#endif // FA_PLAN_SCHEDULERULES_H
