//===- Pipeline.cpp - fa-nvidia: from S0 to the LLVM dialect --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Fusion/Passes.h"
#include "fa/Schedule/Passes.h"
#include "fa/Target/NvidiaInfo.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

/// What a pipeline for an architecture that is not known consists of.
struct RefuseArchitecture final
    : PassWrapper<RefuseArchitecture, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseArchitecture)
  explicit RefuseArchitecture(std::string reason) : reason(std::move(reason)) {}

  void runOnOperation() override {
    getOperation().emitError(reason);
    signalPassFailure();
  }

  std::string reason;
};

} // namespace

/// The facts of the architecture; of one that is not known no more than that it
/// is refused.
static fa::NvidiaInfo findInfo(OpPassManager &pm,
                               const fa::NvidiaPipelineOptions &options) {
  auto info = fa::getNvidiaInfo(options.arch);
  if (!info) {
    pm.addPass(
        std::make_unique<RefuseArchitecture>(toString(info.takeError())));
    return {"", 0, 0, "", false};
  }
  if (options.sharedLimit)
    info->sharedLimit = options.sharedLimit;
  if (options.schedule == "plain")
    info->hasWarpgroups = false;
  return *info;
}

void fa::buildNvidiaKernelPipeline(OpPassManager &pm,
                                   const NvidiaPipelineOptions &options) {
  FusionOptions fusion;
  fusion.assumeNoEmptyRows = options.assumeNoEmptyRows;
  fusion.allowNoMax = options.allowNoMax;
  buildFusionPipeline(pm, fusion);
  pm.addPass(createTileOnlineSoftmax());
  addStageEnd(pm, Stage::S2);
  NvidiaInfo info = findInfo(pm, options);
  TileToKernelOptions tiles;
  tiles.qTile = options.qTile ? options.qTile : 64;
  tiles.qTile16bit = options.qTile ? options.qTile : 128;
  tiles.kvTile = options.kvTile ? options.kvTile : 64;
  tiles.dimMultiple = 16;
  tiles.alignment = 16;
  tiles.foldScale = true;
  // A tile that was asked for is not made smaller.
  tiles.stridedQTile = tiles.wideQTile = options.qTile ? options.qTile : 64;
  if (info.hasWarpgroups) {
    // Two or three warpgroups of 64 rows.
    tiles.rolesQTile = options.qTile ? options.qTile : 128;
    tiles.narrowRolesQTile = options.qTile ? options.qTile : 192;
    tiles.rolesKvTile = options.kvTile ? options.kvTile : 128;
  }
  tiles.tileBytes = options.qTile || options.kvTile ? 0 : info.sharedLimit;
  pm.addPass(createTileToKernel(tiles));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  addStageEnd(pm, Stage::S3);
}

void fa::buildNvidiaSchedulePipeline(OpPassManager &pm,
                                     const NvidiaPipelineOptions &options) {
  ScheduleOptions schedule;
  if (options.warps)
    schedule.warps = options.warps;
  if (options.stages)
    schedule.stages = options.stages;
  NvidiaInfo info = findInfo(pm, options);
  schedule.sharedLimit = info.sharedLimit;
  schedule.roles = info.hasWarpgroups;
  schedule.persistent = options.schedule != "roles";
  buildSchedulePipeline(pm, schedule);
}

void fa::buildNvidiaLoweringPipeline(OpPassManager &pm,
                                     const NvidiaPipelineOptions &options) {
  pm.addPass(createConvertTileGPUToNVVM());
  // Loops carry hundreds of registers: from the top, the canonicalizer looks at
  // them again and again, with the same result.
  GreedyRewriteConfig bottomUp;
  bottomUp.setUseTopDownTraversal(false);
  pm.addPass(createCanonicalizerPass(bottomUp));
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  // What has an approximation takes it; what else there is becomes what has one.
  pm.addPass(createApproximateGpuMath());
  pm.addPass(math::createMathExpandOpsPass());
  pm.addPass(createApproximateGpuMath());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void fa::registerNvidiaPipelines() {
  PassPipelineRegistration<NvidiaPipelineOptions>(
      "fa-nvidia", "attention (S0) to NVIDIA kernels in the LLVM dialect",
      [](OpPassManager &pm, const NvidiaPipelineOptions &options) {
        buildNvidiaKernelPipeline(pm, options);
        buildNvidiaSchedulePipeline(pm, options);
        buildNvidiaLoweringPipeline(pm, options);
        pm.addPass(createConvertTileGPUSimtToNVVM());
      });
}
