//===- Clock.h - what comes before what -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks over the parties of a block: its warps, and behind them its
// mbarriers, whose time is their phase. A party's event of time t comes before
// what a warp does if the warp has seen more of that party's time than t.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_CLOCK_H
#define FA_LIB_EMULATOR_CLOCK_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>

namespace fa::emu {

/// Parties with smaller numbers are warps.
inline constexpr unsigned kFirstBarrierParty = 32;

class VectorClock {
public:
  uint32_t operator[](unsigned party) const {
    return party < times.size() ? times[party] : 0;
  }
  void raise(unsigned party, uint32_t time) {
    if (party >= times.size())
      times.resize(party + 1);
    times[party] = std::max(times[party], time);
  }
  void join(const VectorClock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (unsigned party = 0; party < other.times.size(); ++party)
      times[party] = std::max(times[party], other.times[party]);
  }

private:
  llvm::SmallVector<uint32_t, 16> times;
};

/// What is known to have happened, and what of it the asynchronous proxy has
/// been made to see (PTX ISA, "Memory Consistency Model: Proxy").
struct Horizon {
  VectorClock all, async;

  void join(const Horizon &other) {
    all.join(other.all);
    async.join(other.async);
  }
};

/// Time in a warp: it passes where the warp gives to others what it knows.
struct WarpClock {
  unsigned index = 0; ///< of the warp
  uint32_t now = 1;
  Horizon seen;

  /// What others know once they have heard from this warp. What it does from
  /// here on is not in it.
  Horizon release() {
    Horizon given = seen;
    given.all.raise(index, ++now);
    return given;
  }
  void acquire(const Horizon &given) { seen.join(given); }
  /// All lanes have met: what each did is known to the others.
  void passWarpBarrier() { acquire(release()); }
  /// fence.proxy.async.
  void passProxyFence() {
    seen.async.join(seen.all);
    seen.async.raise(index, ++now);
  }
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_CLOCK_H
