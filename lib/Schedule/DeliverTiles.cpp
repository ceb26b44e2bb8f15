//===- DeliverTiles.cpp - tgpu-deliver-tiles ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FetchedTiles.h"
#include "StoredChannel.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_TGPUDELIVERTILES
#include "fa/Schedule/Passes.h.inc"
} // namespace fa

/// Rows of a slot are of 128 bytes, as the swizzle is.
static constexpr int64_t kLineBytes = 128;

/// The shared memory that `kernel` needs so far, at most.
static int64_t sharedBytes(KernelOp kernel) {
  int64_t bytes = 0;
  for (auto alloc : kernel.getBody().getOps<AllocOp>())
    bytes += llvm::alignTo(alloc.getType().getBytes(), 1024);
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    BufferType buffer = channel.getType().getBuffer();
    bytes += llvm::alignTo(buffer.getBytes(), 1024) + 16 * buffer.getSlots();
  }
  return bytes;
}

/// Whether a thread's pairs of elements lie side by side, as a slot's do.
static bool isAccumulator(RankedTensorType type, int64_t warps) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  return layout &&
         layout.getLayout() ==
             mmaAccumulator(type.getDimSize(0), type.getDimSize(1), warps);
}

/// Whether nothing of the box's argument lies where the last line of a slot has
/// no columns of `tile`.
static bool endsWithTile(const TensorBox &box, RankedTensorType tile) {
  int64_t line = kLineBytes * 8 / tile.getElementTypeBitWidth();
  int64_t columns = cast<MemRefType>(box.argument.getType()).getShape().back();
  return tile.getDimSize(1) % line == 0 ||
         (!ShapedType::isDynamic(columns) && columns <= tile.getDimSize(1));
}

namespace {

struct TgpuDeliverTiles final
    : fa::impl::TgpuDeliverTilesBase<TgpuDeliverTiles> {
  using TgpuDeliverTilesBase::TgpuDeliverTilesBase;

  void runOnOperation() override {
    bool hasStore = planOf(getOperation()).find("store");
    for (WarpSpecializeOp partitions :
         getOperation().getBody().getOps<WarpSpecializeOp>()) {
      SmallVector<StoreOp> stores(
          partitions.getConsumer().front().getOps<StoreOp>());
      for (StoreOp store : stores)
        hasStore ? leave(store, partitions)
                 : deliver(store, partitions.getConsumers());
      if (!hasStore || partitions.hasStore())
        continue;
      emitError(partitions.getLoc())
          << "the plan of @" << getOperation().getSymName()
          << ": expected an output that a partition can "
             "store, found none whose tiles are boxes of an argument and have "
             "room in shared memory";
      return signalPassFailure();
    }
  }

private:
  /// Slots for a tile of each consumer, as wide as there is room for; none if
  /// there is not.
  std::optional<BufferType> chooseSlots(RankedTensorType tile,
                                        int64_t consumers) {
    int64_t bytes = tile.getElementTypeBitWidth() / 8;
    int64_t line = kLineBytes / bytes, rows = tile.getDimSize(0);
    int64_t lines = llvm::divideCeil(tile.getDimSize(1), line);
    int64_t room = limit - sharedBytes(getOperation());
    for (int64_t repeat = lines; repeat; --repeat) {
      if (lines % repeat || consumers * rows * repeat * kLineBytes > room)
        continue;
      TileLayout layout = swizzledShared(rows, line, bytes);
      layout.repeat = repeat;
      return BufferType::get(&getContext(), consumers, {rows, repeat * line},
                             tile.getElementType(),
                             LayoutAttr::get(&getContext(), layout));
    }
    return std::nullopt;
  }

  /// What a store of a whole accumulator writes, if it is a box.
  static std::optional<TensorBox> findBox(StoreOp store) {
    RankedTensorType tile = typeOf(store.getValue());
    if (tile.getRank() != 2 || !isAccumulator(tile, 4))
      return std::nullopt;
    std::optional<TensorBox> box = findTensorBox(store);
    return box && endsWithTile(*box, tile) ? box : std::nullopt;
  }

  /// Through a channel to who stores.
  void leave(StoreOp store, WarpSpecializeOp partitions) {
    RankedTensorType tile = typeOf(store.getValue());
    unsigned bits = tile.getElementTypeBitWidth();
    std::optional<TensorBox> box =
        bits == 16 || bits == 32 ? findBox(store) : std::nullopt;
    if (!box || box->end)
      return;
    BufferType slots = slotsFor(tile, partitions.getConsumers());
    int64_t bytes = slots.getBytes() + 16 * slots.getSlots();
    if (sharedBytes(getOperation()) + bytes > limit)
      return;
    StoredChannel(getOperation(), partitions, slots).move(store, *box);
  }

  void deliver(StoreOp store, int64_t consumers) {
    RankedTensorType tile = typeOf(store.getValue());
    if (tile.getElementTypeBitWidth() != 16)
      return;
    std::optional<TensorBox> box = findBox(store);
    std::optional<BufferType> slots =
        box ? chooseSlots(tile, consumers) : std::nullopt;
    if (!slots)
      return;
    ImplicitLocOpBuilder b(store.getLoc(), store);
    Block &body = getOperation().getBody().front();
    b.setInsertionPointToStart(&body);
    // In front of all others, so that it begins where a swizzle does.
    Value buffer = AllocOp::create(b, *slots, IntegerAttr());
    b.setInsertionPoint(store);
    auto build = [&](OpFoldResult at) {
      return getValueOrCreateConstantIndexOp(b, b.getLoc(), at);
    };
    Value end;
    SmallVector<Value> start = buildStart(b, *box, build, end);
    Value consumer = *body.getOps<ConsumerIdOp>().begin();
    DeliverOp::create(b, store.getValue(), buffer, consumer, box->argument,
                      start, box->dims, end);
    store.erase();
  }
};

} // namespace
