//===- Pipeline.cpp - fa-amd: from S0 to the LLVM dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToROCDL.h"
#include "fa/Machine/AmdInfo.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

static StringRef archOf(const fa::GpuPipelineOptions &options) {
  return options.arch.empty() ? StringRef("gfx942") : StringRef(options.arch);
}

static std::optional<fa::PlanRequest>
findRequest(OpPassManager &pm, const fa::GpuPipelineOptions &options) {
  return fa::requestOf(pm, options, fa::findAmdMachine(archOf(options)));
}

void fa::buildAmdKernelPipeline(OpPassManager &pm,
                                const GpuPipelineOptions &options) {
  if (auto request = findRequest(pm, options))
    buildGpuKernelPipeline(pm, options, *request);
}

void fa::buildAmdSchedulePipeline(OpPassManager &pm,
                                  const GpuPipelineOptions &options) {
  auto request = findRequest(pm, options);
  if (!request)
    return;
  pm.addPass(createTgpuLimitRowSteps());
  buildSchedulePipeline(pm, *request);
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
        pm.addPass(createDropSimtAsserts());
        pm.addPass(createSimtVerifyStage({ThreadStage::S9}));
      });
}
