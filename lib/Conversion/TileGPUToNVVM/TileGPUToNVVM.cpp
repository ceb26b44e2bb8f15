//===- TileGPUToNVVM.cpp - convert-tgpu-to-nvvm ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/TileGPUToNVVM.h"

#include "NvidiaLowerings.h"
#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILEGPUTONVVM
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct ConvertTileGPUToNVVM final
    : fa::impl::ConvertTileGPUToNVVMBase<ConvertTileGPUToNVVM> {
  using ConvertTileGPUToNVVMBase::ConvertTileGPUToNVVMBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<tile::KernelOp> kernels(module.getOps<tile::KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
    // Swizzles of buffers repeat every 128 bytes, those of channels every 1024.
    // All modules say the same: their code is joined.
    LLVM::GlobalOp::create(b, module.getLoc(), bytes, /*isConstant=*/false,
                           LLVM::Linkage::External, sharedSymbol,
                           /*value=*/Attribute(), /*alignment=*/1024,
                           /*addrSpace=*/3);
    for (tile::KernelOp kernel : kernels) {
      if (failed(verifyPlaced(kernel)))
        return signalPassFailure();
      NvidiaContext ctx(kernel, narrowConversions);
      addNvidiaLowerings(ctx);
      if (failed(lowerKernel(ctx)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
