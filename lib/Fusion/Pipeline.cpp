//===- Pipeline.cpp - the passes from a program as written to S1 ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::addStageEnd(OpPassManager &pm, Stage stage) {
  TileVerifyStageOptions options;
  options.stage = stage;
  pm.addPass(createTileVerifyStage(options));
}

void fa::buildFusionPipeline(OpPassManager &pm, const FusionOptions &options) {
  pm.addPass(createTileInlineCalls());
  pm.addNestedPass<func::FuncOp>(createTileRaiseLinalg());
  pm.addNestedPass<func::FuncOp>(createTileMoveViews());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  TileRaiseSoftmaxOptions softmax;
  softmax.allowNoMax = options.allowNoMax;
  pm.addNestedPass<func::FuncOp>(createTileRaiseSoftmax(softmax));
  addStageEnd(pm, Stage::S0);
  TileRaiseGradientsOptions gradients;
  gradients.assumeNoEmptyRows = options.assumeNoEmptyRows;
  pm.addPass(createTileRaiseGradients(gradients));
  TileFuseAttentionOptions fuse;
  fuse.assumeNoEmptyRows = options.assumeNoEmptyRows;
  pm.addNestedPass<func::FuncOp>(createTileFuseAttention(fuse));
  if (options.differentiate)
    pm.addPass(createTileDifferentiate());
  addStageEnd(pm, Stage::S1);
}
