//===- ShadowNumbers.h - who accesses shared memory -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who has written or read a byte, as a number of 16 bits: a thread's is its
// number in the cluster + 1.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_SHADOWNUMBERS_H
#define FA_LIB_EMULATOR_SHADOWNUMBERS_H

#include "Block.h"

namespace fa::emu {

inline constexpr uint16_t kNobody = 0;
/// Several lanes of warp w are kLanes + w; times are the warp's.
inline constexpr uint16_t kLanes = 1025;
/// Lanes of several warps; the time is the number of a list of times.
inline constexpr uint16_t kWarps = 2048;
/// A copy that completes a phase of mbarrier n is kCopies + n; the time is the
/// phase.
inline constexpr uint16_t kCopies = 4096;

inline uint16_t numberOf(const Thread &thread) { return thread.number + 1; }

inline bool isCopy(uint16_t who) { return who >= kCopies; }

/// The party whose time it is.
inline unsigned partyOf(uint16_t who) {
  if (isCopy(who))
    return kFirstBarrierParty + who - kCopies;
  return who >= kLanes ? who - kLanes : (who - 1) / kWarpSize;
}

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_SHADOWNUMBERS_H
