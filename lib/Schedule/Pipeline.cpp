//===- Pipeline.cpp - S3 to S7 --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "fa/Fusion/Sweep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void addStageEnd(OpPassManager &pm, fa::GpuStage stage) {
  fa::TgpuVerifyStageOptions options;
  options.stage = stage;
  pm.addPass(fa::createTgpuVerifyStage(options));
}

void fa::buildSchedulePipeline(OpPassManager &pm,
                               const ScheduleOptions &options) {
  if (options.roles) {
    TgpuOpenChannelsOptions channels;
    channels.stages = options.stages;
    channels.keys = options.channelKeys;
    channels.keyBytes = options.channelKeyBytes;
    channels.apartBytes = options.apartBytes;
    channels.limit = options.sharedLimit;
    channels.persistent = options.persistent;
    channels.ahead = options.overlap && options.overlapPrograms;
    pm.addPass(createTgpuOpenChannels(channels));
    pm.addPass(createTgpuChooseAlternatives());
    TgpuFormClustersOptions clusters;
    clusters.blocks = options.cluster;
    pm.addPass(createTgpuFormClusters(clusters));
    addSweep(pm);
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuNarrowMasks());
  pm.addPass(createCSEPass());
  TgpuAssignLayoutsOptions layouts;
  layouts.warps = options.warps;
  layouts.mfma = options.mfma;
  pm.addNestedPass<tile::KernelOp>(createTgpuAssignLayouts(layouts));
  pm.addNestedPass<tile::KernelOp>(createTgpuDeferSums());
  if (!options.mfma) {
    pm.addNestedPass<tile::KernelOp>(createTgpuHoldMaxima());
    pm.addNestedPass<tile::KernelOp>(createTgpuCapMaxima());
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuKeepRawMaxima());
  addStageEnd(pm, GpuStage::S4);
  TgpuAllocateSharedOptions shared;
  shared.copies = !options.mfma;
  shared.direct = options.direct;
  pm.addNestedPass<tile::KernelOp>(createTgpuAllocateShared(shared));
  if (options.roles) {
    TgpuDeliverTilesOptions tiles;
    tiles.limit = options.sharedLimit;
    pm.addNestedPass<tile::KernelOp>(createTgpuDeliverTiles(tiles));
  }
  addStageEnd(pm, GpuStage::S5);
  if (options.roles && options.overlap) {
    pm.addNestedPass<tile::KernelOp>(createTgpuOverlapDots());
    pm.addNestedPass<tile::KernelOp>(createTgpuHoistScalars());
    pm.addNestedPass<tile::KernelOp>(createTgpuExpectMaxima());
    if (options.overlapPrograms)
      pm.addNestedPass<tile::KernelOp>(createTgpuOverlapPrograms());
    pm.addNestedPass<tile::KernelOp>(createTgpuBranchMasks());
  }
  if (options.mfma) {
    TgpuPrefetchLoadsOptions loads;
    loads.limit = options.slotLimit;
    pm.addNestedPass<tile::KernelOp>(createTgpuPrefetchLoads(loads));
  }
  if (!options.mfma || options.direct) {
    TgpuPipelineCopiesOptions copies;
    copies.stages = options.stages;
    copies.limit = options.sharedLimit;
    copies.oneWarpBytes = options.oneWarpBytes;
    pm.addNestedPass<tile::KernelOp>(createTgpuPipelineCopies(copies));
  }
  if (!options.mfma) {
    TgpuDeferWaitsOptions waits;
    waits.limit = options.sharedLimit;
    pm.addNestedPass<tile::KernelOp>(createTgpuDeferWaits(waits));
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuMergeBarriers());
  pm.addPass(createCSEPass());
  addStageEnd(pm, GpuStage::S6);
  TgpuPlaceBuffersOptions buffers;
  buffers.limit = options.sharedLimit;
  pm.addNestedPass<tile::KernelOp>(createTgpuPlaceBuffers(buffers));
  addStageEnd(pm, GpuStage::S7);
}
