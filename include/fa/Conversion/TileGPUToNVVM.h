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
// its strides in elements; of a scalar its bits, zero-extended. A kernel with
// roles has `tgpu.consumers` + 1 times as many threads, and one more parameter,
//   .param .align 64 .b8 map[128]
// for each of its tensor maps, in the order of collectTensorMaps.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILEGPUTONVVM_H
#define FA_CONVERSION_TILEGPUTONVVM_H

#include "TileGPU/TileGPU.h"
#include "fa/Launch/KernelInfo.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace fa {

/// The dynamic shared memory of a block.
inline constexpr llvm::StringLiteral sharedSymbol = "fa_shared";

TensorMapInfo tensorMapOf(tgpu::FetchOp fetch);

/// The different maps of a kernel at S7, in the order of its parameters.
std::vector<TensorMapInfo> collectTensorMaps(tile::KernelOp kernel);

/// Threads of a block of a kernel at S4 to S7.
int32_t countThreads(tile::KernelOp kernel);

/// Options of `fa-nvidia` and of its halves.
struct NvidiaPipelineOptions
    : public mlir::PassPipelineOptions<NvidiaPipelineOptions> {
  Option<std::string> arch{
      *this, "arch", llvm::cl::desc("sm_80, sm_86, sm_89, sm_90 or sm_90a"),
      llvm::cl::init("sm_80")};
  Option<int64_t> qTile{*this, "q-tile",
                        llvm::cl::desc("queries in a tile (0: chosen)"),
                        llvm::cl::init(0)};
  Option<int64_t> kvTile{*this, "kv-tile",
                         llvm::cl::desc("keys in a tile (0: chosen)"),
                         llvm::cl::init(0)};
  Option<int64_t> stages{*this, "stages",
                         llvm::cl::desc("slots of a buffer (0: chosen)"),
                         llvm::cl::init(0)};
  Option<int64_t> warps{*this, "warps",
                        llvm::cl::desc("warps of a program (0: chosen)"),
                        llvm::cl::init(0)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("who computes what, where the architecture has "
                     "warpgroups: persistent, roles or plain (\"\": chosen)"),
      llvm::cl::init("")};
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

/// S0 to S3: fusion, online softmax, kernels with the tiles of the target.
void buildNvidiaKernelPipeline(mlir::OpPassManager &pm,
                               const NvidiaPipelineOptions &options);

/// S3 to S7: layouts, shared memory, pipelined copies.
void buildNvidiaSchedulePipeline(mlir::OpPassManager &pm,
                                 const NvidiaPipelineOptions &options);

/// S7 to S8: the LLVM dialect, and tgpu.simt until convert-tgpu-simt-to-nvvm.
void buildNvidiaLoweringPipeline(mlir::OpPassManager &pm,
                                 const NvidiaPipelineOptions &options);

/// Registers `fa-nvidia` (S0 to the LLVM dialect).
void registerNvidiaPipelines();

} // namespace fa

#endif // FA_CONVERSION_TILEGPUTONVVM_H
