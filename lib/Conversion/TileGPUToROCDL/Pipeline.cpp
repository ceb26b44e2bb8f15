//===- Pipeline.cpp - fa-amd: from S0 to the LLVM dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToROCDL.h"
#include "fa/Schedule/Passes.h"
#include "fa/Target/AmdInfo.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

static StringRef archOf(const fa::GpuPipelineOptions &options) {
  return options.arch.empty() ? StringRef("gfx942") : StringRef(options.arch);
}

/// The facts of the architecture; of one that is not known no more than that it
/// is refused.
static fa::AmdInfo findInfo(OpPassManager &pm,
                            const fa::GpuPipelineOptions &options) {
  auto info = fa::getAmdInfo(archOf(options));
  if (!info) {
    fa::refuseArchitecture(pm, toString(info.takeError()));
    return {"", 0, 32, 4, 0, 0, false, false, 1, 1};
  }
  if (options.sharedLimit)
    info->sharedLimit = options.sharedLimit;
  return *info;
}

void fa::buildAmdKernelPipeline(OpPassManager &pm,
                                const GpuPipelineOptions &options) {
  AmdInfo info = findInfo(pm, options);
  TileToKernelOptions tiles;
  tiles.tileBytes = info.sharedLimit;
  tiles.leftInRegisters = true;
  // Loads direct to LDS have two slots.
  tiles.pairedTileBytes = info.sharedLimit / (info.hasDirectLoads ? 4 : 2);
  buildGpuKernelPipeline(pm, options, tiles);
}

void fa::buildAmdSchedulePipeline(OpPassManager &pm,
                                  const GpuPipelineOptions &options) {
  AmdInfo info = findInfo(pm, options);
  ScheduleOptions schedule;
  schedule.mfma = true;
  if (options.warps)
    schedule.warps = options.warps;
  schedule.sharedLimit = info.sharedLimit;
  schedule.direct = info.hasDirectLoads && options.stages != 1;
  // Two workgroups share a processor: one's softmax runs under the other's
  // dots.
  schedule.slotLimit = options.stages > 1 ? info.sharedLimit
                       : options.stages   ? 0
                                          : info.sharedLimit / 2;
  pm.addPass(createTgpuLimitRowSteps());
  buildSchedulePipeline(pm, schedule);
}

void fa::buildAmdLoweringPipeline(OpPassManager &pm,
                                  const GpuPipelineOptions &options) {
  ConvertTileGPUToROCDLOptions how;
  how.arch = archOf(options).str();
  how.dies = options.dies;
  pm.addPass(createConvertTileGPUToROCDL(how));
  buildSimtLoweringPipeline(pm);
}

void fa::registerAmdPipelines() {
  PassPipelineRegistration<GpuPipelineOptions>(
      "fa-amd", "attention (S0) to AMD kernels in the LLVM dialect",
      [](OpPassManager &pm, const GpuPipelineOptions &options) {
        buildAmdKernelPipeline(pm, options);
        buildAmdSchedulePipeline(pm, options);
        buildAmdLoweringPipeline(pm, options);
      });
}
