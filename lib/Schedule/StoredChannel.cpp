//===- StoredChannel.cpp - outputs that a partition stores ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredChannel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

StoredChannel::StoredChannel(KernelOp kernel, RolesOp roles, BufferType slots)
    : kernel(kernel), roles(roles), slots(slots),
      b(roles.getLoc(), kernel.getContext()),
      id(*kernel.getBody().front().getOps<ConsumerIdOp>().begin()) {}

/// Whether who stores can compute `value`: from scalars above the roles and
/// the number of the program.
static bool isKnownToAll(Value value, RolesOp roles) {
  Operation *op = value.getDefiningOp();
  Block *consumer = &roles.getConsumer().front();
  if (value.getParentBlock() != consumer)
    return value.getParentBlock() == roles->getBlock();
  if (!op)
    return value == consumer->getArgument(0);
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isKnownToAll(operand, roles);
         });
}

void StoredChannel::move(StoreOp store, const TensorBox &box) {
  for (OpFoldResult at : box.start)
    if (auto value = dyn_cast<Value>(at); value && !isKnownToAll(value, roles))
      return;
  b.setLoc(store.getLoc());
  b.setInsertionPointToStart(&kernel.getBody().front());
  auto type = ChannelType::get(b.getContext(), slots);
  auto channel = ChannelOp::create(b, type, IntegerAttr(), IntegerAttr(),
                                   /*own=*/true, /*shared=*/false,
                                   /*stored=*/true);
  Block &region = openRegion();
  b.setInsertionPoint(store);
  Value own = stepOf(roles.getConsumer().getArgument(0), id);
  AcquireOp::create(b, channel, own);
  PutOp::create(b, store.getValue(), channel, own);
  store.erase();
  b.setInsertionPoint(region.getTerminator());
  send(channel, box, region);
}

/// Which passes steps on as they come.
Block &StoredChannel::openRegion() {
  if (roles.hasStore())
    return roles.getStore().front();
  Type index = b.getIndexType();
  Location loc = roles.getLoc();
  Block &region = roles.getStore().emplaceBlock();
  region.addArguments({index, index}, {loc, loc});
  b.setInsertionPointToEnd(&region);
  PassedOp::create(b, region.getArgument(1));
  return region;
}

/// The step of the slot of `consumer`, when `program` programs have passed.
Value StoredChannel::stepOf(Value program, Value consumer) {
  Value consumers = arith::ConstantIndexOp::create(b, roles.getConsumers());
  Value before = arith::MulIOp::create(b, program, consumers);
  return arith::AddIOp::create(b, before, consumer);
}

/// `value`, where `mapping` has the consumer's number.
Value StoredChannel::cloneFor(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  bool changes = op->getBlock() != roles->getBlock();
  for (Value operand : op->getOperands())
    changes |= cloneFor(operand, mapping) != operand;
  if (!changes)
    return value;
  return b.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

void StoredChannel::send(Value channel, const TensorBox &box, Block &region) {
  for (int64_t n = 0; n < int64_t(roles.getConsumers()); ++n) {
    Value consumer = arith::ConstantIndexOp::create(b, n);
    IRMapping mapping;
    mapping.map(id, consumer);
    mapping.map(roles.getConsumer().getArgument(0), region.getArgument(0));
    SmallVector<Value> start;
    for (OpFoldResult at : box.start)
      start.push_back(cloneFor(
          getValueOrCreateConstantIndexOp(b, b.getLoc(), at), mapping));
    Value step = stepOf(region.getArgument(0), consumer);
    AwaitOp::create(b, channel, step);
    SendOp::create(b, channel, step, box.argument, start, box.dims);
    ReleaseOp::create(b, channel, step);
  }
}
