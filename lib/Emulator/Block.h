//===- Block.h - the threads of a block, and where they meet ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One system thread runs a block, or all blocks of a cluster. Each GPU thread
// is a fiber, which runs until it waits for others: for lanes of its warp at an
// operation that a warp does together, or for the block at a barrier. Nothing
// here needs a lock.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_BLOCK_H
#define FA_LIB_EMULATOR_BLOCK_H

#include "AsyncCopies.h"
#include "BulkCopies.h"
#include "Clock.h"
#include "Faults.h"
#include "Fiber.h"
#include "PhaseBarriers.h"
#include "Products.h"
#include "SharedMemory.h"
#include "WarpTrace.h"

#include "fa/Emulator/Counters.h"
#include "fa/Emulator/Site.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <bit>
#include <cstring>
#include <deque>
#include <memory>

namespace fa::emu {

/// Every lane of a warp.
inline constexpr uint32_t kAllLanes = ~0u;

class Block;
class GlobalMemory;
struct Thread;
struct Warp;

inline constexpr unsigned kWarpSize = 32;
/// Lanes of an AMD wave: two warps.
inline constexpr unsigned kWaveSize = 64;

/// A shared::cluster address (PTX ISA, "mapa") has the block's rank + 1 above
/// the address in the block; of a block alone nothing is there.
inline constexpr unsigned kRankShift = 24;
inline uint32_t withoutRank(uint32_t address) {
  return address & ((1u << kRankShift) - 1);
}
inline unsigned rankOf(uint32_t address) {
  return std::max(address >> kRankShift, 1u) - 1;
}

/// A kernel as `convert-nvvm-to-emulator` makes it.
using KernelFunction = void (*)(const int64_t *words, Thread *thread);

/// What all blocks of a launch share.
struct Launch {
  KernelFunction kernel = nullptr;
  const int64_t *words = nullptr;
  llvm::ArrayRef<EmulatorSite> sites;
  GlobalMemory *global = nullptr;
  unsigned threads = 0; ///< of a block, a multiple of 32
  uint32_t blocks = 0;
  unsigned cluster = 1;        ///< blocks that run together
  size_t sharedBytes = 0;      ///< of a block
  llvm::ArrayRef<BoxMap> maps; ///< tensor maps, by parameter
  uint64_t seed = 0;
  bool count = false;
  unsigned banks = 32;   ///< of shared memory, 4 bytes each
  bool hasWaves = false; ///< they serve lanes of 64
  /// The kernel before it may run still where a thread has not waited for it.
  bool beginsEarly = false;
};

/// What lanes of a warp do together, once the last of them has come: takes the
/// operands of `lanes` from their slots and leaves the results there.
using Collective = void (*)(Warp &warp, const EmulatorSite &site,
                            uint32_t lanes);

/// The same of a wave, all of whose `lanes` have come.
using WaveCollective = void (*)(Block &block, Thread *lanes,
                                const EmulatorSite &site);

/// What a thread that does not run waits for.
enum class WaitsFor { Lanes, Block, Cluster, NamedBarrier, Phase, Registers };

struct Thread {
  /// Where emulated code leaves operands and finds results; the first member,
  /// because the address of the thread is what emulated code has.
  alignas(8) std::array<uint64_t, kEmulatorSlots> slots;

  Block *block = nullptr;
  Warp *warp = nullptr;
  unsigned number = 0;          ///< in the cluster
  unsigned index = 0, lane = 0; ///< in the block, in the warp
  unsigned rank = 0;            ///< of the block in the cluster
  bool exited = false;
  bool hasAwaited = false; ///< the kernel before this one
  int32_t waitsAt = -1;    ///< a site
  WaitsFor waitsFor = WaitsFor::Lanes;
  AsyncCopies copies;
  uint32_t storeGroups = 0; ///< cp.async.bulk.commit_group so far
  uint32_t clusterArrivals = 0;
  LaneTrace trace;
  Fiber fiber;

  /// The operand or result in slot `n`.
  template <typename T> T get(unsigned n) const {
    T value;
    std::memcpy(&value, &slots[n], sizeof(T));
    return value;
  }
  template <typename T> void set(unsigned n, T value) {
    std::memcpy(&slots[n], &value, sizeof(T));
  }
  /// Remembers an access, if the launch counts them.
  /// `line`: LaneAccess's.
  inline void note(int32_t site, uint64_t address, uint32_t bytes,
                   bool isShared, bool isRead, uint32_t line = 0);
};

struct Warp {
  /// Lanes that wait for each other.
  struct Meeting {
    int32_t site;
    uint32_t mask, arrived;
    Collective collective;
  };

  Block *block = nullptr;
  unsigned index = 0; ///< in the cluster
  Thread *lanes = nullptr;
  uint32_t exited = 0;
  WarpClock clock;
  /// Of AMD: what fences have released, and what barriers have told of others.
  Horizon released, heard;
  Products products;
  uint32_t registers = 0;         ///< of a thread; 0: not exchanged yet
  uint32_t registerExchanges = 0; ///< setmaxnreg that it has executed
  int32_t registerSite = -1;      ///< of the last of them
  llvm::SmallVector<Meeting, 2> meetings;
};

/// A block, or the blocks of a cluster, which see each other's shared memory.
class Block {
public:
  Block();
  ~Block();

  /// Runs cluster `index` of the launch to its end, or to where it cannot go
  /// on. Returns false if there is no memory for stacks.
  bool run(const Launch &launch, int64_t index);

  /// Threads that have stacks, in all blocks of a cluster.
  unsigned numCreated() const { return created; }
  const FaultLog &faults() const { return log; }
  const EmulatorCounters &counts() const { return counters; }

  //===--- For what threads do ---===//
  const Launch &launched() const { return *launch; }
  /// Which block of the launch runs `thread`.
  int64_t indexFor(const Thread &thread) const {
    return clusterIndex * launch->cluster + thread.rank;
  }
  unsigned numThreads() const { return launch->threads; }
  Thread &thread(unsigned n) { return threads[n]; }
  const EmulatorSite &site(int32_t n) const { return launch->sites[n]; }
  SharedMemory &shared() { return memory; }
  PhaseBarriers &phases() { return phaseBarriers; }
  BulkCopies &bulkCopies() { return bulk; }
  std::string describePhase(const Thread &thread) const {
    return phaseBarriers.describeWait(thread);
  }
  std::string describeBarrier(uint16_t number) const {
    return phaseBarriers.describe(number);
  }
  EmulatorCounters &counter() { return counters; }
  void countConflicts(const EmulatorSite &at, int64_t conflicts) {
    if (!conflicts)
      return;
    counters.bankConflicts += conflicts;
    counters.conflictsAt[at.location] += conflicts;
  }
  bool hasFault(FaultKind kind) const { return log.has(kind); }
  /// Whether all threads of the block of this rank have exited.
  bool hasEnded(unsigned rank) const {
    return members[rank].numExited == launch->threads;
  }

  void report(FaultKind kind, const Thread &thread, int32_t site,
              const llvm::Twine &detail);
  /// Waits until every lane of `mask` has come to `site`, then goes on with
  /// what `collective` left in the slots.
  void meetWarp(Thread &thread, int32_t site, uint32_t mask,
                Collective collective);
  /// Waits until all lanes of the wave have come to `site`, then goes on with
  /// what `collective` left in the slots.
  void meetWave(Thread &thread, int32_t site, WaveCollective collective);
  /// Waits until every thread of the block has come to a barrier. It tells each
  /// warp what the others did or, if it `ordersReleased`, what they released
  /// before, which counts from the next acquire on.
  void meetBlock(Thread &thread, int32_t site, bool ordersReleased = false);
  /// Waits until `wake` is called for the thread.
  void sleep(Thread &thread, int32_t site, WaitsFor what);
  void wake(Thread &thread) { ready.push_back(&thread); }
  /// Registers that no warp has (setmaxnreg), and who waits for some.
  struct RegisterPool {
    int64_t left = 0;
    llvm::SmallVector<Thread *> waiting;
  };

  /// bar.sync with a number of threads.
  struct NamedBarrier {
    uint32_t expected = 0, arrived = 0;
    Horizon known;    ///< to those who arrived
    bool any = false; ///< a predicate of theirs is true
    llvm::SmallVector<Thread *> waiting;
  };

  /// What each block of a cluster has of its own.
  struct Member {
    std::array<NamedBarrier, 16> named;
    RegisterPool registers;
    unsigned atBarrier = 0, numExited = 0;
    bool ordersReleased = false; ///< the barrier that is waited at
    uint32_t barriers = 0;       ///< that have been completed
    /// Of counters in global memory, what it may take next.
    llvm::SmallDenseMap<uint64_t, uint32_t, 1> nextNumbers;
    /// When warps of other blocks used its shared memory last, and where.
    VectorClock remote;
    int32_t remoteSite = -1;
  };
  Member &member(const Thread &thread) { return members[thread.rank]; }

  /// A thread's shared::cluster address of what `address` is to it (PTX ISA,
  /// "State Spaces: .shared"). Of a block alone they are the same.
  uint32_t toCluster(const Thread &thread, uint32_t address) const;
  /// The same place in the block of that rank (PTX ISA, "mapa").
  uint32_t toRank(uint32_t address, unsigned rank) const;
  /// `thread` uses what is at the mapped `address`, and nothing tells the block
  /// whose it is.
  void noteRemote(const Thread &thread, int32_t site, uint32_t address);
  /// barrier.cluster (PTX ISA 9.7.13.4): arrives, and waits for those that have
  /// not exited.
  void arriveAtCluster(Thread &thread, int32_t site);
  void waitForCluster(Thread &thread, int32_t site);

  /// Which of the numbers of the counter at `address`, counted from where the
  /// launch found it, the thread takes. The seed deals them to blocks, in runs:
  /// any is some block's, each takes its own in order, and no block waits for
  /// what another one does. So what a launch does is the same each time.
  uint32_t takeNumber(const Thread &thread, uint64_t address);

  /// Reports an operation of a warp that not all of its lanes execute
  /// (.aligned).
  bool requireAllLanes(Warp &warp, uint32_t lanes);
  /// Reports what a thread does that has not waited for the kernel before,
  /// where that may run still.
  bool requireKernelBefore(const Thread &thread, int32_t site);

private:
  static void runThread(void *thread);
  bool prepare(const Launch &launch, int64_t index);
  void exitThread(Thread &thread);
  void yield(Thread &thread);
  void completeIfAllCame(Warp &warp);
  void complete(Warp &warp, Warp::Meeting meeting);
  void completeBarrier(unsigned rank);
  void completeBarrierIfAllCame(unsigned rank);
  void completeClusterIfAllCame();
  llvm::MutableArrayRef<Warp> warpsOf(unsigned rank);
  void reportDivergentBarrier(unsigned rank);
  void reportDeadlock();
  void checkEnd();
  void checkRemote();

  const Launch *launch = nullptr;
  int64_t clusterIndex = 0;
  unsigned created = 0;
  std::unique_ptr<Thread[]> threads;
  std::vector<Warp> warps;
  SharedMemory memory;
  PhaseBarriers phaseBarriers{*this};
  BulkCopies bulk{*this};
  EmulatorCounters counters;
  FaultLog log;
  std::deque<Thread *> ready;
  std::vector<Member> members;
  unsigned numExited = 0; ///< of all members
  /// Of the cluster's barrier: times that it was completed, threads that have
  /// arrived since and have not exited, what they knew, who waits.
  struct ClusterBarrier {
    uint32_t completed = 0;
    unsigned arrived = 0;
    Horizon arriving, known;
    llvm::SmallVector<Thread *> waiting;
  } clusterBarrier;
  Fiber scheduler;
};

/// An operation that a wave does together, as one thread calls it.
template <WaveCollective collective>
void meetInWave(Thread *thread, int32_t site) {
  thread->block->meetWave(*thread, site, collective);
}

void Thread::note(int32_t site, uint64_t address, uint32_t bytes, bool isShared,
                  bool isRead, uint32_t line) {
  if (block->launched().count)
    trace.push_back({site, bytes, lane, isShared, isRead, address, line});
}

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_BLOCK_H
