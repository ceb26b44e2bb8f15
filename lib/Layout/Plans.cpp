//===- Plans.cpp - what follows from layouts ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/Plans.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static constexpr Axis registerAxes[] = {Axis::Register, Axis::Lane, Axis::Warp};

Place ConversionPlan::sourceOf(const Place &place) const {
  Place sum;
  for (Axis axis : registerAxes)
    for (auto [bit, basis] : enumerate(map[static_cast<int>(axis)]))
      if (place[axis] >> bit & 1)
        for (unsigned n = 0; n < numAxes; ++n)
          sum.at[n] ^= basis.at[n];
  return sum;
}

std::optional<ConversionPlan>
fa::planConversion(const LinearLayout &source,
                   const LinearLayout &destination) {
  auto map = source.composeInverse(destination);
  if (!map)
    return std::nullopt;
  ConversionPlan plan{ConversionPlan::Identity, *map};
  auto atLeast = [&](ConversionPlan::Kind kind) {
    plan.kind = std::max(plan.kind, kind);
  };
  for (Axis axis : registerAxes)
    for (auto [bit, place] : enumerate((*map)[static_cast<int>(axis)])) {
      Place same;
      same[axis] = 1u << bit;
      if (place[Axis::Warp] != same[Axis::Warp])
        atLeast(ConversionPlan::Warps);
      else if (place[Axis::Lane] != same[Axis::Lane])
        atLeast(ConversionPlan::Lanes);
      else if (axis == Axis::Register && place != same)
        atLeast(ConversionPlan::Registers);
      else if (place != same) // which register depends on the lane
        atLeast(ConversionPlan::Lanes);
    }
  return plan;
}

//===----------------------------------------------------------------------===//
// Reductions, vectors, copies
//===----------------------------------------------------------------------===//

std::optional<ReductionPlan> fa::planReduction(const LinearLayout &layout,
                                               unsigned dim) {
  ReductionPlan plan;
  uint32_t *masks[] = {&plan.registers, &plan.lanes, &plan.warps};
  for (auto [axis, mask] : zip(registerAxes, masks))
    for (unsigned bit = 0; bit < layout.bits(axis); ++bit) {
      Coord basis = layout.basis(axis, bit);
      if (!basis[dim])
        continue;
      basis[dim] = 0;
      if (any_of(basis, [](int32_t step) { return step; }))
        return std::nullopt;
      *mask |= 1u << bit;
    }
  return plan;
}

int64_t fa::contiguousRegisters(const LinearLayout &layout, unsigned dim) {
  unsigned bit = 0;
  for (; bit < layout.bits(Axis::Register); ++bit) {
    Coord next(layout.rank(), 0);
    next[dim] = 1 << bit;
    if (layout.basis(Axis::Register, bit) != next)
      break;
  }
  return int64_t(1) << bit;
}

uint32_t fa::copyBits(const LinearLayout &layout, Axis axis) {
  uint32_t copies = 0;
  for (unsigned bit = 0; bit < layout.bits(axis); ++bit)
    if (all_of(layout.basis(axis, bit), [](int32_t step) { return !step; }))
      copies |= 1u << bit;
  return copies;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

std::optional<MatrixLoad> fa::planMatrixLoad(const LinearLayout &registers,
                                             const LinearLayout &shared,
                                             unsigned bits) {
  assert(bits == 8 || bits == 16 || bits == 32);
  // Two elements of 16 bits are one register, and four of 8.
  unsigned ofWord = Log2_32(32 / bits), ofHalf = bits == 8 ? 1 : 0;
  auto map = shared.composeInverse(registers);
  if (!map || registers.bits(Axis::Lane) != 5 ||
      registers.bits(Axis::Register) < ofWord)
    return std::nullopt;
  auto offset = [&](Axis axis, unsigned bit) {
    return (*map)[static_cast<int>(axis)][bit][Axis::Offset];
  };
  // A matrix's 64 elements: which bits walk along a row, which from row to row.
  SmallVector<uint32_t, 7> walk; // the bits inside of a word, then of lanes
  for (unsigned bit = 0; bit < ofWord; ++bit)
    walk.push_back(offset(Axis::Register, bit));
  for (unsigned bit = 0; bit < 5; ++bit)
    walk.push_back(offset(Axis::Lane, bit));
  MatrixLoad load;
  // Halves of a word are neighbours in a row or in two of them.
  load.transposed = bits != 32 && walk[ofHalf] != 1u << ofHalf;
  unsigned lineBits = walk.size() - 3;
  SmallVector<uint32_t, 4> along(walk.begin(), walk.begin() + lineBits),
      rows(walk.begin() + lineBits, walk.end());
  if (load.transposed) {
    along.assign(walk.begin(), walk.begin() + ofHalf);
    along.append(rows);
    rows.assign(walk.begin() + ofHalf, walk.begin() + lineBits);
  }
  auto isRow = [&](uint32_t step) { return step % (1u << lineBits) == 0; };
  for (auto [bit, step] : enumerate(along))
    if (step != 1u << bit)
      return std::nullopt;
  if (!all_of(rows, isRow))
    return std::nullopt;
  copy(rows, load.laneOffsets.begin());
  for (unsigned bit = ofWord; bit < registers.bits(Axis::Register); ++bit) {
    uint32_t step = offset(Axis::Register, bit);
    if (!isRow(step))
      return std::nullopt;
    if (load.matrixBits.size() < 2) {
      load.laneOffsets[3 + load.matrixBits.size()] = step;
      load.matrixBits.push_back(bit);
      load.matrices *= 2;
    } else {
      load.groupOffsets.push_back({bit, step});
    }
  }
  for (unsigned bit = 0; bit < registers.bits(Axis::Warp); ++bit) {
    load.warpOffsets.push_back(offset(Axis::Warp, bit));
    if (!isRow(load.warpOffsets.back()))
      return std::nullopt;
  }
  return load;
}

std::optional<TurnedRead> fa::planTurnedRead(const LinearLayout &registers,
                                             const LinearLayout &shared) {
  auto map = shared.composeInverse(registers);
  if (!map || registers.bits(Axis::Lane) != 6 ||
      registers.bits(Axis::Register) < 2)
    return std::nullopt;
  auto offset = [&](Axis axis, unsigned bit) {
    return (*map)[static_cast<int>(axis)][bit][Axis::Offset];
  };
  if (offset(Axis::Lane, 0) != 1 || offset(Axis::Lane, 1) != 2)
    return std::nullopt;
  TurnedRead read;
  read.laneOffsets = {offset(Axis::Lane, 2),     offset(Axis::Lane, 3),
                      offset(Axis::Register, 0), offset(Axis::Register, 1),
                      offset(Axis::Lane, 4),     offset(Axis::Lane, 5)};
  for (unsigned bit = 2; bit < registers.bits(Axis::Register); ++bit)
    read.groupOffsets.push_back(offset(Axis::Register, bit));
  for (unsigned bit = 0; bit < registers.bits(Axis::Warp); ++bit)
    read.warpOffsets.push_back(offset(Axis::Warp, bit));
  auto isWhole = [](uint32_t step) { return step % 4 == 0; };
  if (!all_of(read.laneOffsets, isWhole) ||
      !all_of(read.groupOffsets, isWhole) || !all_of(read.warpOffsets, isWhole))
    return std::nullopt;
  return read;
}

static BankPhase firstLanes(unsigned bits, unsigned banks) {
  BankPhase phase;
  phase.banks = banks;
  for (unsigned bit = 0; bit < bits; ++bit)
    phase.lanes.push_back(1u << bit);
  return phase;
}

BankPhase BankPhase::warp32(unsigned width) {
  return firstLanes(width == 16 ? 3 : width == 8 ? 4 : 5, 32);
}

BankPhase BankPhase::wave64(unsigned width, bool isRead, unsigned banks) {
  unsigned together = banks * 4 / std::max(width, 4u);
  BankPhase phase = firstLanes(Log2_32(together), banks);
  if (isRead && width == 16 && banks == 32)
    phase.lanes.back() = 20;
  return phase;
}

unsigned fa::countBankConflicts(ArrayRef<uint32_t> laneOffsets, unsigned width,
                                const BankPhase &phase) {
  assert(isPowerOf2_32(width) && width <= 16);
  // Offsets that differ by a sum of lane bits which is 0 in the banks but not
  // in the word meet in a bank: as many as that sum has words.
  SmallVector<uint32_t> words, banks;
  auto rankWith = [](SmallVector<uint32_t> &basis, uint32_t vector) {
    for (uint32_t row : basis)
      vector = std::min(vector, vector ^ row);
    if (vector)
      basis.push_back(vector);
  };
  unsigned unit = std::max(width, 4u);
  for (uint32_t lane : phase.lanes) {
    uint32_t offset = 0;
    for (auto [bit, step] : enumerate(laneOffsets))
      if (lane >> bit & 1)
        offset ^= step;
    rankWith(words, offset / unit);
    rankWith(banks, offset % (4 * phase.banks) / unit);
  }
  return (1u << (words.size() - banks.size())) - 1;
}
