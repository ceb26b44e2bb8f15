//===- Shuffles.cpp - values from lane to lane ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

namespace {
/// As in NVVM's ShflKind and VoteSyncKind.
enum ShuffleKind { Butterfly, Up, Down, Index };
enum VoteKind { Any, All, Ballot, Uniform };

struct ShuffleSource {
  unsigned lane;
  bool isInRange;
};
} // namespace

/// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync": the lane
/// that `lane` reads from with operands b and c.
static ShuffleSource sourceOf(ShuffleKind kind, unsigned lane, uint32_t b,
                              uint32_t c) {
  unsigned step = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned last = (lane & segment) | (clamp & ~segment);
  unsigned first = lane & segment;
  int from = 0;
  bool inRange = false;
  switch (kind) {
  case Up:
    from = int(lane) - int(step);
    inRange = from >= int(last);
    break;
  case Down:
    from = int(lane + step);
    inRange = from <= int(last);
    break;
  case Butterfly:
    from = int(lane ^ step);
    inRange = from <= int(last);
    break;
  case Index:
    from = int(first | (step & ~segment));
    inRange = from <= int(last);
    break;
  }
  return {inRange ? unsigned(from) : lane, inRange};
}

/// Operands: mask, value, b, c. Results: the value, whether the source was in
/// range. A source that does not take part gives an undefined value.
static void shuffle(Warp &warp, const EmulatorSite &site, uint32_t lanes) {
  ++warp.block->counter().shuffles;
  std::array<uint32_t, kWarpSize> values;
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values[lane] = warp.lanes[lane].get<uint32_t>(1);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    Thread &thread = warp.lanes[lane];
    auto [from, inRange] =
        sourceOf(static_cast<ShuffleKind>(site.attributes[0]), lane,
                 thread.get<uint32_t>(2), thread.get<uint32_t>(3));
    uint32_t value = values[from];
    if (!(lanes >> from & 1)) {
      warp.block->report(FaultKind::IllegalShuffle, thread, thread.waitsAt,
                         "lane " + Twine(lane) + " reads lane " + Twine(from) +
                             ", which does not take part: the mask is 0x" +
                             utohexstr(thread.get<uint32_t>(0)) + ", lanes 0x" +
                             utohexstr(warp.exited) + " have exited");
      value = ~0u;
    }
    thread.set<uint32_t>(0, value);
    thread.set<uint8_t>(1, inRange);
  }
}

static void shuffleSync(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, thread->get<uint32_t>(0), shuffle);
}

/// PTX ISA, "vote.sync". Operands: mask, predicate.
static void vote(Warp &warp, const EmulatorSite &site, uint32_t lanes) {
  uint32_t ballot = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1 && warp.lanes[lane].get<uint32_t>(1))
      ballot |= 1u << lane;
  uint32_t result = ballot;
  switch (static_cast<VoteKind>(site.attributes[0])) {
  case Ballot:
    break;
  case Any:
    result = ballot != 0;
    break;
  case All:
    result = ballot == lanes;
    break;
  case Uniform:
    result = ballot == 0 || ballot == lanes;
    break;
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1)
      warp.lanes[lane].set<uint32_t>(0, result);
}

static void voteSync(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, thread->get<uint32_t>(0), vote);
}

ArrayRef<EmulatorFunction> fa::emu::shuffleFunctions() {
  static const EmulatorFunction functions[] = {{"fa_emu_shuffle", shuffleSync},
                                               {"fa_emu_vote", voteSync}};
  return functions;
}
