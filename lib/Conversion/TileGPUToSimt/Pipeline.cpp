//===- Pipeline.cpp - S8 to the LLVM dialect ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Conversion/TileGPUToSimt.h"
#include "fa/Fusion/Passes.h"
#include "fa/Support/Sweep.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

/// What a pipeline for an architecture that is not known consists of.
struct RefuseArchitecture final
    : PassWrapper<RefuseArchitecture, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseArchitecture)
  explicit RefuseArchitecture(std::string reason) : reason(std::move(reason)) {}

  void runOnOperation() override {
    emitError(getOperation().getLoc(), reason);
    signalPassFailure();
  }

  std::string reason;
};

} // namespace

fa::PlanConstraints fa::constraintsOf(const GpuPipelineOptions &options) {
  return {options.qTile,     options.kvTile, options.stages,  options.warps,
          options.consumers, options.splits, options.schedule};
}

std::optional<fa::Machine> fa::machineOf(OpPassManager &pm,
                                         const GpuPipelineOptions &options,
                                         llvm::Expected<Machine> found) {
  if (!found) {
    pm.addPass(
        std::make_unique<RefuseArchitecture>(toString(found.takeError())));
    return std::nullopt;
  }
  if (options.sharedLimit)
    found->sharedBytes = options.sharedLimit;
  return std::move(*found);
}

void fa::buildGpuKernelPipeline(OpPassManager &pm,
                                const GpuPipelineOptions &options,
                                const Machine &machine) {
  FusionOptions fusion;
  fusion.assumeNoEmptyRows = options.assumeNoEmptyRows;
  fusion.allowNoMax = options.allowNoMax;
  buildFusionPipeline(pm, fusion);
  pm.addPass(createTileOnlineSoftmax());
  addStageEnd(pm, Stage::S2);
  TileToKernelOptions kernels;
  kernels.machine = machine.name;
  kernels.constraints = printConstraints(constraintsOf(options));
  kernels.sharedBytes = machine.sharedBytes;
  pm.addPass(createTileToKernel(kernels));
  addSweep(pm);
  pm.addPass(createCSEPass());
  addStageEnd(pm, Stage::S3);
}

void fa::buildSimtLoweringPipeline(OpPassManager &pm) {
  // From the top, the canonicalizer looks at loops with hundreds of registers
  // again and again, with the same result.
  addSweep(pm, /*topDown=*/false);
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createApproximateGpuMath());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertSimtToLLVM());
  pm.addPass(createReconcileUnrealizedCastsPass());
  addSweep(pm);
  pm.addPass(createCSEPass());
}
