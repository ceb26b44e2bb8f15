//===- LowerWarpSpecialize.cpp - warp specialization, turns of consumers --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Turns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Turns of consumers
//===----------------------------------------------------------------------===//

// Barrier n is that of the n-th consumer, whose number among the warpgroups is
// n as well; barrier 0 is the block's. Those who wait and those who arrive are
// a warpgroup each.
static constexpr uint32_t kTurnThreads = 2 * 128;

/// As if the last consumer had had a turn.
static void giveFirstTurn(NvidiaContext &ctx, WarpSpecializeOp partitions) {
  ImplicitLocOpBuilder &b = ctx.b;
  WalkResult found = partitions.getConsumer().walk(
      [](OrderWaitOp) { return WalkResult::interrupt(); });
  if (!found.wasInterrupted())
    return;
  Value isLast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, ctx.warpgroup,
                            ctx.i32(partitions.getConsumers()));
  scf::IfOp::create(b, isLast, [&](OpBuilder &, Location) {
    NVVM::BarrierArriveOp::create(b, ctx.i32(1), ctx.i32(kTurnThreads));
    scf::YieldOp::create(b);
  });
}

static void lowerOrderWait(NvidiaContext &ctx, OrderWaitOp) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::BarrierOp::create(b, Type(), ctx.warpgroup, ctx.i32(kTurnThreads),
                          NVVM::BarrierReductionAttr(), Value());
}

static void lowerOrderArrive(NvidiaContext &ctx, OrderArriveOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto partitions = op->getParentOfType<WarpSpecializeOp>();
  Value isLast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, ctx.warpgroup,
                            ctx.i32(partitions.getConsumers()));
  Value next = arith::AddIOp::create(b, ctx.warpgroup, ctx.i32(1));
  NVVM::BarrierArriveOp::create(
      b, arith::SelectOp::create(b, isLast, ctx.i32(1), next),
      ctx.i32(kTurnThreads));
}

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

static constexpr uint32_t kWarpsOfGroup = 4;

/// Waits for all threads of the block and of those in its cluster.
static void syncCluster(NvidiaContext &ctx) {
  ImplicitLocOpBuilder &b = ctx.b;
  NVVM::ClusterArriveOp::create(b, UnitAttr());
  NVVM::ClusterWaitOp::create(b, UnitAttr());
}

/// Channels that are fetched to.
static llvm::SmallSetVector<Value, 4> fetchedChannels(WarpSpecializeOp op) {
  llvm::SmallSetVector<Value, 4> channels;
  op.getProducer().walk(
      [&](AcquireOp acquire) { channels.insert(acquire.getChannel()); });
  return channels;
}

/// Warps of the load partition that fetch. The last one deals programs, where
/// they are taken in turn.
static uint32_t countFetchers(NvidiaContext &ctx, WarpSpecializeOp op) {
  uint32_t most = kWarpsOfGroup - bool(takenPrograms(ctx.kernel));
  return std::min<uint32_t>(most, fetchedChannels(op).size());
}

static void initializeBarriers(NvidiaContext &ctx, WarpSpecializeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t consumers = op.getConsumers();
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                      ctx.threadInBlock, ctx.i32(0));
  scf::IfOp::create(b, first, [&](OpBuilder &, Location) {
    for (auto channel : ctx.kernel.getBody().getOps<ChannelOp>()) {
      int64_t slots = channel.getType().getBuffer().getSlots();
      int64_t readers = channel.getOwn() || channel.getNarrow() ? 1 : consumers;
      if (channel.getShared())
        readers *= clusterBlocks(ctx);
      // A fetch arrives once, and so does who stores; of the consumers every
      // warp does, and of who converts.
      int64_t full = 1, empty = kWarpsOfGroup * readers;
      if (channel.getStored())
        std::swap(full, empty);
      if (channel.getWidened())
        full = kWarpsOfGroup;
      for (int64_t n = 0; n < 2 * slots; ++n)
        NVVM::MBarrierInitOp::create(
            b, barrierAddress(ctx, channel.getResult(), ctx.i32(n)),
            ctx.i32(n < slots ? full : empty), Value());
    }
    if (ProgramsOp programs = takenPrograms(ctx.kernel))
      initializeTaken(ctx, programs,
                      countFetchers(ctx, op) + kWarpsOfGroup * consumers +
                          op.hasStore());
    NVVM::FenceMbarrierInitOp::create(b);
    scf::YieldOp::create(b);
  });
  writeNumbers(ctx);
  if (clusterBlocks(ctx) > 1)
    syncCluster(ctx);
  else
    NVVM::Barrier0Op::create(b);
}

/// Each channel has a warp of its own, of which one thread fetches: where no
/// slot of one is free yet, the others go on. That thread is alone in the
/// partition, but where bounds are read row by row, or a sequence or pages are
/// looked for, which a warp does faster.
static LogicalResult lowerProducers(NvidiaContext &ctx, WarpSpecializeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallSetVector<Value, 4> channels = fetchedChannels(op);
  uint32_t fetchers = countFetchers(ctx, op);
  Value warp = arith::ShRUIOp::create(b, ctx.threadInBlock, ctx.i32(5));
  LogicalResult result = success();
  bool looksTogether =
      llvm::any_of(ctx.kernel.getBody().front(), [](Operation &op) {
        auto loop = dyn_cast<scf::ForOp>(op);
        return isa<tile::SequenceOfOp>(op) || (loop && findsExtremes(loop));
      });
  op.getProducer().walk(
      [&](FetchOp fetch) { looksTogether |= bool(fetch.getTable()); });
  llvm::SaveAndRestore restore(ctx.fetcher, looksTogether ? Fetcher::OfWarp
                                                          : Fetcher::Alone);
  for (uint32_t n = 0; n < fetchers; ++n) {
    ctx.produced.clear();
    for (size_t m = n; m < channels.size(); m += fetchers)
      ctx.produced.insert(channels[m]);
    Value isOne =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, ctx.i32(n));
    scf::IfOp::create(b, isOne, [&](OpBuilder &, Location) {
      auto lower = [&] {
        if (succeeded(result))
          result = lowerPartition(ctx, op.getProducer().front());
      };
      if (looksTogether)
        lower();
      else
        byOneLane(ctx, lower);
      scf::YieldOp::create(b);
    });
  }
  ProgramsOp programs = takenPrograms(ctx.kernel);
  if (!programs || failed(result))
    return result;
  Value isDealer = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp,
                                         ctx.i32(kWarpsOfGroup - 1));
  scf::IfOp::create(b, isDealer, [&](OpBuilder &, Location) {
    result = lowerDealer(ctx, programs);
    scf::YieldOp::create(b);
  });
  return result;
}

void fa::byOneLane(NvidiaContext &ctx, llvm::function_ref<void()> lower) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  scf::IfOp::create(b, elected, [&](OpBuilder &, Location) {
    lower();
    scf::YieldOp::create(b);
  });
}

/// Gives away or takes registers, as the plan says of a partition.
static void exchangeRegisters(NvidiaContext &ctx, StringRef partition) {
  ImplicitLocOpBuilder &b = ctx.b;
  SchedulePlan plan = planOf(ctx.kernel);
  const Partition *found = plan.find(partition);
  if (!found || !found->registers)
    return;
  // Who computes takes what the others do not need.
  auto action = found->name == "compute" ? NVVM::SetMaxRegisterAction::increase
                                         : NVVM::SetMaxRegisterAction::decrease;
  NVVM::SetMaxRegisterOp::create(b, found->registers, action);
}

static LogicalResult lowerConsumer(NvidiaContext &ctx, WarpSpecializeOp op) {
  exchangeRegisters(ctx, "compute");
  giveFirstTurn(ctx, op);
  LogicalResult result = lowerPartition(ctx, op.getConsumer().front());
  // Shared memory is there as long as the block is.
  if (!ctx.kernel.getBody().getOps<AllocOp>().empty())
    awaitDeliveries(ctx);
  return result;
}

/// One thread of one warp, since one waits for what it has stored.
static LogicalResult lowerStorer(NvidiaContext &ctx, WarpSpecializeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  exchangeRegisters(ctx, "store");
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                        ctx.thread, ctx.i32(32));
  LogicalResult result = success();
  llvm::SaveAndRestore restore(ctx.fetcher, Fetcher::Alone);
  scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
    byOneLane(ctx,
              [&] { result = lowerPartition(ctx, op.getStore().front()); });
    scf::YieldOp::create(b);
  });
  return result;
}

/// All of its threads widen.
static LogicalResult lowerConverter(NvidiaContext &ctx, WarpSpecializeOp op) {
  exchangeRegisters(ctx, "convert");
  return lowerPartition(ctx, op.getConvert().front());
}

/// Who loads.
static LogicalResult lowerLoader(NvidiaContext &ctx, WarpSpecializeOp op) {
  exchangeRegisters(ctx, "load");
  return lowerProducers(ctx, op);
}

namespace {

using LowerPartition = LogicalResult (*)(NvidiaContext &, WarpSpecializeOp);

/// Warpgroups, the number of one or of all that are left, and what they run.
struct Groups {
  std::optional<int64_t> number;
  LowerPartition lower;
};

} // namespace

/// One branch for each of `groups`, the last of which are all that are left.
static LogicalResult lowerGroups(NvidiaContext &ctx, WarpSpecializeOp op,
                                 ArrayRef<Groups> groups) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!groups.front().number)
    return groups.front().lower(ctx, op);
  Value isOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, ctx.warpgroup,
                            ctx.i32(*groups.front().number));
  LogicalResult result = success(), rest = success();
  scf::IfOp::create(
      b, isOne,
      [&](OpBuilder &, Location) {
        result = groups.front().lower(ctx, op);
        scf::YieldOp::create(b);
      },
      [&](OpBuilder &, Location) {
        if (succeeded(result))
          rest = lowerGroups(ctx, op, groups.drop_front());
        scf::YieldOp::create(b);
      });
  return success(succeeded(result) && succeeded(rest));
}

/// The n-th consumer is the n-th warpgroup; behind them are who converts and
/// who stores.
LogicalResult fa::lowerWarpSpecialize(NvidiaContext &ctx, WarpSpecializeOp op) {
  initializeBarriers(ctx, op);
  SmallVector<Groups> groups = {{0, lowerLoader}};
  int64_t next = 1 + op.getConsumers();
  if (op.hasConvert())
    groups.push_back({next++, lowerConverter});
  if (op.hasStore())
    groups.push_back({next, lowerStorer});
  groups.push_back({std::nullopt, lowerConsumer});
  LogicalResult result = lowerGroups(ctx, op, groups);
  // Others of the cluster may still release what this block has fetched.
  if (clusterBlocks(ctx) > 1)
    syncCluster(ctx);
  return result;
}

void fa::addWarpSpecializeLowerings(NvidiaContext &ctx) {
  // Mapped when the threads are numbered, or when their partition begins.
  ctx.registry.skip<ConsumerIdOp, PassedOp>();
  ctx.registry.add(ctx, lowerWarpSpecialize);
  ctx.registry.add(ctx, lowerOrderWait);
  ctx.registry.add(ctx, lowerOrderArrive);
}
