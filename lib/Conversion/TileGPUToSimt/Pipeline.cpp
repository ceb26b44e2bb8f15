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

/// What a pipeline for an architecture that is not known, or of which something
/// is asked that cannot be, consists of.
struct RefuseRequest final
    : PassWrapper<RefuseRequest, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseRequest)
  explicit RefuseRequest(std::string reason) : reason(std::move(reason)) {}

  void runOnOperation() override {
    emitError(getOperation().getLoc(), reason);
    signalPassFailure();
  }

  std::string reason;
};

} // namespace

std::optional<fa::PlanRequest> fa::requestOf(OpPassManager &pm,
                                             const GpuPipelineOptions &options,
                                             llvm::Expected<Machine> found) {
  auto request =
      makeRequest(std::move(found), options.constraints, options.sharedLimit);
  if (request)
    return std::move(*request);
  pm.addPass(std::make_unique<RefuseRequest>(toString(request.takeError())));
  return std::nullopt;
}

void fa::buildGpuKernelPipeline(OpPassManager &pm,
                                const GpuPipelineOptions &options,
                                const PlanRequest &request) {
  FusionOptions fusion;
  fusion.assumeNoEmptyRows = options.assumeNoEmptyRows;
  fusion.allowNoMax = options.allowNoMax;
  buildFusionPipeline(pm, fusion);
  pm.addPass(createTileOnlineSoftmax());
  pm.addPass(createTileSplitFunction());
  pm.addPass(createTileSplitTensors());
  addStageEnd(pm, Stage::S2);
  TileToKernelOptions kernels;
  kernels.machine = request.machine.name;
  kernels.constraints = printConstraints(request.asked);
  kernels.sharedBytes = request.machine.sharedBytes;
  pm.addPass(createTileToKernel(kernels));
  addSweep(pm, /*topDown=*/true,
           /*keepsLoops=*/request.machine.hasWarpgroups());
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
