//===- Pipeline.cpp - fa-cpu: from S0 to the LLVM dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Fusion/Passes.h"
#include "fa/Support/Sweep.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::buildHostKernelPipeline(OpPassManager &pm,
                                 const HostPipelineOptions &options) {
  FusionOptions fusion;
  fusion.assumeNoEmptyRows = options.assumeNoEmptyRows;
  fusion.allowNoMax = options.allowNoMax;
  buildFusionPipeline(pm, fusion);
  pm.addPass(createTileOnlineSoftmax());
  pm.addPass(createTileSplitFunction());
  pm.addPass(createTileSplitTensors());
  addStageEnd(pm, Stage::S2);
  TileToKernelOptions kernels;
  kernels.machine = hostMachine({options.vectorBits, options.vectorRegisters,
                                 options.pairDots, options.tileDots})
                        .name;
  kernels.constraints = options.constraints;
  pm.addPass(createTileToKernel(kernels));
  addSweep(pm);
  pm.addPass(createCSEPass());
  addStageEnd(pm, Stage::S3);
}

void fa::buildHostLoweringPipeline(OpPassManager &pm,
                                   const HostPipelineOptions &options) {
  ConvertTileToHostOptions shape;
  shape.vectorBits = options.vectorBits;
  shape.vectorRegisters = options.vectorRegisters;
  shape.pairDots = options.pairDots;
  shape.tileDots = options.tileDots;
  pm.addPass(createConvertTileToLinalg());
  pm.addPass(createConvertTileToHost(shape));
  pm.addPass(createOutlineTileLoops());
  if (options.emulatesTiles)
    pm.addPass(createEmulateTiles());
  if (options.unfused) {
    pm.addPass(createBufferizeUnfused());
    bufferization::buildBufferDeallocationPipeline(
        pm, bufferization::BufferDeallocationPipelineOptions());
    pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  }
  // The lowering repeats constants and addresses: fewer operations to look at.
  // The canonicalizer would find nothing more that LLVM does not find as well.
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addNestedPass<func::FuncOp>(createApproximateHostMath());
  pm.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertHostToLLVM());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void fa::registerHostPipelines() {
  PassPipelineRegistration<HostPipelineOptions>(
      "fa-cpu", "attention (S0) to host kernels in the LLVM dialect",
      [](OpPassManager &pm, const HostPipelineOptions &options) {
        buildHostKernelPipeline(pm, options);
        buildHostLoweringPipeline(pm, options);
        pm.addPass(createSimtVerifyStage({ThreadStage::S9}));
      });
}
