//===- NvidiaCompiler.cpp - a program to NVIDIA's LLVM dialect ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaCompiler.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "fa/Emulator/Passes.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;

void NvidiaCompiler::fill(GpuPipelineOptions &pipeline) const {
  pipeline.arch = info.name.str();
  pipeline.qTile = options.qTile;
  pipeline.kvTile = options.kvTile;
  pipeline.stages = options.stages;
  pipeline.warps = options.warps;
  pipeline.sharedLimit = info.sharedLimit;
  pipeline.assumeNoEmptyRows = options.fusion.assumeNoEmptyRows;
  pipeline.allowNoMax = options.fusion.allowNoMax;
}

llvm::Error NvidiaCompiler::runPipeline(Build build) {
  return runPasses(module, "the passes to LLVM failed", [&](OpPassManager &pm) {
    GpuPipelineOptions pipeline;
    fill(pipeline);
    build(pm, pipeline);
  });
}

llvm::Error NvidiaCompiler::toKernels() {
  return lowerToKernels(module, [&](OpPassManager &pm) {
    GpuPipelineOptions pipeline;
    fill(pipeline);
    buildNvidiaKernelPipeline(pm, pipeline);
  });
}

llvm::Error NvidiaCompiler::toSchedule() {
  if (auto error = runPipeline(buildNvidiaSchedulePipeline))
    return error;
  return mutate(/*atSchedule=*/true);
}

llvm::Error NvidiaCompiler::toDialect() {
  if (auto error = runPipeline(buildNvidiaLoweringPipeline))
    return error;
  return mutate(/*atSchedule=*/false);
}

llvm::Error NvidiaCompiler::mutate(bool atSchedule) {
  if (options.mutate.empty())
    return llvm::Error::success();
  auto stage = isScheduleFault(options.mutate);
  if (!stage)
    return stage.takeError();
  if (*stage != atSchedule)
    return llvm::Error::success();
  return runPasses(module, "the fault was not planted", [&](OpPassManager &pm) {
    TgpuMutateOptions how;
    how.fault = options.mutate;
    pm.addPass(createTgpuMutate(how));
  });
}

/// Takes from the kernels at S7 what a launch must know.
static void readPlan(ModuleOp module, std::vector<KernelInfo> &kernels) {
  // Of alternatives the schedule keeps one.
  llvm::erase_if(kernels, [&](const KernelInfo &info) {
    return !module.lookupSymbol<tile::KernelOp>(info.symbol);
  });
  for (KernelInfo &info : kernels) {
    auto kernel = module.lookupSymbol<tile::KernelOp>(info.symbol);
    auto number = [&](StringRef name) {
      auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
      return attribute ? attribute.getInt() : 0;
    };
    info.threads = countThreads(kernel);
    info.tensorMaps = collectTensorMaps(kernel);
    info.sharedBytes = number(tgpu::TileGPUDialect::sharedBytesAttrName);
    for (auto alloc : kernel.getBody().getOps<tgpu::AllocOp>())
      info.stages = std::max(info.stages, alloc.getType().getSlots());
    kernel.walk([&](tgpu::FetchOp fetch) {
      // Of Q each consumer has one.
      if (isa<scf::ForOp>(fetch->getParentOp()))
        info.stages = fetch.getChannel().getType().getBuffer().getSlots();
    });
  }
}

llvm::Expected<std::vector<KernelInfo>>
NvidiaCompiler::run(llvm::StringRef entry) {
  if (auto error = toKernels())
    return error;
  if (auto error = keepEntry(module, entry))
    return error;
  auto kernels = extractKernels(module);
  if (!kernels)
    return kernels.takeError();
  if (auto error = toSchedule())
    return error;
  readPlan(module, *kernels);
  if (auto error = toDialect())
    return error;
  return kernels;
}
