//===- MutatePartitions.cpp - faults of warp-specialized kernels ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "TileGPU/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

//===----------------------------------------------------------------------===//
// Faults of the schedule (S7)
//===----------------------------------------------------------------------===//

static int64_t dropAwait(Operation *kernel) {
  return erase<AwaitOp>(collect<AwaitOp>(kernel));
}

static int64_t dropRelease(Operation *kernel) {
  return erase<ReleaseOp>(collect<ReleaseOp>(kernel));
}

/// `step` + `uses` times the slots of the channel: the same slot, in another
/// phase.
static Value otherPhase(Operation *op, TypedValue<ChannelType> channel,
                        Value step, int64_t uses) {
  OpBuilder b(op);
  int64_t slots = channel.getType().getBuffer().getSlots();
  Value distance =
      arith::ConstantIndexOp::create(b, op->getLoc(), uses * slots);
  return arith::AddIOp::create(b, op->getLoc(), step, distance);
}

/// Consumers take the phase before for the one that they wait for.
static int64_t stalePhase(Operation *kernel) {
  auto waits = collect<AwaitOp>(kernel);
  for (AwaitOp wait : waits)
    wait.getStepMutable().assign(
        otherPhase(wait, wait.getChannel(), wait.getStep(), -1));
  return waits.size();
}

/// The producer waits for a phase that cannot come.
static int64_t latePhase(Operation *kernel) {
  auto waits = collect<AcquireOp>(kernel);
  for (AcquireOp wait : waits)
    wait.getStepMutable().assign(
        otherPhase(wait, wait.getChannel(), wait.getStep(), 1));
  return waits.size();
}

/// Slots are given back while the dots that read them run.
static int64_t releaseEarly(Operation *kernel) {
  int64_t changed = 0;
  for (ReleaseOp release : collect<ReleaseOp>(kernel))
    if (auto wait = dyn_cast_if_present<DotWaitOp>(release->getPrevNode())) {
      release->moveBefore(wait);
      ++changed;
    }
  return changed;
}

/// Slots are given back before what is received from them is there.
static int64_t releaseUnread(Operation *kernel) {
  int64_t changed = 0;
  for (ReceiveOp receive : collect<ReceiveOp>(kernel))
    for (ReleaseOp release : collect<ReleaseOp>(kernel))
      if (release.getChannel() == receive.getChannel() &&
          release.getStep() == receive.getStep() &&
          release->getBlock() == receive->getBlock()) {
        release->moveBefore(receive);
        ++changed;
      }
  return changed;
}

/// Slots of 8 bits are given back before what is widened has been read.
static int64_t releaseNarrow(Operation *kernel) {
  int64_t changed = 0;
  for (WidenOp widen : collect<WidenOp>(kernel))
    if (auto release = dyn_cast_if_present<ReleaseOp>(widen->getNextNode())) {
      release->moveBefore(widen);
      ++changed;
    }
  return changed;
}

/// Who widens does not wait until consumers have read what was there before.
static int64_t widenEarly(Operation *kernel) {
  int64_t changed = 0;
  for (WidenOp widen : collect<WidenOp>(kernel))
    if (auto acquire = dyn_cast_if_present<AcquireOp>(widen->getPrevNode())) {
      acquire.erase();
      ++changed;
    }
  return changed;
}

/// Tiles of 8 bits are widened before they are there.
static int64_t widenUnfetched(Operation *kernel) {
  int64_t changed = 0;
  for (AwaitOp wait : collect<AwaitOp>(kernel))
    if (wait.getChannel().getDefiningOp<ChannelOp>().getNarrow()) {
      wait.erase();
      ++changed;
    }
  return changed;
}

/// Waits let one dot more run.
static int64_t waitForFewer(Operation *kernel) {
  auto waits = collect<DotWaitOp>(kernel);
  for (DotWaitOp wait : waits)
    wait.setPending(wait.getPending() + 1);
  return waits.size();
}

/// What is computed from the values that pass through a wait comes before it:
/// P is rounded into the registers that the running dot reads.
static int64_t roundEarly(Operation *kernel) {
  int64_t changed = 0;
  for (DotWaitOp wait : collect<DotWaitOp>(kernel))
    for (auto [through, passed] :
         llvm::zip(wait.getThrough(), wait.getPassed())) {
      for (Operation *user : llvm::make_early_inc_range(passed.getUsers()))
        if (isa<arith::TruncFOp>(user) &&
            user->getBlock() == wait->getBlock()) {
          user->moveBefore(wait);
          ++changed;
        }
      passed.replaceAllUsesWith(through);
    }
  return changed;
}

/// Boxes begin one line too far in a dimension of the tile.
static int64_t shiftBoxes(Operation *kernel, unsigned dimOfTile) {
  auto fetches = collect<FetchOp>(kernel);
  for (FetchOp fetch : fetches) {
    OpBuilder b(fetch);
    OpOperand &index = fetch.getIndicesMutable()[fetch.getDims()[dimOfTile]];
    Value one = arith::ConstantIndexOp::create(b, fetch.getLoc(), 1);
    index.assign(arith::AddIOp::create(b, fetch.getLoc(), index.get(), one));
  }
  return fetches.size();
}

static int64_t shiftBox(Operation *kernel) { return shiftBoxes(kernel, 0); }

/// Boxes begin a column too far, between multiples of 16 bytes.
static int64_t misalignBox(Operation *kernel) { return shiftBoxes(kernel, 1); }

/// Rows behind the end of a view arrive as they are, not as 0.
static int64_t fetchPastEnd(Operation *kernel) {
  int64_t changed = 0;
  for (FetchOp fetch : collect<FetchOp>(kernel))
    if (fetch.getEnd()) {
      fetch.getEndMutable().clear();
      ++changed;
    }
  return changed;
}

//===----------------------------------------------------------------------===//
// Faults of what one thread does (S8)
//===----------------------------------------------------------------------===//

/// All lanes arrive, not the first alone.
static int64_t overArrive(Operation *kernel) {
  auto arrivals = collect<SimtArriveOp>(kernel);
  for (SimtArriveOp arrive : arrivals) {
    OpBuilder b(arrive);
    arrive.getLaneMutable().assign(
        constant(b, arrive.getLoc(), b.getI32Type(), 0));
  }
  return arrivals.size();
}

/// Slots are given back to this block alone.
static int64_t releaseOwn(Operation *kernel) {
  int64_t changed = 0;
  for (SimtArriveOp arrive : collect<SimtArriveOp>(kernel))
    if (arrive.getRanks() > 1) {
      arrive.setRanks(1);
      ++changed;
    }
  return changed;
}

/// Boxes for all blocks of a cluster go to this one.
static int64_t fetchForOne(Operation *kernel) {
  int64_t changed = 0;
  for (auto box :
       collect<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(kernel))
    if (box.getMulticastMask()) {
      box.getMulticastMaskMutable().clear();
      ++changed;
    }
  return changed;
}

/// The threads of a cluster do not wait for each other: before the partitions,
/// or behind them.
static int64_t dropClusterSync(Operation *kernel, bool isFirst) {
  auto arrivals = collect<NVVM::ClusterArriveOp>(kernel);
  auto waits = collect<NVVM::ClusterWaitOp>(kernel);
  if (arrivals.size() != 2 || waits.size() != 2)
    return 0;
  if (isFirst) { // threads of a block still do
    OpBuilder b(arrivals.front());
    NVVM::Barrier0Op::create(b, arrivals.front().getLoc());
  }
  (isFirst ? arrivals.front() : arrivals.back()).erase();
  (isFirst ? waits.front() : waits.back()).erase();
  return 1;
}

static int64_t dropClusterBegin(Operation *kernel) {
  return dropClusterSync(kernel, /*isFirst=*/true);
}

static int64_t dropClusterEnd(Operation *kernel) {
  return dropClusterSync(kernel, /*isFirst=*/false);
}

/// Half of the bytes of a slot are expected.
static int64_t wrongBytes(Operation *kernel) {
  auto arrivals = collect<NVVM::MBarrierArriveExpectTxOp>(kernel);
  for (NVVM::MBarrierArriveExpectTxOp arrive : arrivals) {
    OpBuilder b(arrive);
    Value half =
        LLVM::LShrOp::create(b, arrive.getLoc(), arrive.getTxcount(),
                             constant(b, arrive.getLoc(), b.getI32Type(), 1));
    arrive.getTxcountMutable().assign(half);
  }
  return arrivals.size();
}

/// Scores that have risen above the maxima in use are taken for others.
static int64_t neverRepeat(Operation *kernel) {
  int64_t count = 0;
  for (auto vote : collect<LLVM::CallIntrinsicOp>(kernel)) {
    if (!vote.getIntrin().contains("barrier.cta.red"))
      continue;
    OpBuilder b(vote);
    Value never =
        LLVM::ConstantOp::create(b, vote.getLoc(), b.getBoolAttr(false));
    vote->replaceAllUsesWith(ValueRange(never));
    vote.erase();
    ++count;
  }
  return count;
}

/// Boxes are stored whether their rows are before those of the tensor or not.
static int64_t storeBefore(Operation *kernel) {
  int64_t changed = 0;
  for (auto store : collect<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(kernel))
    if (auto both = store.getPredicate().getDefiningOp<LLVM::AndOp>()) {
      store.getPredicateMutable().assign(both.getLhs());
      ++changed;
    }
  return changed;
}

/// The barriers at which consumers exchange tiles: those that have a number of
/// their own for all. `isBehind`: of each pair the one behind what is written.
static SmallVector<NVVM::BarrierOp> exchangeBarriers(Operation *kernel,
                                                     bool isBehind) {
  auto found = collect<NVVM::BarrierOp>(kernel);
  llvm::erase_if(found, [&](NVVM::BarrierOp barrier) {
    bool isForAll = matchPattern(barrier.getBarrierId(), m_Constant());
    bool follows = isa_and_present<NVVM::FenceProxyOp>(barrier->getPrevNode());
    return !isForAll || follows != isBehind;
  });
  return found;
}

/// Consumers do not wait for the rows of the others.
static int64_t dropExchangeBarrier(Operation *kernel) {
  return erase<NVVM::BarrierOp>(exchangeBarriers(kernel, /*isBehind=*/true));
}

/// With one slot: they do not wait until the others have read it.
static int64_t dropExchangeEntry(Operation *kernel) {
  return erase<NVVM::BarrierOp>(exchangeBarriers(kernel, /*isBehind=*/false));
}

/// What they have written is not there for their dots.
static int64_t dropExchangeFence(Operation *kernel) {
  auto barriers = exchangeBarriers(kernel, /*isBehind=*/true);
  for (NVVM::BarrierOp barrier : barriers)
    barrier->getPrevNode()->erase();
  return barriers.size();
}

/// The counter of programs is not 0 when the launch begins.
static int64_t keepCounter(Operation *kernel) {
  auto counts = collect<LLVM::AtomicRMWOp>(kernel);
  for (LLVM::AtomicRMWOp count : counts) {
    OpBuilder b(count);
    b.setInsertionPointAfter(count);
    auto more =
        LLVM::AddOp::create(b, count.getLoc(), count.getRes(),
                            constant(b, count.getLoc(), b.getI32Type(), 1));
    count.getRes().replaceAllUsesExcept(more, more);
  }
  return counts.size();
}

/// Which program comes next is said before all have read which one was.
static int64_t dealEarly(Operation *kernel) {
  SmallVector<SimtWaitPhaseOp> waits;
  for (auto count : collect<LLVM::AtomicRMWOp>(kernel))
    if (Block *before = count->getBlock()->getSinglePredecessor())
      llvm::append_range(waits, before->getOps<SimtWaitPhaseOp>());
  return erase<SimtWaitPhaseOp>(waits);
}

/// Nobody waits until it is said which program comes next.
static int64_t guessProgram(Operation *kernel) {
  auto waits = collect<SimtWaitPhaseOp>(kernel);
  llvm::erase_if(waits, [](SimtWaitPhaseOp wait) {
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
      auto load = dyn_cast<LLVM::LoadOp>(op);
      if (load && load.getType().isInteger(32))
        return cast<LLVM::LLVMPointerType>(load.getAddr().getType())
                   .getAddressSpace() != 3;
      if (isa<SimtWaitPhaseOp>(op))
        return true;
    }
    return true;
  });
  return erase<SimtWaitPhaseOp>(waits);
}

/// Two of the four warps of each warpgroup exchange registers.
static int64_t partExchange(Operation *kernel) {
  auto exchanges = collect<NVVM::SetMaxRegisterOp>(kernel);
  for (NVVM::SetMaxRegisterOp exchange : exchanges) {
    Location loc = exchange.getLoc();
    Block *before = exchange->getBlock();
    Block *with = before->splitBlock(exchange->getIterator());
    Block *after = with->splitBlock(std::next(exchange->getIterator()));
    OpBuilder b = OpBuilder::atBlockEnd(before);
    Value thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
    Value bit = LLVM::AndOp::create(b, loc, thread,
                                    constant(b, loc, b.getI32Type(), 64));
    Value isFirst = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, bit,
                                         constant(b, loc, b.getI32Type(), 0));
    LLVM::CondBrOp::create(b, loc, isFirst, with, after);
    b.setInsertionPointToEnd(with);
    LLVM::BrOp::create(b, loc, after);
  }
  return exchanges.size();
}

/// Matrix descriptors say that the slots are not swizzled.
static int64_t plainDescriptor(Operation *kernel) {
  constexpr int64_t swizzle128 = 1ll << 62;
  int64_t changed = 0;
  for (auto op : collect<LLVM::ConstantOp>(kernel)) {
    auto number = dyn_cast<IntegerAttr>(op.getValue());
    if (!number || !op.getType().isInteger(64) ||
        !(number.getInt() & swizzle128) || number.getInt() < 0)
      continue;
    op.setValueAttr(
        IntegerAttr::get(op.getType(), number.getInt() & ~swizzle128));
    ++changed;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ArrayRef<Mutation> fa::partitionMutations() {
  static constexpr Mutation mutations[] = {
      {"drop-await", true, dropAwait},
      {"drop-release", true, dropRelease},
      {"stale-phase", true, stalePhase},
      {"late-phase", true, latePhase},
      {"keep-turn", true, drop<OrderArriveOp>},
      {"release-early", true, releaseEarly},
      {"release-unread", true, releaseUnread},
      {"release-narrow", true, releaseNarrow},
      {"widen-early", true, widenEarly},
      {"widen-unfetched", true, widenUnfetched},
      {"wait-for-fewer", true, waitForFewer},
      {"round-early", true, roundEarly},
      {"shift-box", true, shiftBox},
      {"misalign-box", true, misalignBox},
      {"fetch-past-end", true, fetchPastEnd},
      {"drop-init-fence", false, drop<NVVM::FenceMbarrierInitOp>},
      {"drop-product-fence", false, drop<NVVM::WgmmaFenceAlignedOp>},
      {"drop-product-commit", false, drop<NVVM::WgmmaGroupSyncAlignedOp>},
      {"drop-store-fence", false, drop<NVVM::FenceProxyOp>},
      {"drop-warp-sync", false, drop<NVVM::SyncWarpOp>},
      {"drop-store-wait", false, drop<NVVM::CpAsyncBulkWaitGroupOp>},
      {"over-arrive", false, overArrive},
      {"release-own", false, releaseOwn},
      {"fetch-for-one", false, fetchForOne},
      {"drop-cluster-begin", false, dropClusterBegin},
      {"drop-cluster-end", false, dropClusterEnd},
      {"wrong-bytes", false, wrongBytes},
      {"never-repeat", false, neverRepeat},
      {"store-before", false, storeBefore},
      {"drop-exchange-barrier", false, dropExchangeBarrier},
      {"drop-exchange-entry", false, dropExchangeEntry},
      {"drop-exchange-fence", false, dropExchangeFence},
      {"keep-counter", false, keepCounter},
      {"deal-early", false, dealEarly},
      {"guess-program", false, guessProgram},
      {"part-exchange", false, partExchange},
      {"plain-descriptor", false, plainDescriptor},
  };
  return mutations;
}
