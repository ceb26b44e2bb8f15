//===- PlaceBuffers.cpp - tgpu-place-buffers ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUPLACEBUFFERS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

struct TgpuPlaceBuffers final
    : fa::impl::TgpuPlaceBuffersBase<TgpuPlaceBuffers> {
  using TgpuPlaceBuffersBase::TgpuPlaceBuffersBase;

  void runOnOperation() override {
    int64_t bytes = 0;
    Builder b(&getContext());
    for (auto alloc : getOperation().getBody().getOps<AllocOp>()) {
      alloc.setOffset(bytes);
      bytes += llvm::alignTo(alloc.getType().getBytes(), 128);
    }
    getOperation()->setAttr(TileGPUDialect::sharedBytesAttrName,
                            b.getI64IntegerAttr(bytes));
    if (bytes <= limit)
      return;
    getOperation().emitError("needs ")
        << bytes << " bytes of shared memory, where a block may have "
        << limit.getValue() << "; a smaller --tile or --stages helps";
    signalPassFailure();
  }
};

} // namespace
