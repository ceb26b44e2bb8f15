//===- Waves.cpp - what the 64 lanes of a wave do together ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wave is two warps in everything but the operations here. All of its lanes
// must take part: what one that does not would give is not what a program may
// count on.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"

#include "fa/Machine/LaneMoves.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

void Block::meetWave(Thread &thread, int32_t site, WaveCollective collective) {
  unsigned wave = thread.index / kWaveSize;
  thread.waitsAt = site;
  thread.waitsFor = WaitsFor::Lanes;
  Thread *lanes = &threads[wave * kWaveSize];
  // The last lanes come last, most often.
  bool allCame = llvm::all_of(llvm::reverse(ArrayRef(lanes, kWaveSize)),
                              [&](const Thread &lane) {
                                return !lane.exited && lane.waitsAt == site &&
                                       lane.waitsFor == WaitsFor::Lanes;
                              });
  if (allCame) {
    for (unsigned half : {0u, kWarpSize})
      countRequests(*lanes[half].warp);
    collective(*this, lanes, this->site(site));
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      lanes[lane].waitsAt = -1;
      ready.push_back(&lanes[lane]);
    }
  }
  yield(thread);
}

//===----------------------------------------------------------------------===//
// mfma
//===----------------------------------------------------------------------===//

/// CDNA3 ISA, 7.1 "Matrix Fused-Multiply-Add": with S the side and n what a
/// lane gives, lane l has A[l % S][n (l / S) + e], B[n (l / S) + e][l % S] and,
/// in register r, D[4 (64 / S) (r / 4) + 4 (l / S) + r % 4][l % S]. Operands:
/// A, B, C as f32. Attributes: S, n.
static void multiply(Block &block, Thread *lanes, const EmulatorSite &site) {
  auto [side, count, unused, none] = site.attributes;
  unsigned length = side * side / kWaveSize, depth = kWaveSize / side * count;
  ++block.counter().mfma;
  // Operands begin in slots of their own, of two f32 each.
  unsigned slots = (count + 1) / 2;
  float a[32][32], b[32][32];
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    unsigned across = lane % side, first = lane / side * count;
    std::memcpy(&a[across][first], &lanes[lane].slots[0], 4 * count);
    std::memcpy(&b[across][first], &lanes[lane].slots[slots], 4 * count);
  }
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    Thread &thread = lanes[lane];
    float sums[16];
    std::memcpy(sums, &thread.slots[2 * slots], 4 * length);
    const float *column = b[lane % side];
    for (unsigned r = 0; r < length; ++r) {
      const float *row =
          a[4 * (kWaveSize / side) * (r / 4) + 4 * (lane / side) + r % 4];
      for (unsigned k = 0; k < depth; ++k)
        sums[r] += row[k] * column[k];
    }
    std::memcpy(thread.slots.data(), sums, 4 * length);
  }
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// CDNA3 ISA, "DS_BPERMUTE_B32": operands 4 * lane and the value.
static void permute(Block &block, Thread *lanes, const EmulatorSite &) {
  ++block.counter().shuffles;
  std::array<uint32_t, kWaveSize> values;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    values[lane] = lanes[lane].get<uint32_t>(1);
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    lanes[lane].set(0, values[lanes[lane].get<uint32_t>(0) / 4 % kWaveSize]);
}

/// CDNA3 ISA, "Data Parallel Processing". Operands: what a lane keeps that is
/// not written, the value. Attributes: the control word, row_mask, bank_mask,
/// bound_ctrl, by which lanes without a source get 0.
static void moveLanes(Block &block, Thread *lanes, const EmulatorSite &site) {
  ++block.counter().shuffles;
  auto [control, rows, banks, isBounded] = site.attributes;
  std::array<uint32_t, kWaveSize> values;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    values[lane] = lanes[lane].get<uint32_t>(1);
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    bool isWritten = rows >> lane / 16 & 1 && banks >> lane % 16 / 4 & 1;
    std::optional<unsigned> from = sourceLane(control, lane);
    // The operand that stays lies where the result is looked for.
    if (isWritten && (from || isBounded))
      lanes[lane].set(0, from ? values[*from] : 0u);
  }
}

/// CDNA4 ISA, "V_PERMLANE16_SWAP_B32", "V_PERMLANE32_SWAP_B32": odd rows of the
/// first operand and even rows of the second change places.
static void swapRows(Block &block, Thread *lanes, const EmulatorSite &site) {
  ++block.counter().shuffles;
  auto row = unsigned(site.attributes[0]);
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    if (!(lane & row)) {
      auto first = lanes[lane + row].get<uint32_t>(0);
      lanes[lane + row].set(0, lanes[lane].get<uint32_t>(1));
      lanes[lane].set(1, first);
    }
}

/// The lanes for which the operand holds, one bit each.
static void ballot(Block &, Thread *lanes, const EmulatorSite &) {
  uint64_t bits = 0;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    bits |= uint64_t(lanes[lane].get<uint32_t>(0) != 0) << lane;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    lanes[lane].set(0, bits);
}

/// CDNA3 ISA, "V_READFIRSTLANE_B32": the first lane's value, for all.
static void readFirst(Block &, Thread *lanes, const EmulatorSite &) {
  auto first = lanes[0].get<uint64_t>(0);
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    lanes[lane].set(0, first);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// CDNA3 ISA, 4.4 "Manually Inserted Wait States", S_WAITCNT: what a wave has
/// asked of the LDS is done when lgkmcnt is 0, which a release waits for.
static void fence(Thread *thread, int32_t site) {
  Warp &warp = *thread->warp;
  bool isAcquire = thread->block->site(site).attributes[0];
  if (isAcquire)
    warp.clock.acquire(warp.heard);
  else
    warp.released = warp.clock.release();
}

/// S_BARRIER waits for waves, and tells each of the others what they released.
static void waveBarrier(Thread *thread, int32_t site) {
  thread->block->meetBlock(*thread, site, /*ordersReleased=*/true);
}

ArrayRef<EmulatorFunction> fa::emu::waveFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_mfma", meetInWave<multiply>},
      {"fa_emu_permute", meetInWave<permute>},
      {"fa_emu_move_lanes", meetInWave<moveLanes>},
      {"fa_emu_swap_rows", meetInWave<swapRows>},
      {"fa_emu_ballot", meetInWave<ballot>},
      {"fa_emu_read_first", meetInWave<readFirst>},
      {"fa_emu_wave_fence", fence},
      {"fa_emu_wave_barrier", waveBarrier}};
  return functions;
}
