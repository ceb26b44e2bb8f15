//===- LowerDeliver.cpp - tiles that leave by shared memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowerings.h"

#include "fa/Conversion/TileGPUToNVVM.h"
#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Barriers of the consumers, behind those of their turns
/// (LowerWarpSpecialize.cpp).
static constexpr int32_t kConsumerBarriers = 4;

Value fa::meetConsumer(NvidiaContext &ctx, Value condition) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value id =
      arith::AddIOp::create(b, ctx.warpgroup, ctx.i32(kConsumerBarriers - 1));
  if (!condition) {
    NVVM::BarrierOp::create(b, Type(), id, ctx.i32(128),
                            NVVM::BarrierReductionAttr(), Value());
    return {};
  }
  // The nvvm dialect has reductions of barrier 0 alone.
  return LLVM::CallIntrinsicOp::create(
             b, b.getI1Type(),
             b.getStringAttr("llvm.nvvm.barrier.cta.red.or.aligned.count"),
             ValueRange{id, ctx.i32(128), condition})
      .getResult(0);
}

/// PTX ISA 9.7.9.25.3.3, "cp.async.bulk.wait_group": with .read, until the
/// sources have been read. Who has stored nothing goes on.
void fa::awaitDeliveries(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                       /*read=*/b.getUnitAttr());
}

void fa::writeLine(NvidiaContext &ctx, Value tile, int64_t column,
                   const TileLayout &line, Value address) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(tile);
  int64_t columns = line.base.size(1);
  TileLayout part = mmaAccumulator(layout.size(0), columns, /*warps=*/4);
  int64_t bytes = tile::typeOf(tile).getElementTypeBitWidth() / 8;
  auto [bases, offsets] = byteOffsets(part.base, line.base, bytes);
  SmallVector<Value> pairs = ctx.pairsOf(tile);
  // The registers of the part's columns are neighbours.
  int64_t first = column / columns * part.numRegisters();
  int64_t count = std::min(part.numRegisters(), layout.numRegisters() - first);
  for (int64_t reg = 0; reg < count; reg += 2)
    LLVM::StoreOp::create(b, pairs[(first + reg) / 2],
                          swizzledAddress(ctx, address, bases, offsets[reg]));
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

namespace {

/// Where slots of `buffer` are stored to.
struct Boxes {
  TensorMapInfo map;
  BufferType buffer;
  ValueRange indices;
  ArrayRef<int64_t> dims;
  Value offset = {}; ///< rows behind `indices`, i32; null: none
};

} // namespace

/// Those at `address`, from `column` of the tile on, by the threads of which
/// `stores` is true.
static void storeBoxes(NvidiaContext &ctx, const Boxes &boxes, int64_t column,
                       Value address, Value stores) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType buffer = boxes.buffer;
  TileLayout shared = buffer.getLayout().getLayout();
  Value descriptor = parameterOf(ctx, boxes.map);
  Value row = boxes.indices[boxes.dims[0]];
  if (!boxes.offset && mayBeNegative(row)) {
    // Rows before those of the tensor are as many as the box has, or none.
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                          ctx.mapped(row), ctx.index(0));
    stores = arith::AndIOp::create(b, stores, isThere);
  }
  for (int64_t line = 0; line < shared.repeat; ++line) {
    SmallVector<Value> start = boxStart(ctx, boxes.indices, boxes.dims[1],
                                        column + line * shared.base.size(1));
    if (boxes.offset) {
      Value &at = start[start.size() - 1 - boxes.dims[0]];
      at = arith::AddIOp::create(b, at, boxes.offset);
    }
    Value from =
        offsetBy(ctx, address, line * buffer.getSlotBytes() / shared.repeat);
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        b, descriptor, LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), from),
        start, Value(), NVVM::TMAStoreMode::TILE, stores);
  }
}

void fa::fenceStores(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::FenceProxyOp::create(
      b,
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

static void lowerPut(NvidiaContext &ctx, PutOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType buffer = op.getChannel().getType().getBuffer();
  TileLayout shared = buffer.getLayout().getLayout();
  Value slot = channelSlot(ctx, op.getChannel(), op.getStep());
  ThreadAnew anew(ctx);
  for (int64_t line = 0; line < shared.repeat; ++line)
    writeLine(
        ctx, op.getValue(), line * shared.base.size(1), shared,
        offsetBy(ctx, slot, line * buffer.getSlotBytes() / shared.repeat));
  fenceStores(ctx);
  // One lane says for the warp that all have written.
  NVVM::SyncWarpOp::create(b, ctx.i32(-1));
  Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(31));
  SimtArriveOp::create(b, fullBarrier(ctx, op.getChannel(), op.getStep()), lane,
                       Value(), /*ranks=*/1);
}

/// By the only thread of its region.
static void lowerSend(NvidiaContext &ctx, SendOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value always = arith::ConstantOp::create(b, b.getBoolAttr(true));
  storeBoxes(ctx,
             {tensorMapOf(op), op.getChannel().getType().getBuffer(),
              op.getIndices(), op.getDims()},
             /*column=*/0, channelSlot(ctx, op.getChannel(), op.getStep()),
             always);
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

/// A tile of which `valid` rows are in front of the end, if they are not all:
/// groups of rows by a thread each, and those of the group that is cut. Returns
/// whether it is.
static Value storeCutRows(NvidiaContext &ctx, DeliverOp op, Boxes boxes,
                          int64_t column, Value slot, Value valid) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto less = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  };
  BufferType buffer = op.getBuffer().getType();
  int64_t rows = buffer.getShape()[0];
  int64_t line =
      buffer.getSlotBytes() / buffer.getLayout().getLayout().repeat / rows;
  Value isCut = less(valid, ctx.i32(rows));
  auto store = [&](int64_t count, Value row, Value isThere) {
    boxes.map = tensorMapOf(op, count);
    boxes.offset = row;
    Value from = arith::AddIOp::create(
        b, slot, arith::MulIOp::create(b, row, ctx.i32(line)));
    storeBoxes(ctx, boxes, column, from,
               arith::AndIOp::create(b, isCut, isThere));
  };
  Value group = arith::MulIOp::create(b, ctx.thread, ctx.i32(kSwizzleRows));
  Value behind = arith::AddIOp::create(b, group, ctx.i32(kSwizzleRows - 1));
  store(kSwizzleRows, group, less(behind, valid));
  Value cut = arith::AndIOp::create(b, valid, ctx.i32(-kSwizzleRows));
  Value row = arith::AddIOp::create(b, cut, ctx.thread);
  store(1, row, less(row, valid));
  return isCut;
}

static void lowerDeliver(NvidiaContext &ctx, DeliverOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  BufferType buffer = op.getBuffer().getType();
  TileLayout shared = buffer.getLayout().getLayout();
  Value slot = slotAddress(ctx, op.getBuffer(), ctx.mapped(op.getSlot()));
  int64_t columns = buffer.getShape()[1];
  int64_t all = cast<RankedTensorType>(op.getValue().getType()).getDimSize(1);
  Boxes boxes = {tensorMapOf(op), buffer, op.getIndices(), op.getDims()};
  ThreadAnew anew(ctx);
  Value valid;
  if (op.getEnd())
    valid = arith::SubIOp::create(
        b, ctx.i32Of(ctx.mapped(op.getEnd())),
        ctx.i32Of(ctx.mapped(boxes.indices[boxes.dims[0]])));
  if (valid) // a tile may lie behind the end
    valid = arith::MaxSIOp::create(b, valid, ctx.i32(0));
  for (int64_t column = 0; column < all; column += columns) {
    awaitDeliveries(ctx);
    meetConsumer(ctx);
    for (int64_t line = 0; line < shared.repeat; ++line)
      writeLine(
          ctx, op.getValue(), column + line * shared.base.size(1), shared,
          offsetBy(ctx, slot, line * buffer.getSlotBytes() / shared.repeat));
    fenceStores(ctx);
    meetConsumer(ctx);
    // A branch for one thread would make ptxas hold what the others share, the
    // steps of the channels among it, in registers of each.
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          ctx.thread, ctx.i32(0));
    if (valid) {
      Value isCut = storeCutRows(ctx, op, boxes, column, slot, valid);
      Value always = arith::ConstantOp::create(b, b.getBoolAttr(true));
      isFirst = arith::AndIOp::create(b, isFirst,
                                      arith::XOrIOp::create(b, isCut, always));
    }
    storeBoxes(ctx, boxes, column, slot, isFirst);
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  }
}

/// Behind the loops of a consumer.
static LogicalResult lowerConsumerStore(NvidiaContext &ctx, tile::StoreOp op) {
  std::optional<ThreadAnew> anew;
  if (op->getParentOfType<WarpSpecializeOp>())
    anew.emplace(ctx);
  return lowerStore(ctx, op);
}

void fa::addDeliverLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerConsumerStore);
  ctx.registry.add(ctx, lowerDeliver);
  ctx.registry.add(ctx, lowerPut);
  ctx.registry.add(ctx, lowerSend);
}
