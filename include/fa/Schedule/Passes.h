//===- Passes.h - where tiles are, and when they move -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PASSES_H
#define FA_SCHEDULE_PASSES_H

#include "Tile/Tile.h"
#include "fa/Plan/Request.h"
#include "fa/Plan/ScheduleRules.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fa {

enum class GpuStage { S4, S5, S6, S7 };

#define GEN_PASS_DECL
#include "fa/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Schedule/Passes.h.inc"

/// S3 to S7 on the machine of `request`, a GPU.
void buildSchedulePipeline(mlir::OpPassManager &pm, const PlanRequest &request);

} // namespace fa

#endif // FA_SCHEDULE_PASSES_H
