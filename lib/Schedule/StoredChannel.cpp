//===- StoredChannel.cpp - outputs that a partition stores ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredChannel.h"

#include "PartitionScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

StoredChannel::StoredChannel(KernelOp kernel, WarpSpecializeOp partitions,
                             BufferType slots)
    : kernel(kernel), partitions(partitions), slots(slots),
      b(partitions.getLoc(), kernel.getContext()),
      consumers(partitions.getConsumers()), id(consumerIdOf(kernel)) {}

/// Whether who stores can compute `value`: from scalars above the partitions
/// and the number of the program.
static bool isKnownToAll(Value value, WarpSpecializeOp partitions) {
  Operation *op = value.getDefiningOp();
  Block *consumer = &partitions.getConsumer().front();
  if (value.getParentBlock() != consumer)
    return value.getParentBlock() == partitions->getBlock();
  if (!op)
    return value == consumer->getArgument(0);
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isKnownToAll(operand, partitions);
         });
}

void StoredChannel::move(StoreOp store, const TensorBox &box) {
  auto isKnown = [&](OpFoldResult index) {
    auto value = dyn_cast<Value>(index);
    return !value || isKnownToAll(value, partitions);
  };
  if (!box.origin.all(isKnown) ||
      !llvm::all_of(box.start,
                    [&](const BoxIndex &index) { return index.all(isKnown); }))
    return;
  b.setLoc(store.getLoc());
  b.setInsertionPointToStart(&kernel.getBody().front());
  auto type = ChannelType::get(b.getContext(), slots);
  auto channel = ChannelOp::create(b, type, IntegerAttr(), IntegerAttr(),
                                   /*own=*/true, /*shared=*/false,
                                   /*stored=*/true);
  Block &region = openRegion();
  b.setInsertionPoint(store);
  Value own =
      ownStep(b, partitions.getConsumer().getArgument(0), id, consumers);
  AcquireOp::create(b, channel, own);
  PutOp::create(b, store.getValue(), channel, own);
  store.erase();
  b.setInsertionPoint(region.getTerminator());
  send(channel, box, region);
}

/// Which passes steps on as they come.
Block &StoredChannel::openRegion() {
  if (partitions.hasStore())
    return partitions.getStore().front();
  Type index = b.getIndexType();
  Location loc = partitions.getLoc();
  Block &region = partitions.getStore().emplaceBlock();
  region.addArguments({index, index}, {loc, loc});
  b.setInsertionPointToEnd(&region);
  PassedOp::create(b, region.getArgument(1));
  return region;
}

void StoredChannel::send(Value channel, const TensorBox &box, Block &region) {
  for (int64_t n = 0; n < consumers; ++n) {
    Value consumer = arith::ConstantIndexOp::create(b, n);
    IRMapping mapping;
    mapping.map(id, consumer);
    mapping.map(partitions.getConsumer().getArgument(0), region.getArgument(0));
    Value end;
    SmallVector<Value> start = buildStart(
        b, box,
        [&](OpFoldResult at) {
          return cloneScalar(b,
                             getValueOrCreateConstantIndexOp(b, b.getLoc(), at),
                             mapping, partitions->getBlock());
        },
        end);
    Value step = ownStep(b, region.getArgument(0), consumer, consumers);
    AwaitOp::create(b, channel, step);
    SendOp::create(b, channel, step, box.argument, start, box.dims);
    ReleaseOp::create(b, channel, step);
  }
}
