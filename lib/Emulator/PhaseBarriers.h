//===- PhaseBarriers.h - mbarriers ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15, "mbarrier": a barrier in shared memory that counts
// arrivals and bytes. When both that a phase expects have come, the phase is
// complete and the next one begins.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_PHASEBARRIERS_H
#define FA_LIB_EMULATOR_PHASEBARRIERS_H

#include "Clock.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <deque>
#include <string>

namespace fa::emu {

class Block;
struct Thread;

struct PhaseBarrier {
  uint16_t number = 0;   ///< among those of the block
  uint32_t address = 0;  ///< in the cluster
  bool isOver = false;   ///< another one has begun there
  uint32_t arrivals = 0; ///< of a phase
  uint32_t pending = 0;  ///< arrivals that this phase still waits for
  int64_t bytes = 0;     ///< that it still waits for
  uint32_t phase = 0;    ///< that has begun and is not complete
  uint32_t copies = 0;   ///< under way for this phase
  /// The last phase that somebody saw complete, plus 1.
  uint32_t observed = 0;
  Horizon arrived;   ///< what those who arrived in this phase knew
  Horizon completed; ///< what is known to who sees that phases are complete
  uint16_t initWarp = 0;
  uint32_t initTime = 0;
  llvm::SmallVector<Thread *> waiting;

  bool isComplete(uint32_t parity) const { return (phase & 1) != parity; }
};

class PhaseBarriers {
public:
  explicit PhaseBarriers(Block &block) : block(block) {}

  void clear() { barriers.clear(); }
  void init(Thread &thread, int32_t site, uint32_t address, uint32_t arrivals);
  /// `bytes` more are expected in this phase.
  void expect(Thread &thread, int32_t site, uint32_t address, uint32_t bytes);
  void arrive(Thread &thread, int32_t site, uint32_t address);
  /// Returns once the phase of this parity is complete.
  void wait(Thread &thread, int32_t site, uint32_t address, uint32_t parity);
  /// The barrier that a copy begins for, or null.
  PhaseBarrier *openCopy(Thread &thread, int32_t site, uint32_t address);
  /// A copy of `bytes` for the barrier has ended.
  void endCopy(Thread &thread, int32_t site, PhaseBarrier &barrier,
               uint32_t bytes);

  PhaseBarrier &operator[](uint16_t number) { return barriers[number]; }
  /// "mbarrier at byte 64 of shared memory".
  std::string describe(uint16_t number) const;
  /// What the phase that `thread` waits for still needs.
  std::string describeWait(const Thread &thread) const;

private:
  PhaseBarrier *at(uint32_t address);
  PhaseBarrier *find(Thread &thread, int32_t site, uint32_t address);
  void completeIfAllCame(Thread &thread, int32_t site, PhaseBarrier &barrier);

  Block &block;
  std::deque<PhaseBarrier> barriers;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_PHASEBARRIERS_H
