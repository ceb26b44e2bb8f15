//===- OverlapKernels.cpp - tgpu-overlap-kernels --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Schedule/Passes.h"

#include "TileGPU/TileGPU.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUOVERLAPKERNELS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// The first operation of the kernel that may touch memory; its terminator if
/// none does.
static Operation *firstAccess(tile::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto found = llvm::find_if(
      body, [](Operation &op) { return !isMemoryEffectFree(&op); });
  return found == body.end() ? body.getTerminator() : &*found;
}

namespace {

struct TgpuOverlapKernels final
    : fa::impl::TgpuOverlapKernelsBase<TgpuOverlapKernels> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      auto before = kernel->getAttrOfType<FlatSymbolRefAttr>(
          tile::KernelOp::followsAttrName);
      if (!before)
        continue;
      auto first = getOperation().lookupSymbol<tile::KernelOp>(before);
      if (!first) {
        kernel.emitError("expects to follow a kernel of its module, found ")
            << before;
        return signalPassFailure();
      }
      OpBuilder b(firstAccess(kernel));
      AwaitKernelOp::create(b, kernel.getLoc());
      b.setInsertionPointToStart(&first.getBody().front());
      BeginNextOp::create(b, first.getLoc());
    }
  }
};

} // namespace
