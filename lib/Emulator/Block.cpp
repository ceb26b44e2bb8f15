//===- Block.cpp - the threads of a block, and where they meet ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

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
  blockIndex = index;
  counters = {};
  log.clear();
  ready.clear();
  atBarrier = numExited = 0;
  barrierCount = 0;
  memory.reset(launch->sharedBytes);
  phaseBarriers.clear();
  bulk.clear();
  registers = {};
  named = {};
  if (created != launch->threads) {
    created = 0;
    threads = std::make_unique<Thread[]>(launch->threads);
    for (unsigned n = 0; n < launch->threads; ++n)
      if (!threads[n].fiber.restart(runThread, &threads[n]))
        return false;
    created = launch->threads;
  }
  warps.assign(created / kWarpSize, Warp());
  for (unsigned n = 0; n < created; ++n) {
    Thread &thread = threads[n];
    // A thread that did not end holds a stack of the block before.
    if (thread.block && !thread.exited)
      thread.fiber.restart(runThread, &thread);
    thread.block = this;
    thread.index = n;
    thread.lane = n % kWarpSize;
    thread.warp = &warps[n / kWarpSize];
    thread.exited = thread.hasAwaited = false;
    thread.waitsAt = -1;
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
  Warp &warp = *thread.warp;
  warp.exited |= 1u << thread.lane;
  // The others no longer wait for this one.
  completeIfAllCame(warp);
  completeBarrierIfAllCame();
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

void Block::completeBarrier() {
  reportDivergentBarrier();
  ++barrierCount;
  ++counters.barriers;
  atBarrier = 0;
  Horizon known;
  for (Warp &warp : warps)
    known.join(ordersReleased ? warp.released : warp.clock.release());
  for (Warp &warp : warps) {
    countRequests(warp);
    if (ordersReleased)
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

void Block::completeBarrierIfAllCame() {
  if (atBarrier && atBarrier + numExited == created)
    completeBarrier();
}

void Block::meetBlock(Thread &thread, int32_t site, bool released) {
  ordersReleased = released;
  thread.waitsAt = site;
  thread.waitsFor = WaitsFor::Block;
  ++atBarrier;
  completeBarrierIfAllCame();
  yield(thread);
}

void Block::sleep(Thread &thread, int32_t site, WaitsFor what) {
  thread.waitsAt = site;
  thread.waitsFor = what;
  yield(thread);
  thread.waitsAt = -1;
}
