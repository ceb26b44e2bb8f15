//===- Passes.h - where tiles are, and when they move -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PASSES_H
#define FA_SCHEDULE_PASSES_H

#include "Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fa {

enum class GpuStage { S4, S5, S6, S7 };

#define GEN_PASS_DECL
#include "fa/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Schedule/Passes.h.inc"

/// What a target asks of the schedule.
struct ScheduleOptions {
  int64_t warps = 4;
  int64_t stages = 2;
  int64_t sharedLimit = 101376;
  bool roles = false;     ///< warpgroups that load, others that compute
  bool overlap = true;    ///< of roles: two dots at a time
  bool persistent = true; ///< of roles: a block runs several programs
  /// Of all persistent roles: blocks that fetch together.
  int64_t cluster = 1;
  /// Of persistent roles: the next program begins beside the end of this one.
  bool overlapPrograms = true;
  /// Waves of 64 lanes, dots by mfma, tiles through registers to shared memory.
  bool mfma = false;
  bool direct = false;   ///< of mfma: loads direct to LDS
  int64_t slotLimit = 0; ///< of mfma: bytes for two slots of a loop's buffers
  /// Bytes of a loop's slots up to which a block of one warp has one more.
  int64_t oneWarpBytes = 0;
  /// Of roles: tiles of fewer keys have three slots, if a key takes no more
  /// than so many bytes of a loop's slots.
  int64_t channelKeys = 0, channelKeyBytes = 0;
  /// Of roles whose consumers begin at different tiles: bytes up to which they
  /// have twice as many slots.
  int64_t apartBytes = 0;
};

/// S3 to S7.
void buildSchedulePipeline(mlir::OpPassManager &pm,
                           const ScheduleOptions &options);

} // namespace fa

#endif // FA_SCHEDULE_PASSES_H
