//===- Barriers.cpp - where threads wait for each other -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"

using namespace fa;
using namespace fa::emu;

/// PTX ISA, "Parallel Synchronization and Communication Instructions: bar,
/// barrier": all threads of the block arrive before any goes on, and what they
/// wrote is seen by all.
static void barrier(Thread *thread, int32_t site) {
  thread->block->meetBlock(*thread, site);
}

/// PTX ISA, "bar.warp.sync": orders memory among the lanes of the mask. The
/// shadow knows an order of whole warps alone; lanes of a part stay unordered.
static void passWarpBarrier(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if ((lanes | warp.exited) == ~0u)
    warp.clock.passWarpBarrier();
}

static void warpBarrier(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, thread->get<uint32_t>(0),
                          passWarpBarrier);
}

/// PTX ISA, "griddepcontrol": the emulator runs one kernel after the other, so
/// that nothing is left to wait for; what comes before it is found.
static void awaitKernel(Thread *thread, int32_t) { thread->hasAwaited = true; }

/// A kernel that waits for this one counts on those before, too.
static void beginNext(Thread *thread, int32_t site) {
  thread->block->requireKernelBefore(*thread, site);
}

/// PTX ISA 9.7.13.4, "barrier.cluster": arrive releases, wait acquires.
static void arriveAtCluster(Thread *thread, int32_t site) {
  thread->block->arriveAtCluster(*thread, site);
}

static void waitForCluster(Thread *thread, int32_t site) {
  thread->block->waitForCluster(*thread, site);
}

llvm::ArrayRef<EmulatorFunction> fa::emu::barrierFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_barrier", barrier},
      {"fa_emu_warp_barrier", warpBarrier},
      {"fa_emu_arrive_at_cluster", arriveAtCluster},
      {"fa_emu_wait_for_cluster", waitForCluster},
      {"fa_emu_await_kernel", awaitKernel},
      {"fa_emu_begin_next", beginNext}};
  return functions;
}
