//===- LowerChannels.cpp - slots that are filled and released -------------===//
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

/// How often the slots have been used before a step, and the step's slot. 32
/// bits count more steps than a kernel takes in a day.
static std::pair<Value, Value>
divideStep(NvidiaContext &ctx, TypedValue<ChannelType> channel, Value step) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value n = ctx.i32Of(ctx.mapped(step));
  Value slots = ctx.i32(channel.getType().getBuffer().getSlots());
  return {arith::DivUIOp::create(b, n, slots),
          arith::RemUIOp::create(b, n, slots)};
}

/// Number of a step's slot, and how often the slot was used before, modulo 2;
/// i32.
static Value slotOf(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                    Value step) {
  return divideStep(ctx, channel, step).second;
}

static Value phaseOf(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                     Value step) {
  ImplicitLocOpBuilder &b = ctx.b;
  return arith::AndIOp::create(b, divideStep(ctx, channel, step).first,
                               ctx.i32(1));
}

Value fa::channelSlot(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                      Value step) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto op = channel.getDefiningOp<ChannelOp>();
  Value bytes = arith::MulIOp::create(
      b, slotOf(ctx, channel, step),
      ctx.i32(channel.getType().getBuffer().getSlotBytes()));
  return arith::AddIOp::create(b, sharedBase(ctx, *op.getOffset()), bytes);
}

Value fa::barrierAddress(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                         Value number) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto op = channel.getDefiningOp<ChannelOp>();
  Value bytes = arith::MulIOp::create(b, number, ctx.i32(8));
  Value at =
      arith::AddIOp::create(b, sharedBase(ctx, *op.getBarriers()), bytes);
  return LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), at);
}

Value fa::fullBarrier(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                      Value step) {
  return barrierAddress(ctx, channel, slotOf(ctx, channel, step));
}

Value fa::emptyBarrier(NvidiaContext &ctx, TypedValue<ChannelType> channel,
                       Value step) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value slot = slotOf(ctx, channel, step);
  return barrierAddress(
      ctx, channel,
      arith::AddIOp::create(b, slot,
                            ctx.i32(channel.getType().getBuffer().getSlots())));
}

static void lowerAcquire(NvidiaContext &ctx, AcquireOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  bool isFetched = !channel.getStored() && !channel.getWidened();
  if (isFetched && !ctx.produced.contains(op.getChannel()))
    return;
  // The phase before the first one counts as complete.
  Value phase = phaseOf(ctx, op.getChannel(), op.getStep());
  SimtWaitPhaseOp::create(b, emptyBarrier(ctx, op.getChannel(), op.getStep()),
                          arith::XOrIOp::create(b, phase, ctx.i32(1)));
}

static void lowerAwait(NvidiaContext &ctx, AwaitOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  SimtWaitPhaseOp::create(b, fullBarrier(ctx, op.getChannel(), op.getStep()),
                          phaseOf(ctx, op.getChannel(), op.getStep()));
}

/// A vector lies as it is; neighbours that a thread has come together.
static void receiveVector(NvidiaContext &ctx, ReceiveOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileLayout layout = layoutOf(op.getResult());
  Type element = tile::typeOf(op.getResult()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value thread = ctx.i32Of(ctx.threadCoord(layout, 0));
  Value first =
      arith::AddIOp::create(b, channelSlot(ctx, op.getChannel(), op.getStep()),
                            arith::MulIOp::create(b, thread, ctx.i32(bytes)));
  Value at = LLVM::IntToPtrOp::create(b, ctx.sharedPointer(), first);
  auto columnOf = [&](int64_t reg) { return layout.apply(reg, 0, 0)[0]; };
  int64_t registers = layout.numRegisters();
  int64_t together =
      registers % 2 == 0 && columnOf(1) == columnOf(0) + 1 ? 2 : 1;
  // As integers, LLVM would negate them by an instruction of its own.
  Type lanes = VectorType::get({together}, element);
  Type word =
      element.isF32() ? lanes : Type(b.getIntegerType(8 * bytes * together));
  SmallVector<Value> words, elements;
  for (int64_t reg = 0; reg < registers; reg += together) {
    Value from = LLVM::GEPOp::create(
        b, at.getType(), b.getI8Type(), at,
        ArrayRef<LLVM::GEPArg>{int32_t(bytes * columnOf(reg))});
    words.push_back(LLVM::LoadOp::create(b, word, from));
    Value all = words.back();
    if (all.getType() != lanes)
      all = LLVM::BitcastOp::create(b, lanes, all);
    for (int64_t n = 0; n < together; ++n)
      elements.push_back(LLVM::ExtractElementOp::create(b, all, ctx.i32(n)));
  }
  ctx.received[op] = words;
  ctx.setElements(op.getResult(), elements);
}

/// A thread's neighbours come together: of 8 or 16 bits, 16 bytes of a line are
/// four threads', and the swizzle keeps lines of eight rows apart. Of 32 bits
/// two rows meet in their banks.
static void lowerReceive(NvidiaContext &ctx, ReceiveOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (layoutOf(op.getResult()).rank() == 1)
    return receiveVector(ctx, op);
  BufferType buffer = op.getChannel().getType().getBuffer();
  TileLayout layout = layoutOf(op.getResult()),
             shared = buffer.getLayout().getLayout();
  Type element = buffer.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t line = shared.base.size(1), columns = std::min(line, layout.size(1));
  TileLayout part = mmaAccumulator(layout.size(0), columns, /*warps=*/4);
  auto [bases, offsets] = byteOffsets(part.base, shared.base, bytes);
  Value slot = channelSlot(ctx, op.getChannel(), op.getStep());
  int64_t lineBytes = buffer.getSlotBytes() / shared.repeat;
  Type word = b.getIntegerType(16 * bytes);
  Type pair = VectorType::get({2}, element);
  SmallVector<Value> words, elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += 2) {
    Value from = offsetBy(ctx, slot, reg / part.numRegisters() * lineBytes);
    Value at =
        swizzledAddress(ctx, from, bases, offsets[reg % part.numRegisters()]);
    words.push_back(LLVM::LoadOp::create(b, word, at));
    if (bytes == 2)
      continue;
    Value both = LLVM::BitcastOp::create(b, pair, words.back());
    for (int64_t n : {0, 1})
      elements.push_back(LLVM::ExtractElementOp::create(b, both, ctx.i32(n)));
  }
  ctx.received[op] = words;
  if (bytes == 2)
    ctx.setPacked(op.getResult(), words);
  else
    ctx.setElements(op.getResult(), elements);
}

/// Something, f32, that is there when all `words` are.
static Value whenRead(NvidiaContext &ctx, ArrayRef<Value> words) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto bitsOf = [&](Value word) -> Value {
    auto lanes = dyn_cast<VectorType>(word.getType());
    if (!lanes)
      return word;
    Type bits = b.getIntegerType(lanes.getNumElements() *
                                 lanes.getElementTypeBitWidth());
    return LLVM::BitcastOp::create(b, bits, word);
  };
  Value all = bitsOf(words.front());
  for (Value word : words.drop_front())
    all = arith::XOrIOp::create(b, all, bitsOf(word));
  if (all.getType().isInteger(16))
    all = arith::ExtUIOp::create(b, b.getI32Type(), all);
  if (all.getType().isInteger(64)) {
    Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    Value upper = arith::ShRUIOp::create(b, all, half);
    all = arith::TruncIOp::create(b, b.getI32Type(),
                                  arith::XOrIOp::create(b, all, upper));
  }
  return LLVM::BitcastOp::create(b, b.getF32Type(), all);
}

/// What has been received is under way until it is there, ptxas does not wait
/// for it before the arrival, and what is fetched next comes by another proxy.
/// One lane says for the warp that all have read.
static void lowerRelease(NvidiaContext &ctx, ReleaseOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (channel.getStored()) {
    awaitDeliveries(ctx);
    SimtArriveOp::create(b, emptyBarrier(ctx, op.getChannel(), op.getStep()),
                         /*lane=*/ctx.i32(0), Value(), /*ranks=*/1);
    return;
  }
  Value after;
  // Later than half of the tile, the slot would be fetched too late.
  if (op.getAfter())
    after =
        ctx.elementsOf(op.getAfter())[ctx.elementsOf(op.getAfter()).size() / 2];
  for (Operation *user : op.getChannel().getUsers())
    if (auto receive = dyn_cast<ReceiveOp>(user);
        receive && receive->getBlock() == op->getBlock() &&
        receive->isBeforeInBlock(op) && receive.getStep() == op.getStep()) {
      after = whenRead(ctx, ctx.received[receive]);
      NVVM::SyncWarpOp::create(b, ctx.i32(-1));
    }
  Value lane = arith::AndIOp::create(b, ctx.thread, ctx.i32(31));
  SimtArriveOp::create(b, emptyBarrier(ctx, op.getChannel(), op.getStep()),
                       lane, after,
                       channel.getShared() ? clusterBlocks(ctx) : 1);
}

void fa::addChannelsLowerings(NvidiaContext &ctx) {
  ctx.registry.skip<ChannelOp>(); // its slots are where they are used
  ctx.registry.add(ctx, lowerAcquire);
  ctx.registry.add(ctx, lowerAwait);
  ctx.registry.add(ctx, lowerReceive);
  ctx.registry.add(ctx, lowerRelease);
}
