//===- TileGPUToNVVM.h - tile kernels as NVIDIA functions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ABI of an NVIDIA kernel is
//   .entry f(.param .align 8 .b8 words[8 n])
// launched on a linear grid of all programs, axis 0 fastest, with
// `tgpu.warps` * 32 threads and `tgpu.shared_bytes` of dynamic shared memory.
// The words are those of every target: the three extents of the grid, then the
// arguments in order, of a memref the pointer to its element 0, its sizes and
// its strides in elements; of a scalar its bits, zero-extended. A
// warp-specialized kernel has `tgpu.consumers` + 1 times as many threads, and
// one more parameter,
//   .param .align 64 .b8 map[128]
// for each of its tensor maps, in the order of collectTensorMaps.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILEGPUTONVVM_H
#define FA_CONVERSION_TILEGPUTONVVM_H

#include "fa/Conversion/TileGPUToSimt.h"
#include "fa/Launch/KernelInfo.h"

namespace fa {

/// The dynamic shared memory of a block.
inline constexpr llvm::StringLiteral sharedSymbol = "fa_shared";

TensorMapInfo tensorMapOf(tgpu::FetchOp fetch);
TensorMapInfo tensorMapOf(tgpu::DeliverOp deliver);
/// Of some of its rows, for tiles that the delivery's end cuts.
TensorMapInfo tensorMapOf(tgpu::DeliverOp deliver, int64_t rows);
TensorMapInfo tensorMapOf(tgpu::SendOp send);

/// The different maps of a kernel at S7, in the order of its parameters.
std::vector<TensorMapInfo> collectTensorMaps(tile::KernelOp kernel);

/// S0 to S3: fusion, online softmax, kernels with the tiles of the target.
void buildNvidiaKernelPipeline(mlir::OpPassManager &pm,
                               const GpuPipelineOptions &options);

/// S3 to S7: layouts, shared memory, pipelined copies.
void buildNvidiaSchedulePipeline(mlir::OpPassManager &pm,
                                 const GpuPipelineOptions &options);

/// S7 to S8: the LLVM dialect, and tgpu.simt until convert-tgpu-simt-to-nvvm.
void buildNvidiaLoweringPipeline(mlir::OpPassManager &pm,
                                 const GpuPipelineOptions &options);

/// Registers `fa-nvidia` (S0 to the LLVM dialect).
void registerNvidiaPipelines();

} // namespace fa

#endif // FA_CONVERSION_TILEGPUTONVVM_H
