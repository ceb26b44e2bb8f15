//===- PrefetchLoads.cpp - tgpu-prefetch-loads ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSlice.h"
#include "OwnOutput.h"

#include "TileGPU/TileGPU.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUPREFETCHLOADS
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

namespace {

/// One loop; Passes.td shows what becomes of it.
class LoopPrefetcher {
public:
  /// Collects what can be loaded ahead: what does not depend on what the loop
  /// computes, nor on what the kernel stores.
  LoopPrefetcher(scf::ForOp loop, const OwnOutput &own)
      : loop(loop), slice(loop), b(loop.getLoc(), loop) {
    for (WriteOp write : loop.getBody()->getOps<WriteOp>())
      if (auto load = write.getValue().getDefiningOp<LoadOp>();
          load && load->hasOneUse() && load->getBlock() == loop.getBody() &&
          !own.contains(load.getSource()) && slice.add(load)) {
        writes.push_back(write);
        buffers.insert(write.getBuffer());
      }
  }

  /// Bytes of one slot of each buffer.
  int64_t slotBytes() const {
    int64_t bytes = 0;
    for (Value buffer : buffers)
      bytes += cast<BufferType>(buffer.getType()).getSlotBytes();
    return bytes;
  }

  void run(int64_t numSlots) {
    if (writes.empty())
      return;
    slots = numSlots;
    growBuffers();
    buildFirst();
    addSlot();
    buildNext();
    replaceSlots();
    b.setInsertionPointAfter(loop);
    BarrierOp::create(b);
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  void growBuffers() {
    for (Value buffer : buffers) {
      auto type = cast<BufferType>(buffer.getType());
      buffer.setType(BufferType::get(type.getContext(), slots, type.getShape(),
                                     type.getElementType(), type.getLayout()));
    }
  }

  /// The tiles of the iteration at `iteration`. Not every one `exists`: what is
  /// outside of a view reads as 0.
  SmallVector<Value> buildLoads(Value iteration, bool exists) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iteration);
    slice.clone(b, mapping);
    SmallVector<Value> loaded;
    for (WriteOp write : writes) {
      auto load =
          cast<LoadOp>(b.clone(*write.getValue().getDefiningOp(), mapping));
      if (!exists)
        load.setInBounds(false);
      loaded.push_back(load);
    }
    return loaded;
  }

  void buildWrites(ValueRange tiles, Value slot) {
    for (auto [write, tile] : llvm::zip(writes, tiles))
      WriteOp::create(b, tile, write.getBuffer(), slot);
  }

  void buildFirst() {
    b.setInsertionPoint(loop);
    SmallVector<Value> first =
        buildLoads(loop.getLowerBound(), /*exists=*/false);
    // What lay in the slots before was read.
    BarrierOp::create(b);
    buildWrites(first, index(0));
  }

  void addSlot() {
    IRRewriter rewriter(b.getContext());
    rewriter.setInsertionPoint(loop);
    Value zero = arith::ConstantIndexOp::create(rewriter, loop.getLoc(), 0);
    auto next = [&](OpBuilder &builder, Location loc,
                    ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(builder.getInsertionBlock(),
                          builder.getInsertionPoint());
      return {arith::SubIOp::create(b, index(slots - 1), args.front())};
    };
    auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, next));
    loop = replaced;
    slot = loop.getRegionIterArgs().back();
  }

  void buildNext() {
    b.setInsertionPointToStart(loop.getBody());
    BarrierOp::create(b);
    // Behind the last tile comes the last again, which nobody reads.
    Value ahead =
        arith::AddIOp::create(b, loop.getInductionVar(), loop.getStep());
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, ahead,
                                         loop.getUpperBound());
    ahead = arith::SelectOp::create(b, exists, ahead, loop.getInductionVar());
    SmallVector<Value> tiles = buildLoads(ahead, /*exists=*/true);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    // The only slot is read by others until here.
    if (slots == 1)
      BarrierOp::create(b);
    Value other = arith::SubIOp::create(b, index(slots - 1), slot);
    buildWrites(tiles, other);
  }

  /// The loop's own loads, writes and what waited for them go; its reads are of
  /// the current slot.
  void replaceSlots() {
    loop.walk([&](ReadOp read) {
      if (buffers.contains(read.getBuffer()))
        read.getSlotMutable().assign(slot);
    });
    for (WriteOp write : writes) {
      auto *load = write.getValue().getDefiningOp();
      if (auto barrier = dyn_cast_or_null<BarrierOp>(write->getNextNode()))
        barrier->erase();
      write->erase();
      load->erase();
    }
    eraseLastBarrier();
  }

  /// That against the next iteration's writes is one of ours now, unless the
  /// loop writes other buffers.
  void eraseLastBarrier() {
    for (WriteOp write : loop.getBody()->getOps<WriteOp>())
      if (!buffers.contains(write.getBuffer()))
        return;
    BarrierOp last;
    for (BarrierOp barrier : loop.getBody()->getOps<BarrierOp>())
      last = barrier;
    if (slots == 2 && last != &loop.getBody()->front())
      last->erase();
    if (slots == 1) {
      // Two stand before the writes: ours and the old one.
      Operation *before = last->getPrevNode();
      while (before && !isa<BarrierOp>(before) && isPure(before))
        before = before->getPrevNode();
      if (isa_and_present<BarrierOp>(before) &&
          before != &loop.getBody()->front())
        before->erase();
    }
  }

  scf::ForOp loop;
  int64_t slots = 1;
  LoopSlice slice;
  ImplicitLocOpBuilder b;
  SmallVector<WriteOp> writes;
  SetVector<Value> buffers;
  Value slot;
};

struct TgpuPrefetchLoads final
    : fa::impl::TgpuPrefetchLoadsBase<TgpuPrefetchLoads> {
  using TgpuPrefetchLoadsBase::TgpuPrefetchLoadsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    // All are looked at before any is changed: what one loads in front of
    // itself is no load of a loop around it.
    OwnOutput own(getOperation());
    std::vector<LoopPrefetcher> prefetchers;
    for (scf::ForOp loop : loops)
      prefetchers.emplace_back(loop, own);
    // Loops share buffers: all have two slots, or none has.
    int64_t bytes = 0;
    for (const LoopPrefetcher &prefetcher : prefetchers)
      bytes = std::max(bytes, prefetcher.slotBytes());
    int64_t planned = planOf(getOperation()).slots.step;
    int64_t slots =
        planned ? std::min<int64_t>(planned, 2) : (2 * bytes <= limit ? 2 : 1);
    for (LoopPrefetcher &prefetcher : prefetchers)
      prefetcher.run(slots);
  }
};

} // namespace
