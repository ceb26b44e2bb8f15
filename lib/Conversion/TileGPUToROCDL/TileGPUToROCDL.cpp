//===- TileGPUToROCDL.cpp - convert-tgpu-to-rocdl -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/TileGPUToROCDL.h"

#include "AmdLowerings.h"

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILEGPUTOROCDL
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// The LDS of a kernel: every kernel has as much as it uses.
static std::string createShared(tile::KernelOp kernel, int64_t bytes) {
  OpBuilder b(kernel);
  std::string name = (kernel.getSymName() + "_lds").str();
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes);
  LLVM::GlobalOp::create(b, kernel.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::Internal, name, /*value=*/Attribute(),
                         /*alignment=*/256, /*addrSpace=*/3);
  return name;
}

/// What the lowerings beside this take.
static LogicalResult verifyBuffers(tile::KernelOp kernel) {
  auto result = kernel.walk([](tgpu::AllocOp alloc) -> WalkResult {
    if (!alloc.getType().getLayout().getLayout().joined)
      return success();
    return alloc.emitOpError("expected a layout whose copies lie one behind "
                             "the other, found ")
           << alloc.getType().getLayout();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct ConvertTileGPUToROCDL final
    : fa::impl::ConvertTileGPUToROCDLBase<ConvertTileGPUToROCDL> {
  using ConvertTileGPUToROCDLBase::ConvertTileGPUToROCDLBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto info = getAmdInfo(arch);
    if (!info) {
      module.emitError(toString(info.takeError()));
      return signalPassFailure();
    }
    if (dies)
      info->dies = dies;
    SmallVector<tile::KernelOp> kernels(module.getOps<tile::KernelOp>());
    for (tile::KernelOp kernel : kernels) {
      if (failed(verifyPlaced(kernel)) || failed(verifyBuffers(kernel)))
        return signalPassFailure();
      auto bytes = kernel->getAttrOfType<IntegerAttr>(
          tgpu::TileGPUDialect::sharedBytesAttrName);
      std::string shared;
      if (bytes.getInt())
        shared = createShared(kernel, bytes.getInt());
      AmdContext ctx(kernel, *info, shared);
      addAmdLowerings(ctx);
      if (failed(lowerKernel(ctx)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
