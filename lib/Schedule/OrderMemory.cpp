//===- OrderMemory.cpp - tgpu-order-memory --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnOutput.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUORDERMEMORY
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Whether both are in a loop, so that each comes behind the other.
static bool haveCommonLoop(Operation *one, Operation *other) {
  for (auto loop = one->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    if (loop->isProperAncestor(other))
      return true;
  return false;
}

/// Puts a barrier in front of `op`, where none stands.
static void orderBefore(Operation *op) {
  Operation *before = op->getPrevNode();
  while (before && isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto barrier = dyn_cast_or_null<BarrierOp>(before);
  if (barrier && barrier.getGlobal())
    return;
  OpBuilder b(op);
  BarrierOp::create(b, op->getLoc(), /*global=*/true);
}

namespace {

struct TgpuOrderMemory final : fa::impl::TgpuOrderMemoryBase<TgpuOrderMemory> {
  void runOnOperation() override {
    for (const auto &[memory, accesses] : OwnOutput(getOperation()))
      for (auto [n, access] : llvm::enumerate(accesses)) {
        Operation *store = access;
        if (!isa<StoreOp, AtomicAddOp, ScatterOp>(store))
          continue;
        auto meets = [&](Operation *other) {
          return !areOfOneThread(store, other);
        };
        auto meetsInLoop = [&](Operation *other) {
          return haveCommonLoop(store, other) && meets(other);
        };
        bool inLoop = llvm::any_of(accesses, meetsInLoop);
        if (inLoop || llvm::any_of(ArrayRef(accesses).take_front(n), meets))
          orderBefore(store);
        if (inLoop || llvm::any_of(ArrayRef(accesses).drop_front(n + 1), meets))
          orderBefore(store->getNextNode());
      }
  }
};

} // namespace
