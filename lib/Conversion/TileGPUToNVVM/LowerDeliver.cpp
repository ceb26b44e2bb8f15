//===- LowerDeliver.cpp - tiles that leave by shared memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Barriers of the consumers, behind those of their turns (LowerRoles.cpp).
static constexpr int32_t kConsumerBarriers = 4;

Value NvidiaLowering::meetConsumer(Value condition) {
  Value id = arith::AddIOp::create(b, warpgroup, i32(kConsumerBarriers - 1));
  if (!condition) {
    NVVM::BarrierOp::create(b, Type(), id, i32(128),
                            NVVM::BarrierReductionAttr(), Value());
    return {};
  }
  // The nvvm dialect has reductions of barrier 0 alone.
  return LLVM::CallIntrinsicOp::create(
             b, b.getI1Type(),
             b.getStringAttr("llvm.nvvm.barrier.cta.red.or.aligned.count"),
             ValueRange{id, i32(128), condition})
      .getResult(0);
}

/// PTX ISA 9.7.9.25.3.3, "cp.async.bulk.wait_group": with .read, until the
/// sources have been read. Who has stored nothing goes on.
void NvidiaLowering::awaitDeliveries() {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                       /*read=*/b.getUnitAttr());
}

/// 64 columns of 16 bits, or as many as there are, from `column` on, to the
/// slot at `address`.
void NvidiaLowering::writeLines(DeliverOp op, int64_t column, Value address) {
  TileLayout layout = layoutOf(op.getValue()),
             shared = op.getBuffer().getType().getLayout().getLayout();
  int64_t columns = shared.base.size(1);
  TileLayout part = mmaAccumulator(layout.size(0), columns, /*warps=*/4);
  auto [bases, offsets] = byteOffsets(part.base, shared.base, /*bytes=*/2);
  SmallVector<Value> pairs(packedOf(op.getValue()));
  // The registers of the part's columns are neighbours.
  int64_t first = column / columns * part.numRegisters();
  int64_t count = std::min(part.numRegisters(), layout.numRegisters() - first);
  for (int64_t reg = 0; reg < count; reg += 2)
    LLVM::StoreOp::create(b, pairs[(first + reg) / 2],
                          swizzledAddress(address, bases, offsets[reg]));
}

/// Whether `index` is more than sums and products of numbers of programs and
/// consumers: a predicate that always holds takes a register where none is
/// left.
static bool mayBeNegative(Value index) {
  Operation *op = index.getDefiningOp();
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.isNegative();
  if (isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), mayBeNegative);
  return !isa_and_nonnull<tile::ProgramIdOp, ConsumerIdOp>(op);
}

void NvidiaLowering::storeBoxes(DeliverOp op, int64_t column, Value address) {
  BufferType buffer = op.getBuffer().getType();
  TileLayout shared = buffer.getLayout().getLayout();
  Value descriptor = parameterOf(tensorMapOf(op));
  // A branch for one thread would make ptxas hold what the others share, the
  // steps of the channels among it, in registers of each.
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
  Value row = op.getIndices()[op.getDims()[0]], stores = isFirst;
  if (mayBeNegative(row)) {
    // Rows before those of the tensor are as many as the box has, or none.
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                          mapped(row), index(0));
    stores = arith::AndIOp::create(b, isFirst, isThere);
  }
  for (int64_t line = 0; line < shared.repeat; ++line) {
    SmallVector<Value> start = boxStart(op.getIndices(), op.getDims()[1],
                                        column + line * shared.base.size(1));
    Value from =
        offsetBy(address, line * buffer.getSlotBytes() / shared.repeat);
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        b, descriptor, LLVM::IntToPtrOp::create(b, sharedPointer(), from),
        start, Value(), NVVM::TMAStoreMode::TILE, stores);
  }
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

void NvidiaLowering::lowerDeliver(DeliverOp op) {
  BufferType buffer = op.getBuffer().getType();
  TileLayout shared = buffer.getLayout().getLayout();
  Value slot = slotAddress(op.getBuffer(), mapped(op.getSlot()));
  int64_t columns = buffer.getShape()[1];
  int64_t all = cast<RankedTensorType>(op.getValue().getType()).getDimSize(1);
  ThreadAnew anew(*this);
  for (int64_t column = 0; column < all; column += columns) {
    awaitDeliveries();
    meetConsumer();
    for (int64_t line = 0; line < shared.repeat; ++line)
      writeLines(op, column + line * shared.base.size(1),
                 offsetBy(slot, line * buffer.getSlotBytes() / shared.repeat));
    NVVM::FenceProxyOp::create(
        b,
        NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    meetConsumer();
    storeBoxes(op, column, slot);
  }
}
