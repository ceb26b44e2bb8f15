//===- GpuCompiler.cpp - a program to a GPU's LLVM dialect ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"

#include "ExtractKernelInfo.h"

#include "Tile/Tile.h"
#include "TileGPU/TileGPU.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Conversion/TileGPUToROCDL.h"
#include "fa/Emulator/Passes.h"
#include "fa/Plan/Machine.h"
#include "fa/Schedule/KernelThreads.h"
#include "fa/Schedule/Passes.h"
#include "fa/Schedule/PlanText.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fa;

static constexpr llvm::StringLiteral kLoweringFailed =
    "the passes to LLVM failed";

llvm::Expected<GpuTarget> fa::getGpuTarget(StringRef arch) {
  auto machine = findGpuMachine(arch);
  if (!machine)
    return machine.takeError();
  if (isAmdArch(arch))
    return GpuTarget{std::move(*machine), buildAmdKernelPipeline,
                     buildAmdSchedulePipeline, buildAmdLoweringPipeline};
  return GpuTarget{std::move(*machine), buildNvidiaKernelPipeline,
                   buildNvidiaSchedulePipeline, buildNvidiaLoweringPipeline};
}

void GpuCompiler::fill(GpuPipelineOptions &pipeline) const {
  pipeline.arch = target.machine.name;
  pipeline.constraints = printConstraints(options.asked);
  pipeline.dies = options.dies;
  pipeline.sharedLimit = target.machine.sharedBytes;
  pipeline.assumeNoEmptyRows = options.fusion.assumeNoEmptyRows;
  pipeline.allowNoMax = options.fusion.allowNoMax;
}

void GpuCompiler::add(OpPassManager &pm, GpuTarget::Build build) const {
  GpuPipelineOptions pipeline;
  fill(pipeline);
  build(pm, pipeline);
}

llvm::Error GpuCompiler::toKernels() {
  return lowerToKernels(module,
                        [&](OpPassManager &pm) { add(pm, target.kernels); });
}

llvm::Error GpuCompiler::toSchedule() {
  // A program has a dozen kernels, and a verification of all of them takes as
  // long as most of thirty passes: those that are kept are verified.
  if (auto error = givePlans(module, options.plans))
    return error;
  DiagnosticText text(module.getContext(), /*remarks=*/false);
  if (failed(tryUnverified(
          module, [&](OpPassManager &pm) { add(pm, target.schedule); })))
    return text.take(kLoweringFailed);
  return mutate(module, /*atSchedule=*/true);
}

llvm::Error GpuCompiler::toDialect() {
  // As for the host: twenty passes over thousands of operations each.
  if (auto error = runPasses(
          module, kLoweringFailed,
          [&](OpPassManager &pm) { add(pm, target.lowering); },
          /*verifyEach=*/false))
    return error;
  return mutate(module, /*atSchedule=*/false);
}

llvm::Expected<std::vector<OwningOpRef<ModuleOp>>>
GpuCompiler::toDialectEach() {
  // A fault is planted once.
  auto parts = splitKernels(module, /*apart=*/options.mutate.empty());
  DiagnosticText text(module.getContext(), /*remarks=*/false);
  auto build = [&](OpPassManager &pm) { add(pm, target.lowering); };
  loadDialects(module.getContext(), build);
  // They are verified behind the last pass, which is yet to come.
  auto lower = [&](size_t number) {
    return tryUnverified(*parts[number], build);
  };
  if (failed(runSideBySide(module.getContext(), parts.size(), lower)))
    return text.take(kLoweringFailed);
  if (auto error = mutate(*parts.front(), /*atSchedule=*/false))
    return error;
  return parts;
}

llvm::Error GpuCompiler::mutate(ModuleOp where, bool atSchedule) const {
  if (options.mutate.empty())
    return llvm::Error::success();
  auto stage = isScheduleFault(options.mutate);
  if (!stage)
    return stage.takeError();
  if (*stage != atSchedule)
    return llvm::Error::success();
  return runPasses(where, "the fault was not planted", [&](OpPassManager &pm) {
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
    readGpuFacts(kernel, info);
    info.threads = countThreads(kernel);
    info.tensorMaps = collectTensorMaps(kernel);
    for (auto alloc : kernel.getBody().getOps<tgpu::AllocOp>())
      info.stages = std::max(info.stages, alloc.getType().getSlots());
    info.beginsEarly = !kernel.getBody().getOps<tgpu::AwaitKernelOp>().empty();
    kernel.walk([&](tgpu::FetchOp fetch) {
      // Others are each consumer's own: Q, what scores are changed by.
      auto channel = fetch.getChannel().getDefiningOp<tgpu::ChannelOp>();
      if (!channel.getOwn())
        info.stages = channel.getType().getBuffer().getSlots();
    });
  }
}

llvm::Expected<std::vector<KernelInfo>>
GpuCompiler::plan(llvm::StringRef entry) {
  if (auto error = beginPhase(options, "fusion"))
    return error;
  if (auto error = toKernels())
    return error;
  if (auto error = keepEntry(module, entry))
    return error;
  auto kernels = extractKernels(module);
  if (!kernels)
    return kernels.takeError();
  if (auto error = beginPhase(options, "lowering"))
    return error;
  if (auto error = toSchedule())
    return error;
  readPlan(module, *kernels);
  return kernels;
}

llvm::Error GpuCompiler::keepWanted(std::vector<KernelInfo> &kernels) {
  // Not sooner: the schedule decides between alternatives, and what it limits
  // counts on the kernel behind.
  if (auto error = keepKernels(module, options.kernels, kernels))
    return error;
  DiagnosticText text(module.getContext(), /*remarks=*/false);
  if (failed(verify(module)))
    return text.take(kLoweringFailed);
  return llvm::Error::success();
}

llvm::Expected<Artifact> GpuCompiler::keep(std::vector<KernelInfo> kernels,
                                           llvm::StringRef driver) {
  if (auto error = keepWanted(kernels))
    return error;
  Artifact artifact;
  artifact.target = driver.str();
  artifact.arch = target.machine.name;
  artifact.costs = target.machine.costs;
  artifact.kernels = std::move(kernels);
  return artifact;
}

llvm::Expected<std::vector<KernelInfo>>
fa::planForGpu(ModuleOp module, StringRef entry,
               const CompileOptions &options) {
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  return GpuCompiler(module, options, *target).plan(entry);
}

llvm::Error fa::toKernelsForGpu(ModuleOp module,
                                const CompileOptions &options) {
  auto target = getGpuTarget(options.arch);
  if (!target)
    return target.takeError();
  return GpuCompiler(module, options, *target).toKernels();
}

llvm::Expected<std::string>
GpuCompiler::emit(std::vector<KernelInfo> kernels, Emit form,
                  llvm::function_ref<llvm::Expected<std::string>()> toLLVM) {
  if (auto error = keepWanted(kernels))
    return error;
  if (form == Emit::Plan)
    return printPlans(module);
  if (form == Emit::TileGPU)
    return print(module);
  if (auto error = toDialect())
    return error;
  return toLLVM();
}
