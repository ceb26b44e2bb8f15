//===- Pipeline.cpp - fa-nvidia: from S0 to the LLVM dialect --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Machine/NvidiaInfo.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

static std::optional<fa::PlanRequest>
findRequest(OpPassManager &pm, const fa::GpuPipelineOptions &options) {
  return fa::requestOf(pm, options,
                       fa::findNvidiaMachine(options.arch.empty()
                                                 ? StringRef("sm_80")
                                                 : StringRef(options.arch)));
}

void fa::buildNvidiaKernelPipeline(OpPassManager &pm,
                                   const GpuPipelineOptions &options) {
  if (auto request = findRequest(pm, options))
    buildGpuKernelPipeline(pm, options, *request);
}

void fa::buildNvidiaSchedulePipeline(OpPassManager &pm,
                                     const GpuPipelineOptions &options) {
  if (auto request = findRequest(pm, options))
    buildSchedulePipeline(pm, *request);
}

void fa::buildNvidiaLoweringPipeline(OpPassManager &pm,
                                     const GpuPipelineOptions &options) {
  ConvertTileGPUToNVVMOptions convert;
  // Without an architecture, as findRequest has it.
  auto info = getNvidiaInfo(options.arch.empty() ? StringRef("sm_80")
                                                 : StringRef(options.arch));
  if (info)
    convert.narrowConversions = info->hasNarrowConversions();
  else
    consumeError(info.takeError());
  pm.addPass(createConvertTileGPUToNVVM(convert));
  buildSimtLoweringPipeline(pm);
}

void fa::registerNvidiaPipelines() {
  PassPipelineRegistration<GpuPipelineOptions>(
      "fa-nvidia", "attention (S0) to NVIDIA kernels in the LLVM dialect",
      [](OpPassManager &pm, const GpuPipelineOptions &options) {
        buildNvidiaKernelPipeline(pm, options);
        buildNvidiaSchedulePipeline(pm, options);
        buildNvidiaLoweringPipeline(pm, options);
        pm.addPass(createSimtVerifyStage({ThreadStage::S8}));
        pm.addPass(createConvertTileGPUSimtToNVVM());
        pm.addPass(createSimtVerifyStage({ThreadStage::S9}));
      });
}
