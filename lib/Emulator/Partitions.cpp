//===- Partitions.cpp - registers and barriers of parts of a block --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"
#include "Mix.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// setmaxnreg
//===----------------------------------------------------------------------===//

/// PTX ISA 9.7.19.5, "setmaxnreg": a count from 24 to 256 that is a multiple of
/// 8; of a kernel with a maximum number of registers; dec gives away, inc
/// takes. Attributes: the count, whether it is inc, the kernel's maximum.
static void checkExchange(Warp &warp, const EmulatorSite &site,
                          uint32_t lanes) {
  Block &block = *warp.block;
  if (!block.requireAllLanes(warp, lanes))
    return;
  auto [count, isIncrease, most, unused] = site.attributes;
  if (!warp.registers)
    warp.registers = most;
  Thread &first = warp.lanes[0];
  warp.registerSite = first.waitsAt;
  ++warp.registerExchanges;
  int32_t has = warp.registers;
  std::string problem;
  if (!most)
    problem = "the kernel has no maximum number of registers";
  else if (count < 24 || count > 256 || count % 8)
    problem = "expected a multiple of 8 from 24 to 256, found " +
              std::to_string(count);
  else if (isIncrease ? count < has : count > has)
    problem = "expected a count " +
              std::string(isIncrease ? "above" : "below") + " the " +
              std::to_string(has) + " that it has, found " +
              std::to_string(count);
  if (!problem.empty())
    block.report(FaultKind::IllegalRegisters, first, first.waitsAt, problem);
}

/// Blocks until there are enough registers.
static void exchangeRegisters(Thread *thread, int32_t site) {
  Block &block = *thread->block;
  block.meetWarp(*thread, site, kAllLanes, checkExchange);
  Warp &warp = *thread->warp;
  auto &pool = block.member(*thread).registers;
  int64_t count = block.site(site).attributes[0];
  while (int64_t more = (count - warp.registers) * kWarpSize) {
    if (more <= pool.left) {
      pool.left -= more;
      warp.registers = count;
      for (Thread *waiting : pool.waiting)
        block.wake(*waiting);
      pool.waiting.clear();
      return;
    }
    pool.waiting.push_back(thread);
    block.sleep(*thread, site, WaitsFor::Registers);
  }
}

//===----------------------------------------------------------------------===//
// elect.sync
//===----------------------------------------------------------------------===//

/// PTX ISA 9.7.13.14, "elect.sync": one lane of the mask, which one is not
/// said.
static void electOne(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  unsigned number = mix(warp.block->launched().seed,
                        warp.block->indexFor(warp.lanes[0]), warp.index) %
                    popcount(lanes);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1)
      warp.lanes[lane].set<uint32_t>(0, number-- == 0);
}

/// Operands: the mask, if there is one. Attributes: whether there is.
static void elect(Thread *thread, int32_t site) {
  bool hasMask = thread->block->site(site).attributes[0];
  thread->block->meetWarp(
      *thread, site, hasMask ? thread->get<uint32_t>(0) : kAllLanes, electOne);
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// PTX ISA 9.7.13.1, "bar, barrier" with a number of threads: a multiple of 32;
/// sync waits for the others, arrive does not.
static void meetAtBarrier(Thread &thread, int32_t site, bool waits,
                          std::optional<bool> predicate = std::nullopt) {
  Block &block = *thread.block;
  auto id = thread.get<uint32_t>(0), count = thread.get<uint32_t>(1);
  if (id > 15 || !count || count % kWarpSize || count > block.numThreads()) {
    block.report(FaultKind::IllegalBarrier, thread, site,
                 "expected a barrier from 0 to 15 of a multiple of 32 threads "
                 "of the block, found barrier " +
                     Twine(id) + " of " + Twine(count));
    return;
  }
  Block::NamedBarrier &barrier = block.member(thread).named[id];
  if (barrier.arrived && barrier.expected != count)
    block.report(FaultKind::IllegalBarrier, thread, site,
                 "others wait at barrier " + Twine(id) + " for " +
                     Twine(barrier.expected) + " threads, found " +
                     Twine(count));
  barrier.expected = count;
  barrier.known.join(thread.warp->clock.release());
  barrier.any |= predicate.value_or(false);
  if (waits)
    barrier.waiting.push_back(&thread);
  if (++barrier.arrived < count) {
    if (waits)
      block.sleep(thread, site, WaitsFor::NamedBarrier);
    return;
  }
  for (Thread *waiting : barrier.waiting) {
    waiting->warp->clock.acquire(barrier.known);
    if (predicate)
      waiting->set<uint32_t>(0, barrier.any);
    if (waiting != &thread)
      block.wake(*waiting);
  }
  barrier = {};
}

/// Operands: the barrier, the number of threads.
static void syncNamed(Thread *thread, int32_t site) {
  meetAtBarrier(*thread, site, /*waits=*/true);
}

/// The same with .red.or: the third operand is the predicate.
static void syncNamedOr(Thread *thread, int32_t site) {
  meetAtBarrier(*thread, site, /*waits=*/true, thread->get<uint32_t>(2) != 0);
}

static void arriveNamed(Thread *thread, int32_t site) {
  meetAtBarrier(*thread, site, /*waits=*/false);
}

ArrayRef<EmulatorFunction> fa::emu::partitionFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_exchange_registers", exchangeRegisters},
      {"fa_emu_elect", elect},
      {"fa_emu_sync_named", syncNamed},
      {"fa_emu_sync_named_or", syncNamedOr},
      {"fa_emu_arrive_named", arriveNamed}};
  return functions;
}
