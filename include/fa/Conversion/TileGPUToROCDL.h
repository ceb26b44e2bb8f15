//===- TileGPUToROCDL.h - tile kernels as AMD functions ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ABI of an AMD kernel is one argument by value, the words of every target
// (TileGPUToNVVM.h), at offset 0 of the kernel's argument segment; a linear
// grid of all programs, axis 0 fastest, in workgroups of `tgpu.warps` * 64
// lanes. Its LDS is a variable of its own of `tgpu.shared_bytes`, which the
// code object's metadata say: a launch asks for none.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILEGPUTOROCDL_H
#define FA_CONVERSION_TILEGPUTOROCDL_H

#include "fa/Conversion/TileGPUToSimt.h"

namespace fa {

/// S0 to S3: fusion, online softmax, kernels with the tiles of the target.
void buildAmdKernelPipeline(mlir::OpPassManager &pm,
                            const GpuPipelineOptions &options);

/// S3 to S7: layouts, shared memory, loads an iteration ahead.
void buildAmdSchedulePipeline(mlir::OpPassManager &pm,
                              const GpuPipelineOptions &options);

/// S7 to the LLVM dialect.
void buildAmdLoweringPipeline(mlir::OpPassManager &pm,
                              const GpuPipelineOptions &options);

/// Registers `fa-amd` (S0 to the LLVM dialect).
void registerAmdPipelines();

} // namespace fa

#endif // FA_CONVERSION_TILEGPUTOROCDL_H
