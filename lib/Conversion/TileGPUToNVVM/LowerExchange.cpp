//===- LowerExchange.cpp - tiles that consumers have of each other --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The barrier of all consumers, behind those of each (LowerDeliver.cpp).
static constexpr int32_t kExchangeBarrier = 7;

static void meetConsumers(NvidiaContext &ctx, WarpSpecializeOp partitions) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::BarrierOp::create(b, Type(), ctx.i32(kExchangeBarrier),
                          ctx.i32(128 * partitions.getConsumers()),
                          NVVM::BarrierReductionAttr(), Value());
}

/// A line of a slot has the rows of all consumers, of which as many columns as
/// a warpgroup computes rows: those are rows of the transpose.
static int64_t lineBytes(ExchangeOp op) {
  BufferType buffer = op.getBuffer().getType();
  return buffer.getSlotBytes() / buffer.getLayout().getLayout().repeat;
}

/// The address of the slot of its step, i32.
static Value exchangeSlot(NvidiaContext &ctx, ExchangeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value slots = ctx.i32(op.getBuffer().getType().getSlots());
  Value slot =
      arith::RemUIOp::create(b, ctx.i32Of(ctx.mapped(op.getStep())), slots);
  return slotAddress(
      ctx, op.getBuffer(),
      arith::IndexCastUIOp::create(b, b.getIndexType(), slot).getResult());
}

/// Where each consumer gets a share, the n-th line is the n-th one's.
Value fa::exchangedRows(NvidiaContext &ctx, ExchangeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!op.getsShare())
    return exchangeSlot(ctx, op);
  Value id = arith::SubIOp::create(b, ctx.warpgroup, ctx.i32(1));
  return arith::AddIOp::create(
      b, exchangeSlot(ctx, op),
      arith::MulIOp::create(b, id, ctx.i32(lineBytes(op))));
}

/// With one slot, dots of the step before may still read it.
static void lowerExchange(NvidiaContext &ctx, ExchangeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto partitions = op->getParentOfType<WarpSpecializeOp>();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType rows = tile::typeOf(op.getValue());
  TileLayout shared = buffer.getLayout().getLayout();
  TileLayout line = swizzledShared(rows.getDimSize(0), shared.base.size(1), 2);
  if (buffer.getSlots() == 1)
    meetConsumers(ctx, partitions);
  // This consumer's rows of a line lie behind those of the consumers before.
  Value own = arith::MulIOp::create(
      b, arith::SubIOp::create(b, ctx.warpgroup, ctx.i32(1)),
      ctx.i32(rows.getDimSize(0) * lineBytes(op) / buffer.getShape()[0]));
  Value to = arith::AddIOp::create(b, exchangeSlot(ctx, op), own);
  for (int64_t n = 0; n < shared.repeat; ++n)
    writeLine(ctx, op.getValue(), n * shared.base.size(1), line,
              offsetBy(ctx, to, n * lineBytes(op)));
  fenceStores(ctx);
  meetConsumers(ctx, partitions);
}

void fa::addExchangeLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerExchange);
}
