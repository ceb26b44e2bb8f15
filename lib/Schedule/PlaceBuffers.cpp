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

/// A buffer and the operations of the kernel's block between which it is used.
struct Lifetime {
  AllocOp alloc;
  Operation *first = nullptr, *last = nullptr;
};

} // namespace

static Lifetime findLifetime(AllocOp alloc) {
  Lifetime life{alloc};
  for (Operation *user : alloc->getUsers()) {
    Operation *here = alloc->getBlock()->findAncestorOpInBlock(*user);
    if (!life.first || here->isBeforeInBlock(life.first))
      life.first = here;
    if (!life.last || life.last->isBeforeInBlock(here))
      life.last = here;
  }
  return life;
}

/// Whether all threads are done with `x` before any begins with `y`: a barrier
/// stands between them.
static bool endsBefore(const Lifetime &x, const Lifetime &y) {
  if (!x.last || !y.first || !x.last->isBeforeInBlock(y.first))
    return false;
  for (Operation *op = x.last->getNextNode(); op != y.first;
       op = op->getNextNode())
    if (isa<BarrierOp>(op))
      return true;
  return false;
}

/// Swizzles stay inside of all banks' bytes: 64 banks have 256.
static constexpr uint64_t kBankBytes = 256;

static uint64_t endOf(AllocOp alloc) {
  return *alloc.getOffset() +
         llvm::alignTo(alloc.getType().getBytes(), kBankBytes);
}

namespace {

struct TgpuPlaceBuffers final
    : fa::impl::TgpuPlaceBuffersBase<TgpuPlaceBuffers> {
  using TgpuPlaceBuffersBase::TgpuPlaceBuffersBase;

  void runOnOperation() override {
    SmallVector<Lifetime> placed;
    int64_t bytes = 0;
    for (auto alloc : getOperation().getBody().getOps<AllocOp>()) {
      Lifetime life = findLifetime(alloc);
      alloc.setOffset(findOffset(life, placed));
      bytes = std::max<int64_t>(bytes, endOf(alloc));
      placed.push_back(life);
    }
    // Each part has buffers of its own, as far behind those of the one before.
    bytes = placeChannels(bytes) * getOperation().getParts();
    Builder b(&getContext());
    getOperation()->setAttr(TileGPUDialect::sharedBytesAttrName,
                            b.getI64IntegerAttr(bytes));
    if (bytes <= limit)
      return;
    emitError(getOperation().getLoc())
        << "needs " << bytes
        << " bytes of shared memory, where a block may have "
        << limit.getValue() << "; a smaller --tile or --stages helps";
    signalPassFailure();
  }

private:
  /// Channels are used as long as the kernel runs: each has a place of its own
  /// behind `bytes`. A swizzle of 128 bytes repeats every 1024. Behind them all
  /// lie the barriers, of each channel those of full slots, then those of empty
  /// ones, 8 bytes each, and then what says the block's programs. Returns where
  /// it ends.
  int64_t placeChannels(int64_t bytes) {
    for (auto channel : getOperation().getBody().getOps<ChannelOp>()) {
      bytes = llvm::alignTo(bytes, 1024);
      channel.setOffset(bytes);
      bytes += channel.getType().getBuffer().getBytes();
    }
    for (auto channel : getOperation().getBody().getOps<ChannelOp>()) {
      channel.setBarriers(bytes);
      bytes += 16 * channel.getType().getBuffer().getSlots();
    }
    for (auto programs : getOperation().getBody().getOps<ProgramsOp>()) {
      bytes = llvm::alignTo(bytes, 16);
      programs.setOffset(bytes);
      bytes += programs.getBytes();
    }
    return bytes;
  }

  /// The first offset at which no buffer lies that lives at the same time.
  static uint64_t findOffset(Lifetime &life, ArrayRef<Lifetime> placed) {
    uint64_t size = llvm::alignTo(life.alloc.getType().getBytes(), kBankBytes);
    SmallVector<uint64_t> candidates = {0};
    for (const Lifetime &other : placed)
      candidates.push_back(endOf(other.alloc));
    llvm::sort(candidates);
    for (uint64_t offset : candidates) {
      bool isFree = llvm::all_of(placed, [&](const Lifetime &other) {
        AllocOp at = other.alloc;
        return endOf(at) <= offset || offset + size <= *at.getOffset() ||
               endsBefore(life, other) || endsBefore(other, life);
      });
      if (isFree)
        return offset;
    }
    llvm_unreachable("behind the last buffer it is free");
  }
};

} // namespace
