//===- LowerRoles.cpp - warp roles, turns, channels -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static constexpr uint32_t kWarpsOfGroup = 4;

void NvidiaLowering::initializeBarriers(int64_t consumers) {
  Value first =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadInBlock, i32(0));
  scf::IfOp::create(b, first, [&](OpBuilder &, Location) {
    for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
      int64_t slots = channel.getType().getBuffer().getSlots();
      int64_t readers = channel.getOwn() ? 1 : consumers;
      if (channel.getShared())
        readers *= clusterBlocks();
      // A fetch arrives once, and so does who stores; of the consumers every
      // warp does.
      int64_t full = 1, empty = kWarpsOfGroup * readers;
      if (channel.getStored())
        std::swap(full, empty);
      for (int64_t n = 0; n < 2 * slots; ++n)
        NVVM::MBarrierInitOp::create(
            b, barrierAddress(channel.getResult(), i32(n)),
            i32(n < slots ? full : empty), Value());
    }
    NVVM::FenceMbarrierInitOp::create(b);
    scf::YieldOp::create(b);
  });
  writeNumbers();
  if (clusterBlocks() > 1)
    syncCluster();
  else
    NVVM::Barrier0Op::create(b);
}

void NvidiaLowering::syncCluster() {
  NVVM::ClusterArriveOp::create(b, UnitAttr());
  NVVM::ClusterWaitOp::create(b, UnitAttr());
}

/// Each channel has a warp of its own, of which one thread fetches: where no
/// slot of one is free yet, the others go on. That thread is alone in the role,
/// but where bounds are read row by row, or a sequence or pages are looked for,
/// which a warp does faster.
LogicalResult NvidiaLowering::lowerProducers(RolesOp op) {
  llvm::SmallSetVector<Value, 4> channels;
  op.getProducer().walk(
      [&](AcquireOp acquire) { channels.insert(acquire.getChannel()); });
  Value warp = arith::ShRUIOp::create(b, threadInBlock, i32(5));
  LogicalResult result = success();
  bool looksTogether =
      llvm::any_of(kernel.getBody().front(), [](Operation &op) {
        auto loop = dyn_cast<scf::ForOp>(op);
        return isa<tile::SequenceOfOp>(op) || (loop && findsExtremes(loop));
      });
  op.getProducer().walk(
      [&](FetchOp fetch) { looksTogether |= bool(fetch.getTable()); });
  llvm::SaveAndRestore restore(fetcher, looksTogether ? Fetcher::OfWarp
                                                      : Fetcher::Alone);
  for (uint32_t n = 0; n < kWarpsOfGroup && n < channels.size(); ++n) {
    produced.clear();
    for (size_t m = n; m < channels.size(); m += kWarpsOfGroup)
      produced.insert(channels[m]);
    Value isOne =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, i32(n));
    scf::IfOp::create(b, isOne, [&](OpBuilder &, Location) {
      auto lower = [&] {
        if (succeeded(result))
          result = lowerRole(op.getProducer().front());
      };
      if (looksTogether)
        lower();
      else
        byOneLane(lower);
      scf::YieldOp::create(b);
    });
  }
  return result;
}

void NvidiaLowering::byOneLane(llvm::function_ref<void()> lower) {
  Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  scf::IfOp::create(b, elected, [&](OpBuilder &, Location) {
    lower();
    scf::YieldOp::create(b);
  });
}

void NvidiaLowering::exchangeRegisters(StringRef partition) {
  SchedulePlan plan = planOf(kernel);
  const Partition *found = plan.find(partition);
  if (!found || !found->registers)
    return;
  // Who computes takes what the others do not need.
  auto action = found->name == "compute" ? NVVM::SetMaxRegisterAction::increase
                                         : NVVM::SetMaxRegisterAction::decrease;
  NVVM::SetMaxRegisterOp::create(b, found->registers, action);
}

LogicalResult NvidiaLowering::lowerConsumer(RolesOp op) {
  exchangeRegisters("compute");
  giveFirstTurn(op);
  LogicalResult result = lowerRole(op.getConsumer().front());
  // Shared memory is there as long as the block is.
  if (!kernel.getBody().getOps<AllocOp>().empty())
    awaitDeliveries();
  return result;
}

/// One thread of one warp, since one waits for what it has stored.
LogicalResult NvidiaLowering::lowerStorer(RolesOp op) {
  exchangeRegisters("store");
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, i32(32));
  LogicalResult result = success();
  llvm::SaveAndRestore restore(fetcher, Fetcher::Alone);
  scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
    byOneLane([&] { result = lowerRole(op.getStore().front()); });
    scf::YieldOp::create(b);
  });
  return result;
}

LogicalResult NvidiaLowering::lowerRoles(RolesOp op) {
  initializeBarriers(op.getConsumers());
  LogicalResult result = success();
  auto isGroup = [&](int64_t number) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup,
                                 i32(number));
  };
  auto lowerOthers = [&](OpBuilder &, Location) {
    if (succeeded(result))
      result = lowerConsumer(op);
    scf::YieldOp::create(b);
  };
  scf::IfOp::create(
      b, isGroup(0),
      [&](OpBuilder &, Location) {
        exchangeRegisters("load");
        result = lowerProducers(op);
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &builder, Location loc) {
        if (!op.hasStore())
          return lowerOthers(builder, loc);
        scf::IfOp::create(
            b, isGroup(op.countGroups() - 1),
            [&](OpBuilder &, Location) {
              if (succeeded(result))
                result = lowerStorer(op);
              scf::YieldOp::create(b);
            },
            lowerOthers);
        scf::YieldOp::create(b);
      });
  // Others of the cluster may still release what this block has fetched.
  if (clusterBlocks() > 1)
    syncCluster();
  return result;
}

//===----------------------------------------------------------------------===//
// Turns of consumers
//===----------------------------------------------------------------------===//

// Barrier n is that of the n-th consumer, whose number among the warpgroups is
// n as well; barrier 0 is the block's. Those who wait and those who arrive are
// a warpgroup each.
static constexpr uint32_t kTurnThreads = 2 * 128;

/// As if the last consumer had had a turn.
void NvidiaLowering::giveFirstTurn(RolesOp roles) {
  WalkResult found = roles.getConsumer().walk(
      [](OrderWaitOp) { return WalkResult::interrupt(); });
  if (!found.wasInterrupted())
    return;
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup,
                                       i32(roles.getConsumers()));
  scf::IfOp::create(b, isLast, [&](OpBuilder &, Location) {
    NVVM::BarrierArriveOp::create(b, i32(1), i32(kTurnThreads));
    scf::YieldOp::create(b);
  });
}

void NvidiaLowering::lowerOrderWait(OrderWaitOp) {
  NVVM::BarrierOp::create(b, Type(), warpgroup, i32(kTurnThreads),
                          NVVM::BarrierReductionAttr(), Value());
}

void NvidiaLowering::lowerOrderArrive(OrderArriveOp op) {
  auto roles = op->getParentOfType<RolesOp>();
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup,
                                       i32(roles.getConsumers()));
  Value next = arith::AddIOp::create(b, warpgroup, i32(1));
  NVVM::BarrierArriveOp::create(
      b, arith::SelectOp::create(b, isLast, i32(1), next), i32(kTurnThreads));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

Value NvidiaLowering::slotOf(TypedValue<ChannelType> channel, Value step) {
  return divideStep(channel, step).second;
}

Value NvidiaLowering::phaseOf(TypedValue<ChannelType> channel, Value step) {
  return arith::AndIOp::create(b, divideStep(channel, step).first, i32(1));
}

/// How often the slots have been used before a step, and the step's slot. 32
/// bits count more steps than a kernel takes in a day.
std::pair<Value, Value>
NvidiaLowering::divideStep(TypedValue<ChannelType> channel, Value step) {
  Value n = i32Of(mapped(step));
  Value slots = i32(channel.getType().getBuffer().getSlots());
  return {arith::DivUIOp::create(b, n, slots),
          arith::RemUIOp::create(b, n, slots)};
}

Value NvidiaLowering::channelSlot(TypedValue<ChannelType> channel, Value step) {
  auto op = channel.getDefiningOp<ChannelOp>();
  Value bytes =
      arith::MulIOp::create(b, slotOf(channel, step),
                            i32(channel.getType().getBuffer().getSlotBytes()));
  return arith::AddIOp::create(b, sharedBase(*op.getOffset()), bytes);
}

Value NvidiaLowering::barrierAddress(TypedValue<ChannelType> channel,
                                     Value number) {
  auto op = channel.getDefiningOp<ChannelOp>();
  Value bytes = arith::MulIOp::create(b, number, i32(8));
  Value at = arith::AddIOp::create(b, sharedBase(*op.getBarriers()), bytes);
  return LLVM::IntToPtrOp::create(b, sharedPointer(), at);
}

Value NvidiaLowering::fullBarrier(TypedValue<ChannelType> channel, Value step) {
  return barrierAddress(channel, slotOf(channel, step));
}

Value NvidiaLowering::emptyBarrier(TypedValue<ChannelType> channel,
                                   Value step) {
  Value slot = slotOf(channel, step);
  return barrierAddress(
      channel, arith::AddIOp::create(
                   b, slot, i32(channel.getType().getBuffer().getSlots())));
}

void NvidiaLowering::lowerAcquire(AcquireOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (!channel.getStored() && !produced.contains(op.getChannel()))
    return;
  // The phase before the first one counts as complete.
  Value phase = phaseOf(op.getChannel(), op.getStep());
  SimtWaitPhaseOp::create(b, emptyBarrier(op.getChannel(), op.getStep()),
                          arith::XOrIOp::create(b, phase, i32(1)));
}

void NvidiaLowering::lowerAwait(AwaitOp op) {
  SimtWaitPhaseOp::create(b, fullBarrier(op.getChannel(), op.getStep()),
                          phaseOf(op.getChannel(), op.getStep()));
}

/// A thread's neighbours come together: of 8 or 16 bits, 16 bytes of a line are
/// four threads', and the swizzle keeps lines of eight rows apart. Of 32 bits
/// two rows meet in their banks.
void NvidiaLowering::lowerReceive(ReceiveOp op) {
  if (layoutOf(op.getResult()).rank() == 1)
    return receiveVector(op);
  BufferType buffer = op.getChannel().getType().getBuffer();
  TileLayout layout = layoutOf(op.getResult()),
             shared = buffer.getLayout().getLayout();
  Type element = buffer.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t line = shared.base.size(1), columns = std::min(line, layout.size(1));
  TileLayout part = mmaAccumulator(layout.size(0), columns, /*warps=*/4);
  auto [bases, offsets] = byteOffsets(part.base, shared.base, bytes);
  Value slot = channelSlot(op.getChannel(), op.getStep());
  int64_t lineBytes = buffer.getSlotBytes() / shared.repeat;
  Type word = b.getIntegerType(16 * bytes);
  Type pair = VectorType::get({2}, element);
  SmallVector<Value> words, elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += 2) {
    Value from = offsetBy(slot, reg / part.numRegisters() * lineBytes);
    Value at = swizzledAddress(from, bases, offsets[reg % part.numRegisters()]);
    words.push_back(LLVM::LoadOp::create(b, word, at));
    if (bytes == 2)
      continue;
    Value both = LLVM::BitcastOp::create(b, pair, words.back());
    for (int64_t n : {0, 1})
      elements.push_back(LLVM::ExtractElementOp::create(b, both, i32(n)));
  }
  received[op] = words;
  if (bytes == 2)
    setPacked(op.getResult(), words);
  else
    setElements(op.getResult(), elements);
}

/// A vector lies as it is; neighbours that a thread has come together.
void NvidiaLowering::receiveVector(ReceiveOp op) {
  TileLayout layout = layoutOf(op.getResult());
  Type element = tile::typeOf(op.getResult()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value thread = i32Of(threadCoord(layout, 0));
  Value first =
      arith::AddIOp::create(b, channelSlot(op.getChannel(), op.getStep()),
                            arith::MulIOp::create(b, thread, i32(bytes)));
  Value at = LLVM::IntToPtrOp::create(b, sharedPointer(), first);
  auto columnOf = [&](int64_t reg) { return layout.apply(reg, 0, 0)[0]; };
  int64_t registers = layout.numRegisters();
  int64_t together =
      registers % 2 == 0 && columnOf(1) == columnOf(0) + 1 ? 2 : 1;
  Type word = b.getIntegerType(8 * bytes * together);
  Type lanes = VectorType::get({together}, element);
  SmallVector<Value> words, elements;
  for (int64_t reg = 0; reg < registers; reg += together) {
    Value from = LLVM::GEPOp::create(
        b, at.getType(), b.getI8Type(), at,
        ArrayRef<LLVM::GEPArg>{int32_t(bytes * columnOf(reg))});
    words.push_back(LLVM::LoadOp::create(b, word, from));
    Value all = LLVM::BitcastOp::create(b, lanes, words.back());
    for (int64_t n = 0; n < together; ++n)
      elements.push_back(LLVM::ExtractElementOp::create(b, all, i32(n)));
  }
  received[op] = words;
  setElements(op.getResult(), elements);
}

/// Something, f32, that is there when all `words` are.
Value NvidiaLowering::whenRead(ArrayRef<Value> words) {
  Value all = words.front();
  for (Value word : words.drop_front())
    all = arith::XOrIOp::create(b, all, word);
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
void NvidiaLowering::lowerRelease(ReleaseOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (channel.getStored()) {
    awaitDeliveries();
    SimtArriveOp::create(b, emptyBarrier(op.getChannel(), op.getStep()),
                         /*lane=*/i32(0), Value(), /*ranks=*/1);
    return;
  }
  Value after;
  // Later than half of the tile, the slot would be fetched too late.
  if (op.getAfter())
    after = elementsOf(op.getAfter())[elementsOf(op.getAfter()).size() / 2];
  for (Operation *user : op.getChannel().getUsers())
    if (auto receive = dyn_cast<ReceiveOp>(user);
        receive && receive->getBlock() == op->getBlock() &&
        receive->isBeforeInBlock(op) && receive.getStep() == op.getStep()) {
      after = whenRead(received[receive]);
      NVVM::SyncWarpOp::create(b, i32(-1));
    }
  Value lane = arith::AndIOp::create(b, thread, i32(31));
  SimtArriveOp::create(b, emptyBarrier(op.getChannel(), op.getStep()), lane,
                       after, channel.getShared() ? clusterBlocks() : 1);
}
