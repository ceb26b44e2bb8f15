//===- KernelRewriter.h - one kernel for the emulator -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files: NVVMToEmulator (the function, memory, what all architectures have),
// PartitionsToEmulator (barriers with phases, boxes of tensors, products of
// warpgroups).
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_KERNELREWRITER_H
#define FA_LIB_EMULATOR_KERNELREWRITER_H

#include "SiteCalls.h"

#include "TileGPU/TileGPU.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

#include <optional>

namespace fa {

/// One kernel: f(words, maps..) on a card becomes f(words, thread).
class KernelRewriter : SiteCalls {
public:
  using SiteCalls::SiteCalls;

  mlir::LogicalResult run();

private:
  mlir::LogicalResult checkSignature();
  void changeSignature();
  mlir::LogicalResult rewrite(mlir::Operation *op);
  mlir::LogicalResult rewriteAccess(mlir::Operation *op, Value address,
                                    Value stored, uint64_t alignment);
  mlir::LogicalResult rewriteAtomicAdd(mlir::LLVM::AtomicRMWOp op);
  mlir::LogicalResult rewriteMma(mlir::NVVM::MmaOp op);
  mlir::LogicalResult rewriteToTf32(mlir::NVVM::ConvertFloatToTF32Op op);
  mlir::LogicalResult rewriteBarrier(mlir::NVVM::BarrierOp op);
  mlir::LogicalResult rewriteAsm(mlir::LLVM::InlineAsmOp op);
  mlir::LogicalResult rewriteIntrinsic(mlir::LLVM::CallIntrinsicOp op);
  bool isArgument(Value address);
  void dropAddressSpaces();

  //===--- Warp specialization (PartitionsToEmulator.cpp) ---===//
  /// Nothing if `op` is none of warp specialization.
  std::optional<mlir::LogicalResult> rewriteForPartitions(mlir::Operation *op);
  mlir::LogicalResult rewriteProduct(tgpu::SimtWgmmaOp op);
  mlir::LogicalResult rewriteProductWait(tgpu::SimtWgmmaWaitOp op);
  mlir::LogicalResult
  rewriteBox(mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op);
  mlir::LogicalResult
  rewriteBox(mlir::NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op);
  /// Calls where registers of running products are read or written.
  void watchRegisters();
  void watchReads();
  void watchWrites();

  //===--- Waves of AMD (WavesToEmulator.cpp) ---===//
  /// Nothing if `op` is none of the rocdl dialect and no fence.
  std::optional<mlir::LogicalResult> rewriteForWaves(mlir::Operation *op);
  mlir::LogicalResult rewriteMfma(mlir::Operation *op);
  mlir::LogicalResult rewriteBufferLoad(mlir::ROCDL::RawPtrBufferLoadOp op);
  mlir::LogicalResult rewriteBufferStore(mlir::ROCDL::RawPtrBufferStoreOp op);
  mlir::LogicalResult rewriteDirectLoad(mlir::ROCDL::RawPtrBufferLoadLdsOp op);
  mlir::LogicalResult rewriteWait(mlir::ROCDL::SWaitcntOp op);
  mlir::LogicalResult rewriteLaneMove(mlir::ROCDL::DPPUpdateOp op);
  void dropDescriptors();

  int64_t maxRegisters = 0; ///< of a thread; 0: not said
  /// Numbers of the registers that hold left operands of products.
  llvm::DenseMap<mlir::Operation *, int64_t> leftRegisters;
};

} // namespace fa

#endif // FA_LIB_EMULATOR_KERNELREWRITER_H
