//===- LimitRowSteps.cpp - tgpu-limit-row-steps ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TGPULIMITROWSTEPS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

struct TgpuLimitRowSteps final
    : fa::impl::TgpuLimitRowStepsBase<TgpuLimitRowSteps> {
  using TgpuLimitRowStepsBase::TgpuLimitRowStepsBase;

  void runOnOperation() override {
    auto bytes = Builder(&getContext()).getI64IntegerAttr(limit);
    SmallVector<tile::KernelOp> kernels(
        getOperation().getOps<tile::KernelOp>());
    llvm::StringSet<> behind;
    for (tile::KernelOp kernel : llvm::reverse(kernels))
      if (!behind.insert(kernel.getEntryName()).second)
        kernel->setAttr(tgpu::TileGPUDialect::rowStepLimitAttrName, bytes);
  }
};

} // namespace
