//===- Pipeline.cpp - fa-cpu: from S0 to the LLVM dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Fusion/Passes.h"
#include "fa/Fusion/Sweep.h"

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
#include "llvm/Support/MathExtras.h"

using namespace mlir;

fa::DotBlock fa::chooseDotBlock(int64_t vectorBits, int64_t vectorRegisters) {
  if (vectorRegisters < 32)
    return {3, 12};
  return vectorBits >= 512 ? DotBlock{3, 24} : DotBlock{4, 16};
}

void fa::buildHostKernelPipeline(OpPassManager &pm,
                                 const HostPipelineOptions &options) {
  FusionOptions fusion;
  fusion.assumeNoEmptyRows = options.assumeNoEmptyRows;
  fusion.allowNoMax = options.allowNoMax;
  buildFusionPipeline(pm, fusion);
  pm.addPass(createTileOnlineSoftmax());
  addStageEnd(pm, Stage::S2);
  TileToKernelOptions tiles;
  // Whole blocks of registers. P of a block stays in the first cache; fewer
  // keys than that lose to the rescaling of O, more to the edge of a causal
  // mask. In decode the first cache holds a step's K, then its V.
  int64_t block =
      options.vectorBits / 32 *
      chooseDotBlock(options.vectorBits, options.vectorRegisters).vectors;
  tiles.qTile = tiles.qTileBf16 = llvm::alignTo(64, block);
  // K and V are widened for each tile of queries.
  tiles.qTile16bit = llvm::alignTo(128, block);
  tiles.kvTile = 64;
  if (options.tileDots) {
    // V is transposed for each tile of queries; sums go to and from memory for
    // each tile of keys.
    tiles.qTileBf16 = 256;
    tiles.kvTileBf16 = 256;
    tiles.sumsOfBf16 = true;
    // K and V are taken apart for each tile of queries.
    tiles.shortQueries = options.qTile ? 0 : 192;
  }
  tiles.decodeKvTile = 32;
  // A few queries are a program for each KV head, whose keys can be split.
  tiles.packedQTile = options.qTile ? 0 : llvm::alignTo(48, block);
  if (options.tileDots)
    tiles.packedQTileBf16 = 64; // the rows of a block of tiles
  tiles.splits = options.splits;
  tiles.wideMerge = true;
  if (options.qTile)
    tiles.qTile = tiles.qTile16bit = tiles.qTileBf16 = options.qTile;
  if (options.kvTile) {
    tiles.kvTile = tiles.kvTileBf16 = options.kvTile;
    tiles.decodeKvTile = 0;
  }
  pm.addPass(createTileToKernel(tiles));
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
      });
}
