//===- WarpTrace.h - the memory requests of warps ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes run one after the other; what they ask of the memory between two points
// where the warp meets is noted and put together there: the n-th time that each
// lane is at a site is one request.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_WARPTRACE_H
#define FA_LIB_EMULATOR_WARPTRACE_H

#include <cstdint>
#include <vector>

namespace fa::emu {

struct Warp;

/// One access of one thread.
/// Bytes of a line of the memories that cp.async goes between.
inline constexpr uint32_t kCopyLine = 128;

struct LaneAccess {
  int32_t site;
  uint32_t bytes : 16, lane : 14, isShared : 1, isRead : 1;
  uint64_t address;
  /// Of what cp.async reads: the line of shared memory that it goes to, from 1.
  uint32_t line = 0;
};

using LaneTrace = std::vector<LaneAccess>;

/// Counts the requests that the lanes of `warp` have noted, and forgets them.
void countRequests(Warp &warp);

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_WARPTRACE_H
