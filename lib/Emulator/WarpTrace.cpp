//===- WarpTrace.cpp - the memory requests of warps -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpTrace.h"

#include "Block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

using Request = SmallVector<LaneAccess, kWarpSize>;

/// CUDA C++ Programming Guide, "Shared Memory": 32 banks, successive words of 4
/// bytes in successive banks; a bank gives one word a pass. Requests of 8 and
/// 16 bytes a lane are done by half and quarter warps. AMD's 64 banks serve as
/// many lanes as they have bytes, and its 32, of reads of 16 bytes, lanes 0 to
/// 3 with 20 to 23, 4 to 7 with 16 to 19 and so on (ROCm documentation,
/// Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts").
static unsigned passOf(const LaneAccess &access, const Launch &launch) {
  if (launch.hasWaves && launch.banks == 32 && access.isRead &&
      access.bytes == 16)
    return (access.lane & 16 ? access.lane ^ 20 : access.lane) / 4;
  return access.lane * std::max<uint32_t>(access.bytes, 4) / (launch.banks * 4);
}

static int64_t bankConflicts(ArrayRef<LaneAccess> request,
                             const Launch &launch) {
  int64_t conflicts = 0;
  // At least 8 lanes at a time.
  for (unsigned pass = 0; pass < kWarpSize / 8; ++pass) {
    SmallVector<uint64_t, 2> words[64];
    size_t passes = 1;
    for (const LaneAccess &access : request) {
      if (passOf(access, launch) != pass)
        continue;
      for (uint64_t word = access.address / 4;
           word * 4 < access.address + access.bytes; ++word) {
        auto &bank = words[word % launch.banks];
        if (!is_contained(bank, word))
          bank.push_back(word);
        passes = std::max(passes, bank.size());
      }
    }
    conflicts += int64_t(passes) - 1;
  }
  return conflicts;
}

static int64_t sectors(ArrayRef<LaneAccess> request) {
  SmallVector<uint64_t, kWarpSize> touched;
  for (const LaneAccess &access : request)
    for (uint64_t sector = access.address / 32;
         sector * 32 < access.address + access.bytes; ++sector)
      touched.push_back(sector);
  llvm::sort(touched);
  return llvm::unique(touched) - touched.begin();
}

/// What the second-level cache is asked for by cp.async: a request is of one
/// line there and goes to one line of shared memory (as counters of an H200
/// say, bench/results/2026-11-30-h200-decode.md).
static int64_t copiedLines(ArrayRef<LaneAccess> request) {
  SmallVector<std::pair<uint64_t, uint32_t>, kWarpSize> lines;
  for (const LaneAccess &access : request)
    if (access.line)
      lines.push_back({access.address / kCopyLine, access.line});
  llvm::sort(lines);
  return llvm::unique(lines) - lines.begin();
}

static void countRequest(Block &block, ArrayRef<LaneAccess> request) {
  EmulatorCounters &counters = block.counter();
  if (request[0].isShared) {
    ++counters.sharedRequests;
    block.countConflicts(block.site(request[0].site),
                         bankConflicts(request, block.launched()));
  } else {
    ++counters.globalRequests;
    counters.globalSectors += sectors(request);
    counters.copiedLines += copiedLines(request);
  }
}

/// Whether all lanes did the same.
static bool isUniform(const Warp &warp) {
  const LaneTrace &first = warp.lanes[0].trace;
  return all_of(seq(1u, kWarpSize), [&](unsigned lane) {
    const LaneTrace &other = warp.lanes[lane].trace;
    return std::equal(first.begin(), first.end(), other.begin(), other.end(),
                      [](const LaneAccess &x, const LaneAccess &y) {
                        return x.site == y.site && x.isShared == y.isShared;
                      });
  });
}

static void countUniform(Warp &warp) {
  Request request;
  for (size_t n = 0; n < warp.lanes[0].trace.size(); ++n) {
    request.clear();
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      request.push_back(warp.lanes[lane].trace[n]);
    countRequest(*warp.block, request);
  }
}

static void countDivergent(Warp &warp) {
  std::map<std::tuple<int32_t, bool, unsigned>, Request> requests;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    std::map<std::pair<int32_t, bool>, unsigned> times;
    for (const LaneAccess &access : warp.lanes[lane].trace) {
      unsigned time = times[{access.site, access.isShared}]++;
      requests[{access.site, access.isShared, time}].push_back(access);
    }
  }
  for (auto &[key, request] : requests)
    countRequest(*warp.block, request);
}

void fa::emu::countRequests(Warp &warp) {
  if (!warp.block->launched().count)
    return;
  isUniform(warp) ? countUniform(warp) : countDivergent(warp);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    warp.lanes[lane].trace.clear();
}
