//===- Block.cpp - the threads of a block, and where they meet ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "Mix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

Block::Block() = default;
Block::~Block() = default;

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void Block::runThread(void *argument) {
  auto &thread = *static_cast<Thread *>(argument);
  // The stack serves the same thread of the next block.
  while (true) {
    const Launch &launch = *thread.block->launch;
    launch.kernel(launch.words, &thread);
    thread.block->exitThread(thread);
  }
}

bool Block::prepare(const Launch &next, int64_t index) {
  launch = &next;
  clusterIndex = index;
  counters = {};
  log.clear();
  ready.clear();
  numExited = 0;
  memory.reset(launch->sharedBytes, launch->cluster);
  phaseBarriers.clear();
  bulk.clear();
  clusterBarrier = {};
  members.assign(launch->cluster, Member());
  unsigned count = launch->cluster * launch->threads;
  if (created != count) {
    created = 0;
    threads = std::make_unique<Thread[]>(count);
    for (unsigned n = 0; n < count; ++n)
      if (!threads[n].fiber.restart(runThread, &threads[n]))
        return false;
    created = count;
  }
  warps.assign(created / kWarpSize, Warp());
  for (unsigned n = 0; n < created; ++n) {
    Thread &thread = threads[n];
    // A thread that did not end holds a stack of the block before.
    if (thread.block && !thread.exited)
      thread.fiber.restart(runThread, &thread);
    thread.block = this;
    thread.number = n;
    thread.index = n % launch->threads;
    thread.rank = n / launch->threads;
    thread.lane = n % kWarpSize;
    thread.warp = &warps[n / kWarpSize];
    thread.exited = thread.hasAwaited = false;
    thread.waitsAt = -1;
    thread.clusterArrivals = 0;
    thread.copies.clear();
    thread.trace.clear();
  }
  for (auto [n, warp] : enumerate(warps)) {
    warp.block = this;
    warp.index = warp.clock.index = n;
    warp.lanes = &threads[n * kWarpSize];
  }
  // No program may count on an order of the warps.
  unsigned first = (launch->seed + index) % warps.size();
  for (unsigned n = 0; n < created; ++n)
    ready.push_back(&threads[(n + first * kWarpSize) % created]);
  return true;
}

bool Block::run(const Launch &next, int64_t index) {
  if (!prepare(next, index))
    return false;
  Thread *first = ready.front();
  ready.pop_front();
  scheduler.switchTo(first->fiber);
  if (numExited != created)
    reportDeadlock();
  checkEnd();
  return true;
}

uint32_t Block::takeNumber(const Thread &thread, uint64_t address) {
  uint32_t &next = member(thread).nextNumbers[address];
  uint64_t seed = launch->seed, run = 1 + seed % 3;
  while (mix(seed, next / run, /*b=*/0) % launch->blocks !=
         uint64_t(indexFor(thread)))
    ++next;
  return next++;
}

/// Goes on with the next thread that can, or, if there is none, ends the block.
void Block::yield(Thread &thread) {
  // Bytes arrive when nobody can go on without them.
  while (ready.empty() && bulk.endOne()) {
  }
  if (ready.empty()) {
    thread.fiber.switchTo(scheduler);
    return;
  }
  Thread *next = ready.front();
  ready.pop_front();
  if (next != &thread)
    thread.fiber.switchTo(next->fiber);
}

void Block::exitThread(Thread &thread) {
  thread.exited = true;
  ++numExited;
  ++member(thread).numExited;
  if (thread.clusterArrivals > clusterBarrier.completed)
    --clusterBarrier.arrived;
  Warp &warp = *thread.warp;
  warp.exited |= 1u << thread.lane;
  // The others no longer wait for this one.
  completeIfAllCame(warp);
  completeBarrierIfAllCame(thread.rank);
  completeClusterIfAllCame();
  if (warp.exited == ~0u)
    countRequests(warp);
  yield(thread);
}

//===----------------------------------------------------------------------===//
// Lanes of a warp
//===----------------------------------------------------------------------===//

void Block::complete(Warp &warp, Warp::Meeting meeting) {
  countRequests(warp);
  meeting.collective(warp, site(meeting.site), meeting.arrived);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if (meeting.arrived >> lane & 1) {
      warp.lanes[lane].waitsAt = -1;
      ready.push_back(&warp.lanes[lane]);
    }
}

void Block::completeIfAllCame(Warp &warp) {
  for (size_t n = 0; n < warp.meetings.size();) {
    Warp::Meeting meeting = warp.meetings[n];
    if (meeting.mask & ~(meeting.arrived | warp.exited)) {
      ++n;
      continue;
    }
    warp.meetings.erase(warp.meetings.begin() + n);
    complete(warp, meeting);
  }
}

void Block::meetWarp(Thread &thread, int32_t site, uint32_t mask,
                     Collective collective) {
  Warp &warp = *thread.warp;
  uint32_t bit = 1u << thread.lane;
  if (!(mask & bit))
    report(FaultKind::IllegalShuffle, thread, site,
           "lane " + Twine(thread.lane) + " is not in its own mask 0x" +
               utohexstr(mask));
  auto it = find_if(warp.meetings, [&](const Warp::Meeting &meeting) {
    return meeting.site == site && meeting.mask == mask;
  });
  if (it == warp.meetings.end()) {
    warp.meetings.push_back({site, mask, 0, collective});
    it = std::prev(warp.meetings.end());
  }
  it->arrived |= bit;
  thread.waitsAt = site;
  thread.waitsFor = WaitsFor::Lanes;
  if ((it->mask & ~(it->arrived | warp.exited)) == 0) {
    Warp::Meeting meeting = *it;
    warp.meetings.erase(it);
    complete(warp, meeting);
  }
  yield(thread);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

MutableArrayRef<Warp> Block::warpsOf(unsigned rank) {
  unsigned count = launch->threads / kWarpSize;
  return MutableArrayRef(warps).slice(rank * count, count);
}

void Block::completeBarrier(unsigned rank) {
  reportDivergentBarrier(rank);
  Member &member = members[rank];
  ++member.barriers;
  ++counters.barriers;
  member.atBarrier = 0;
  Horizon known;
  for (Warp &warp : warpsOf(rank))
    known.join(member.ordersReleased ? warp.released : warp.clock.release());
  for (Warp &warp : warpsOf(rank)) {
    countRequests(warp);
    if (member.ordersReleased)
      warp.heard.join(known);
    else
      warp.clock.acquire(known);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      Thread &thread = warp.lanes[lane];
      if (thread.exited)
        continue;
      thread.waitsAt = -1;
      ready.push_back(&thread);
    }
  }
}

void Block::completeBarrierIfAllCame(unsigned rank) {
  const Member &member = members[rank];
  if (member.atBarrier &&
      member.atBarrier + member.numExited == launch->threads)
    completeBarrier(rank);
}

void Block::meetBlock(Thread &thread, int32_t site, bool released) {
  Member &own = member(thread);
  own.ordersReleased = released;
  thread.waitsAt = site;
  thread.waitsFor = WaitsFor::Block;
  ++own.atBarrier;
  completeBarrierIfAllCame(thread.rank);
  yield(thread);
}

void Block::sleep(Thread &thread, int32_t site, WaitsFor what) {
  thread.waitsAt = site;
  thread.waitsFor = what;
  yield(thread);
  thread.waitsAt = -1;
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

uint32_t Block::toCluster(const Thread &thread, uint32_t address) const {
  return address >> kRankShift ? address : toRank(address, thread.rank);
}

uint32_t Block::toRank(uint32_t address, unsigned rank) const {
  return launch->cluster == 1 ? address
                              : withoutRank(address) | (rank + 1) << kRankShift;
}

void Block::noteRemote(const Thread &thread, int32_t site, uint32_t address) {
  unsigned rank = rankOf(address);
  if (rank == thread.rank)
    return;
  members[rank].remote.raise(thread.warp->index, thread.warp->clock.now);
  members[rank].remoteSite = site;
}

void Block::completeClusterIfAllCame() {
  ClusterBarrier &barrier = clusterBarrier;
  if (!barrier.arrived || barrier.arrived + numExited != created)
    return;
  ++barrier.completed;
  barrier.arrived = 0;
  barrier.known.join(barrier.arriving);
  for (Thread *waiting : barrier.waiting)
    wake(*waiting);
  barrier.waiting.clear();
}

void Block::arriveAtCluster(Thread &thread, int32_t site) {
  if (thread.clusterArrivals > clusterBarrier.completed)
    return report(FaultKind::IllegalBarrier, thread, site,
                  "the thread has arrived and not waited since");
  thread.clusterArrivals = clusterBarrier.completed + 1;
  clusterBarrier.arriving.join(thread.warp->clock.release());
  ++clusterBarrier.arrived;
  completeClusterIfAllCame();
}

void Block::waitForCluster(Thread &thread, int32_t site) {
  if (!thread.clusterArrivals)
    return report(FaultKind::IllegalBarrier, thread, site,
                  "the thread has not arrived");
  if (thread.clusterArrivals > clusterBarrier.completed) {
    clusterBarrier.waiting.push_back(&thread);
    sleep(thread, site, WaitsFor::Cluster);
  }
  thread.warp->clock.acquire(clusterBarrier.known);
}
