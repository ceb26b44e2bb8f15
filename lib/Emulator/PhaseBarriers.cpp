//===- PhaseBarriers.cpp - mbarriers --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhaseBarriers.h"

#include "Block.h"
#include "Functions.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

/// PTX ISA 9.7.13.15.1, "Size and alignment of mbarrier object".
static constexpr uint32_t kBytes = 8;
/// PTX ISA 9.7.13.15.2, "Contents of the mbarrier object".
static constexpr uint32_t kMaxCount = (1 << 20) - 1;

/// "byte 64 of shared memory".
static std::string describeAddress(uint32_t address) {
  uint32_t offset = withoutRank(address) - kEmulatorSharedBase;
  std::string text =
      "byte " + std::to_string(int32_t(offset)) + " of shared memory";
  if (address >> kRankShift)
    text += " of block " + std::to_string(rankOf(address)) + " of the cluster";
  return text;
}

std::string PhaseBarriers::describe(uint16_t number) const {
  return "mbarrier at " + describeAddress(barriers[number].address);
}

std::string PhaseBarriers::describeWait(const Thread &thread) const {
  for (const PhaseBarrier &barrier : barriers)
    if (is_contained(barrier.waiting, &thread))
      return ("phase " + Twine(barrier.phase) + " of the " +
              describe(barrier.number) + ", which needs " +
              Twine(barrier.pending) + " more arrivals and " +
              Twine(barrier.bytes) + " bytes")
          .str();
  return "a phase of an mbarrier";
}

/// PTX ISA 9.7.13.15.9, mbarrier.init: counts from 1 to 2^20 - 1. The object's
/// bytes are its own; a barrier that others wait at must not begin anew.
void PhaseBarriers::init(Thread &thread, int32_t site, uint32_t address,
                         uint32_t arrivals) {
  if (arrivals < 1 || arrivals > kMaxCount)
    block.report(FaultKind::IllegalBarrier, thread, site,
                 "expected a count from 1 to 1048575, found " +
                     Twine(arrivals));
  uint64_t value = uint64_t(arrivals) << 32;
  block.shared().write(thread, site, address, kBytes, kBytes, &value);
  uint32_t mapped = block.toCluster(thread, address);
  if (PhaseBarrier *before = at(mapped)) {
    if (!before->waiting.empty())
      block.report(FaultKind::IllegalBarrier, thread, site,
                   "thread " + Twine(before->waiting.front()->index) +
                       " waits at the " + describe(before->number));
    before->isOver = true;
  }
  PhaseBarrier barrier;
  barrier.number = barriers.size();
  barrier.address = mapped;
  barrier.arrivals = barrier.pending = arrivals;
  barrier.initWarp = thread.warp->index;
  barrier.initTime = thread.warp->clock.now;
  barriers.push_back(std::move(barrier));
}

PhaseBarrier *PhaseBarriers::at(uint32_t address) {
  auto it = llvm::find_if(barriers, [&](const PhaseBarrier &barrier) {
    return barrier.address == address && !barrier.isOver;
  });
  return it == barriers.end() ? nullptr : &*it;
}

PhaseBarrier *PhaseBarriers::find(Thread &thread, int32_t site,
                                  uint32_t address) {
  uint32_t mapped = block.toCluster(thread, address);
  PhaseBarrier *barrier = at(mapped);
  if (!barrier) {
    block.report(FaultKind::IllegalBarrier, thread, site,
                 "there is no mbarrier at " + describeAddress(mapped));
    return nullptr;
  }
  unsigned self = thread.warp->index;
  if (barrier->initWarp != self &&
      barrier->initTime >= thread.warp->clock.seen.all[barrier->initWarp])
    block.report(FaultKind::Race, thread, site,
                 "the " + describe(barrier->number) +
                     " was initialised by warp " + Twine(barrier->initWarp) +
                     ", no barrier lies between");
  return barrier;
}

/// PTX ISA 9.7.13.15.11, mbarrier.expect_tx.
void PhaseBarriers::expect(Thread &thread, int32_t site, uint32_t address,
                           uint32_t bytes) {
  if (PhaseBarrier *barrier = find(thread, site, address))
    barrier->bytes += bytes;
}

/// PTX ISA 9.7.13.15.13, mbarrier.arrive, with release semantics: what the
/// thread did before is known to who sees the phase complete.
void PhaseBarriers::arrive(Thread &thread, int32_t site, uint32_t address) {
  PhaseBarrier *barrier = find(thread, site, address);
  if (!barrier)
    return;
  if (!barrier->pending) {
    block.report(FaultKind::OverArrival, thread, site,
                 "phase " + Twine(barrier->phase) + " of the " +
                     describe(barrier->number) + " had all of its " +
                     Twine(barrier->arrivals) + " arrivals");
    return;
  }
  block.noteRemote(thread, site, barrier->address);
  barrier->arrived.join(thread.warp->clock.release());
  --barrier->pending;
  completeIfAllCame(thread, site, *barrier);
}

/// PTX ISA 9.7.13.15.5, "Phase Completion of the mbarrier object". Two phases
/// that nobody saw apart cannot be told from none: parities repeat.
void PhaseBarriers::completeIfAllCame(Thread &thread, int32_t site,
                                      PhaseBarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  if (barrier.copies)
    block.report(FaultKind::WrongBytes, thread, site,
                 "phase " + Twine(barrier.phase) + " of the " +
                     describe(barrier.number) + " is complete while " +
                     Twine(barrier.copies) +
                     " copies for it are under way: it expected fewer bytes");
  if (barrier.observed < barrier.phase)
    block.report(FaultKind::OverArrival, thread, site,
                 "phase " + Twine(barrier.phase) + " of the " +
                     describe(barrier.number) +
                     " is complete, and nobody has waited for phase " +
                     Twine(barrier.phase - 1));
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  barrier.completed.join(barrier.arrived);
  barrier.completed.all.raise(kFirstBarrierParty + barrier.number,
                              barrier.phase);
  for (Thread *waiting : barrier.waiting)
    block.wake(*waiting);
  barrier.waiting.clear();
}

/// PTX ISA 9.7.13.15.16, mbarrier.try_wait.parity in a loop, with acquire
/// semantics.
void PhaseBarriers::wait(Thread &thread, int32_t site, uint32_t address,
                         uint32_t parity) {
  PhaseBarrier *barrier = find(thread, site, address);
  if (!barrier)
    return;
  while (!barrier->isComplete(parity & 1)) {
    barrier->waiting.push_back(&thread);
    block.sleep(thread, site, WaitsFor::Phase);
  }
  barrier->observed = barrier->phase;
  thread.warp->clock.acquire(barrier->completed);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// PTX ISA, "fence.mbarrier_init": makes the initialisation visible to the
/// asynchronous proxy, in which bytes complete.
PhaseBarrier *PhaseBarriers::openCopy(Thread &thread, int32_t site,
                                      uint32_t address) {
  PhaseBarrier *barrier = find(thread, site, address);
  if (!barrier)
    return nullptr;
  if (barrier->initTime >= thread.warp->clock.seen.async[barrier->initWarp])
    block.report(FaultKind::MissingFence, thread, site,
                 "the " + describe(barrier->number) +
                     " was initialised in the generic proxy, no "
                     "fence.mbarrier_init lies between");
  ++barrier->copies;
  return barrier;
}

/// PTX ISA 9.7.13.15.7, "complete-tx operation".
void PhaseBarriers::endCopy(Thread &thread, int32_t site, PhaseBarrier &barrier,
                            uint32_t bytes) {
  if (barrier.copies)
    --barrier.copies;
  barrier.bytes -= bytes;
  if (!barrier.pending && barrier.bytes < 0)
    block.report(FaultKind::WrongBytes, thread, site,
                 "phase " + Twine(barrier.phase) + " of the " +
                     describe(barrier.number) + " has had " +
                     Twine(-barrier.bytes) + " bytes more than it expected");
  completeIfAllCame(thread, site, barrier);
}

//===----------------------------------------------------------------------===//
// What emulated code calls
//===----------------------------------------------------------------------===//

/// Operands: the barrier, the count.
static void init(Thread *thread, int32_t site) {
  thread->block->phases().init(*thread, site, thread->get<uint32_t>(0),
                               thread->get<uint32_t>(1));
}

/// PTX ISA, "fence.mbarrier_init.release.cluster" and "fence.proxy.async".
static void fenceProxies(Thread *thread, int32_t) {
  thread->warp->clock.passProxyFence();
}

/// Operands: the barrier, the bytes.
static void arriveExpecting(Thread *thread, int32_t site) {
  auto address = thread->get<uint32_t>(0);
  PhaseBarriers &barriers = thread->block->phases();
  barriers.expect(*thread, site, address, thread->get<uint32_t>(1));
  barriers.arrive(*thread, site, address);
}

/// The lane's number is the rank of the block at whose barrier it arrives.
/// Operands: the barrier, the lane. Attributes: how many blocks.
static void arriveAtRanks(Thread *thread, int32_t site) {
  auto lane = thread->get<uint32_t>(1);
  Block &block = *thread->block;
  if (lane < uint32_t(block.site(site).attributes[0]))
    block.phases().arrive(*thread, site,
                          block.toRank(thread->get<uint32_t>(0), lane));
}

/// Operands: the barrier, the lane.
static void arriveFirst(Thread *thread, int32_t site) {
  if (thread->get<uint32_t>(1) == 0)
    thread->block->phases().arrive(*thread, site, thread->get<uint32_t>(0));
}

/// Operands: the barrier.
static void arrive(Thread *thread, int32_t site) {
  thread->block->phases().arrive(*thread, site, thread->get<uint32_t>(0));
}

/// Operands: the barrier, the parity.
static void waitPhase(Thread *thread, int32_t site) {
  thread->block->phases().wait(*thread, site, thread->get<uint32_t>(0),
                               thread->get<uint32_t>(1));
}

ArrayRef<EmulatorFunction> fa::emu::phaseFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_barrier_init", init},
      {"fa_emu_proxy_fence", fenceProxies},
      {"fa_emu_arrive", arrive},
      {"fa_emu_arrive_expecting", arriveExpecting},
      {"fa_emu_arrive_at_ranks", arriveAtRanks},
      {"fa_emu_arrive_first", arriveFirst},
      {"fa_emu_wait_phase", waitPhase}};
  return functions;
}
