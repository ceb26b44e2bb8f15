//===- Pipeline.cpp - S3 to S7 --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "fa/Support/Sweep.h"
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

void fa::buildSchedulePipeline(OpPassManager &pm, const PlanRequest &request) {
  const Machine &machine = request.machine;
  ScheduleRules rules = scheduleRules(machine, request.asked);
  TgpuPlanKernelsOptions plan;
  plan.machine = machine.name;
  plan.constraints = printConstraints(request.asked);
  plan.sharedBytes = machine.sharedBytes;
  pm.addPass(createTgpuPlanKernels(plan));
  if (rules.isSpecialized) {
    pm.addPass(createTgpuChooseAlternatives());
    pm.addPass(createTgpuOpenChannels());
    pm.addPass(createTgpuFormClusters());
    addSweep(pm);
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuNarrowMasks());
  pm.addPass(createCSEPass());
  TgpuAssignLayoutsOptions layouts;
  layouts.machine = machine.name;
  pm.addNestedPass<tile::KernelOp>(createTgpuAssignLayouts(layouts));
  pm.addNestedPass<tile::KernelOp>(createTgpuDeferSums());
  if (!machine.isAmd()) {
    pm.addNestedPass<tile::KernelOp>(createTgpuHoldMaxima());
    pm.addNestedPass<tile::KernelOp>(createTgpuCapMaxima());
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuKeepRawMaxima());
  addStageEnd(pm, GpuStage::S4);
  TgpuAllocateSharedOptions shared;
  shared.machine = machine.name;
  pm.addNestedPass<tile::KernelOp>(createTgpuAllocateShared(shared));
  if (rules.isSpecialized) {
    TgpuDeliverTilesOptions tiles;
    tiles.limit = rules.sharedBytes;
    pm.addNestedPass<tile::KernelOp>(createTgpuDeliverTiles(tiles));
  }
  addStageEnd(pm, GpuStage::S5);
  if (rules.isSpecialized) {
    pm.addNestedPass<tile::KernelOp>(createTgpuOverlapDots());
    pm.addNestedPass<tile::KernelOp>(createTgpuHoistScalars());
    pm.addNestedPass<tile::KernelOp>(createTgpuExpectMaxima());
    if (rules.overlapPrograms)
      pm.addNestedPass<tile::KernelOp>(createTgpuOverlapPrograms());
    pm.addNestedPass<tile::KernelOp>(createTgpuBranchMasks());
  }
  if (machine.isAmd()) {
    TgpuPrefetchLoadsOptions loads;
    loads.limit = rules.slotBytes;
    pm.addNestedPass<tile::KernelOp>(createTgpuPrefetchLoads(loads));
  }
  if (machine.hasDirectLoads) {
    TgpuPipelineCopiesOptions copies;
    copies.stages = rules.stages;
    copies.limit = rules.sharedBytes;
    copies.oneWarpBytes = rules.oneWarpBytes;
    pm.addNestedPass<tile::KernelOp>(createTgpuPipelineCopies(copies));
  }
  if (!machine.isAmd()) {
    TgpuDeferWaitsOptions waits;
    waits.limit = rules.sharedBytes;
    pm.addNestedPass<tile::KernelOp>(createTgpuDeferWaits(waits));
  }
  pm.addNestedPass<tile::KernelOp>(createTgpuMergeBarriers());
  pm.addNestedPass<tile::KernelOp>(createTgpuOrderMemory());
  pm.addPass(createCSEPass());
  addStageEnd(pm, GpuStage::S6);
  TgpuPlaceBuffersOptions buffers;
  buffers.limit = rules.sharedBytes;
  pm.addNestedPass<tile::KernelOp>(createTgpuPlaceBuffers(buffers));
  addStageEnd(pm, GpuStage::S7);
  if (rules.beginsEarly)
    pm.addPass(createTgpuOverlapKernels());
}
