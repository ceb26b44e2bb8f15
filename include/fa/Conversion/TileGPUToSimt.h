//===- TileGPUToSimt.h - what lowering for any GPU takes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILEGPUTOSIMT_H
#define FA_CONVERSION_TILEGPUTOSIMT_H

#include "TileGPU/TileGPU.h"
#include "fa/Fusion/Passes.h"
#include "fa/Plan/Request.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace fa {

/// Options of `fa-nvidia`, of `fa-amd` and of their parts.
struct GpuPipelineOptions
    : public mlir::PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("sm_80, ..., gfx942, ... (empty: the "
                                          "pipeline's first)"),
                           llvm::cl::init("")};
  Option<std::string> constraints{
      *this, "constraints",
      llvm::cl::desc("what is asked of plans, as for tile-to-kernel"),
      llvm::cl::init("")};
  Option<int64_t> dies{*this, "dies",
                       llvm::cl::desc("dies of an AMD card (0: those of the "
                                      "largest of arch)"),
                       llvm::cl::init(0)};
  Option<int64_t> sharedLimit{*this, "shared-limit",
                              llvm::cl::desc("bytes of shared memory a block "
                                             "may have (0: those of arch)"),
                              llvm::cl::init(0)};
  Option<bool> assumeNoEmptyRows{
      *this, "assume-no-empty-rows",
      llvm::cl::desc("every row keeps a key: finite sentinels are masks"),
      llvm::cl::init(false)};
  Option<bool> allowNoMax{
      *this, "allow-no-max",
      llvm::cl::desc("exp(x) divided by its sum is a softmax as well"),
      llvm::cl::init(false)};
};

/// What `options` ask of plans for `found`, with the shared memory that they
/// say. Where there is no such machine or request, the pipeline becomes one
/// that fails with the reason.
std::optional<PlanRequest> requestOf(mlir::OpPassManager &pm,
                                     const GpuPipelineOptions &options,
                                     llvm::Expected<Machine> found);

/// S0 to S3: fusion, online softmax, kernels as they are planned.
void buildGpuKernelPipeline(mlir::OpPassManager &pm,
                            const GpuPipelineOptions &options,
                            const PlanRequest &request);

/// What one thread does, as it is in arith, math, scf, memref and the dialect
/// of a target, to the LLVM dialect and that.
void buildSimtLoweringPipeline(mlir::OpPassManager &pm);

} // namespace fa

#endif // FA_CONVERSION_TILEGPUTOSIMT_H
