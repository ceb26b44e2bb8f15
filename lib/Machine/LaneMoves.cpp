//===- LaneMoves.cpp - words from lane to lane on AMD cards ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Machine/LaneMoves.h"

#include <cassert>

using namespace fa;

bool fa::isLaneMove(uint32_t control) {
  // By no lane at all nothing shifts or turns.
  switch (control & ~0xfu) {
  case kRowShl:
  case kRowShr:
  case kRowRor:
    return control & 0xf;
  case kRowNewBcast:
    return true;
  case kWaveShl:
    return control % 4 == 0;
  case kRowMirror:
    return control <= kRowBcast31;
  default:
    return control < kRowShl;
  }
}

/// Inside of a row, whose number stays.
static std::optional<unsigned> sourceInRow(uint32_t control, unsigned lane) {
  unsigned count = control & 0xf;
  switch (control & ~0xfu) {
  case kRowShl:
    return lane + count < 16 ? std::optional(lane + count) : std::nullopt;
  case kRowShr:
    return lane >= count ? std::optional(lane - count) : std::nullopt;
  case kRowRor:
    return (lane - count) & 15;
  case kRowNewBcast:
    return count;
  case kRowMirror:
    return lane ^ (control == kRowMirror ? 15 : 7);
  default:
    return (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
  }
}

std::optional<unsigned> fa::sourceLane(uint32_t control, unsigned lane) {
  assert(isLaneMove(control) && lane < 64);
  auto behind = [&](unsigned lanes) {
    return lane >= lanes ? std::optional((lane & ~(lanes - 1)) - 1)
                         : std::nullopt;
  };
  switch (control) {
  case kWaveShl:
    return lane < 63 ? std::optional(lane + 1) : std::nullopt;
  case kWaveRol:
    return (lane + 1) & 63;
  case kWaveShr:
    return lane ? std::optional(lane - 1) : std::nullopt;
  case kWaveRor:
    return (lane - 1) & 63;
  case kRowBcast15: // the last lane of each row, for the next row
    return behind(16);
  case kRowBcast31: // lane 31, for the rows behind it
    return behind(32);
  default:
    std::optional<unsigned> from = sourceInRow(control, lane & 15);
    if (from)
      *from |= lane & ~15u;
    return from;
  }
}

llvm::SmallVector<uint32_t, 2> fa::movesAcross(uint32_t mask) {
  assert(mask && mask < 16 && "lanes of one row");
  llvm::SmallVector<uint32_t, 2> moves;
  // A mirror turns all bits of a row's numbers, that of a half three of them.
  if (mask & 4) {
    moves.push_back(mask & 8 ? kRowMirror : kRowHalfMirror);
    mask ^= mask & 8 ? 15 : 7;
  } else if (mask & 8) {
    moves.push_back(kRowRor + 8);
    mask ^= 8;
  }
  uint32_t quad = 0;
  for (uint32_t lane = 0; lane < 4; ++lane)
    quad |= (lane ^ mask) << 2 * lane;
  if (mask)
    moves.push_back(kQuadPerm + quad);
  return moves;
}
