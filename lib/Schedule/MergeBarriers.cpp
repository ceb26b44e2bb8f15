//===- MergeBarriers.cpp - tgpu-merge-barriers ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUMERGEBARRIERS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Whether a barrier stands before `barrier` and nothing between the two that
/// other threads could notice.
static bool followsAnother(BarrierOp barrier) {
  Operation *before = barrier->getPrevNode();
  while (before && (isa<tile::LoadOp>(before) || isMemoryEffectFree(before)))
    before = before->getPrevNode();
  return isa_and_present<BarrierOp>(before);
}

namespace {

struct TgpuMergeBarriers final
    : fa::impl::TgpuMergeBarriersBase<TgpuMergeBarriers> {
  void runOnOperation() override {
    SmallVector<BarrierOp> barriers;
    getOperation().walk(
        [&](BarrierOp barrier) { barriers.push_back(barrier); });
    for (BarrierOp barrier : barriers)
      if (followsAnother(barrier))
        barrier->erase();
  }
};

} // namespace
