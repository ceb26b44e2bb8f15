//===- LowerExchange.cpp - tiles that consumers have of each other --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// The barrier of all consumers, behind those of each (LowerDeliver.cpp).
static constexpr int32_t kExchangeBarrier = 7;

void NvidiaLowering::meetConsumers(RolesOp roles) {
  NVVM::BarrierOp::create(b, Type(), i32(kExchangeBarrier),
                          i32(128 * roles.getConsumers()),
                          NVVM::BarrierReductionAttr(), Value());
}

/// A line of a slot has the rows of all consumers, of which as many columns as
/// a warpgroup computes rows: those are rows of the transpose.
static int64_t lineBytes(ExchangeOp op) {
  BufferType buffer = op.getBuffer().getType();
  return buffer.getSlotBytes() / buffer.getLayout().getLayout().repeat;
}

Value NvidiaLowering::exchangeSlot(ExchangeOp op) {
  Value slots = i32(op.getBuffer().getType().getSlots());
  Value slot = arith::RemUIOp::create(b, i32Of(mapped(op.getStep())), slots);
  return slotAddress(
      op.getBuffer(),
      arith::IndexCastUIOp::create(b, b.getIndexType(), slot).getResult());
}

/// Where each consumer gets a share, the n-th line is the n-th one's.
Value NvidiaLowering::exchangedRows(ExchangeOp op) {
  if (!op.getsShare())
    return exchangeSlot(op);
  Value id = arith::SubIOp::create(b, warpgroup, i32(1));
  return arith::AddIOp::create(
      b, exchangeSlot(op), arith::MulIOp::create(b, id, i32(lineBytes(op))));
}

/// With one slot, dots of the step before may still read it.
void NvidiaLowering::lowerExchange(ExchangeOp op) {
  auto roles = op->getParentOfType<RolesOp>();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType rows = tile::typeOf(op.getValue());
  TileLayout shared = buffer.getLayout().getLayout();
  TileLayout line = swizzledShared(rows.getDimSize(0), shared.base.size(1), 2);
  if (buffer.getSlots() == 1)
    meetConsumers(roles);
  // This consumer's rows of a line lie behind those of the consumers before.
  Value own = arith::MulIOp::create(
      b, arith::SubIOp::create(b, warpgroup, i32(1)),
      i32(rows.getDimSize(0) * lineBytes(op) / buffer.getShape()[0]));
  Value to = arith::AddIOp::create(b, exchangeSlot(op), own);
  for (int64_t n = 0; n < shared.repeat; ++n)
    writeLine(op.getValue(), n * shared.base.size(1), line,
              offsetBy(to, n * lineBytes(op)));
  fenceStores();
  meetConsumers(roles);
}
