//===- PlansTest.cpp ------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/Plans.h"

#include "fa/Layout/NamedLayouts.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace fa;

/// Calls `f` with every place of a layout of registers.
template <typename F> static void forPlaces(const LinearLayout &layout, F f) {
  for (uint32_t warp = 0; warp < layout.count(Axis::Warp); ++warp)
    for (uint32_t lane = 0; lane < layout.count(Axis::Lane); ++lane)
      for (uint32_t reg = 0; reg < layout.count(Axis::Register); ++reg)
        f(Place::registers(reg, lane, warp));
}

/// A random invertible layout of a 16 x 32 tile: its bits dealt to the axes,
/// then mixed.
static LinearLayout randomLayout(std::mt19937 &random) {
  llvm::SmallVector<uint32_t, 9> columns;
  for (unsigned bit = 0; bit < 9; ++bit)
    columns.push_back(1u << bit);
  for (unsigned n = 0; n < 40; ++n) {
    unsigned x = random() % 9, y = random() % 9;
    if (x != y)
      columns[x] ^= columns[y];
  }
  LinearLayout layout({16, 32});
  Axis axes[] = {Axis::Register, Axis::Register, Axis::Register,
                 Axis::Lane,     Axis::Lane,     Axis::Lane,
                 Axis::Lane,     Axis::Lane,     Axis::Warp};
  for (auto [axis, column] : llvm::zip(axes, columns))
    layout.add(axis, {Coord{int32_t(column >> 5), int32_t(column & 31)}});
  return layout;
}

static void checkConversion(const LinearLayout &source,
                            const LinearLayout &destination) {
  auto plan = planConversion(source, destination);
  ASSERT_TRUE(plan);
  forPlaces(destination, [&](Place place) {
    Place from = plan->sourceOf(place);
    ASSERT_EQ(source.apply(from), destination.apply(place));
    if (plan->kind <= ConversionPlan::Lanes)
      ASSERT_EQ(from[Axis::Warp], place[Axis::Warp]);
    if (plan->kind <= ConversionPlan::Registers)
      ASSERT_EQ(from[Axis::Lane], place[Axis::Lane]);
    if (plan->kind == ConversionPlan::Identity)
      ASSERT_EQ(from, place);
  });
}

TEST(Plans, ConversionsMoveEveryElement) {
  std::mt19937 random(1);
  for (unsigned n = 0; n < 200; ++n) {
    LinearLayout source = randomLayout(random);
    LinearLayout destination = randomLayout(random);
    ASSERT_TRUE(source.isInjective() && source.isSurjective());
    checkConversion(source, destination);
    EXPECT_EQ(planConversion(source, source)->kind, ConversionPlan::Identity);
  }
}

TEST(Plans, ConversionsAreOfTheCheapestKind) {
  LinearLayout acc = mmaAccumulator(64, 64, 4).base;
  EXPECT_EQ(planConversion(acc, acc)->kind, ConversionPlan::Identity);
  // Another order of the same registers.
  LinearLayout renamed({64, 64});
  renamed.addSteps(Axis::Register, 0, 8, 1).addSteps(Axis::Register, 1, 1, 1);
  renamed.addSteps(Axis::Register, 1, 8, 3);
  renamed.addSteps(Axis::Lane, 1, 2, 2).addSteps(Axis::Lane, 0, 1, 3);
  renamed.addSteps(Axis::Warp, 0, 16, 2);
  EXPECT_EQ(planConversion(acc, renamed)->kind, ConversionPlan::Registers);
  checkConversion(acc, renamed);
  EXPECT_EQ(planConversion(acc, blocked(64, 64, 8, 4).base)->kind,
            ConversionPlan::Warps);
  // Rows that four lanes share stay where they are.
  LinearLayout rows = acc.dropDim(1);
  EXPECT_EQ(planConversion(rows, rows)->kind, ConversionPlan::Identity);
  // Twin: a source without all elements has no plan.
  LinearLayout half({64, 64});
  half.addSteps(Axis::Lane, 1, 1, 5);
  EXPECT_FALSE(planConversion(half, acc));
}

TEST(Plans, ReductionFindsItsBits) {
  LinearLayout acc = mmaAccumulator(128, 64, 4).base;
  auto plan = planReduction(acc, 1);
  ASSERT_TRUE(plan);
  // Registers: bit 0 and bits 2 to 4 walk along the columns.
  EXPECT_EQ(plan->registers, 0b011101u);
  EXPECT_EQ(plan->lanes, 0b11u);
  EXPECT_EQ(plan->warps, 0u);
  // On data: what the bits reach from a place is exactly its row.
  std::set<int32_t> columns;
  for (uint32_t reg = 0; reg < acc.count(Axis::Register); ++reg)
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (!(reg & ~plan->registers) && !(lane & ~plan->lanes)) {
        Coord at = acc.apply(Place::registers(reg, lane, 0));
        EXPECT_EQ(at[0], 0);
        columns.insert(at[1]);
      }
  EXPECT_EQ(columns.size(), 64u);
  LinearLayout slanted({4, 4});
  slanted.add(Axis::Lane, {Coord{1, 1}});
  EXPECT_FALSE(planReduction(slanted, 1));
}

TEST(Plans, VectorsAndCopies) {
  EXPECT_EQ(contiguousRegisters(mmaAccumulator(64, 64, 4).base, 1), 2);
  EXPECT_EQ(contiguousRegisters(blocked(64, 64, 8, 4).base, 1), 8);
  EXPECT_EQ(contiguousRegisters(mmaAccumulator(64, 64, 4).base, 0), 1);
  LinearLayout rows = mmaAccumulator(64, 64, 4).base.dropDim(1);
  EXPECT_EQ(copyBits(rows, Axis::Lane), 0b11u);
  EXPECT_EQ(copyBits(rows, Axis::Warp), 0u);
}

/// A register, and the address of the row that a lane names for it.
struct LoadPlace {
  uint32_t reg, address;
};

/// Adds to `place` what the plan adds for lane `giver`, a matrix, a group of
/// registers and a warp.
static LoadPlace placeOf(const MatrixLoad &load, LoadPlace place,
                         uint32_t giver, uint32_t matrix, uint32_t group,
                         uint32_t warp) {
  for (unsigned bit = 0; bit < 5; ++bit)
    if (giver >> bit & 1)
      place.address ^= load.laneOffsets[bit];
  for (auto [n, bit] : llvm::enumerate(load.matrixBits))
    place.reg |= (matrix >> n & 1) << bit;
  for (auto [n, offset] : llvm::enumerate(load.groupOffsets))
    if (group >> n & 1) {
      place.address ^= offset.second;
      place.reg |= 1u << offset.first;
    }
  for (auto [n, offset] : llvm::enumerate(load.warpOffsets))
    if (warp >> n & 1)
      place.address ^= offset;
  return place;
}

/// Does what ldmatrix does with the addresses of a plan, and compares who gets
/// what with the layout.
static void checkMatrixLoad(const LinearLayout &registers,
                            const LinearLayout &shared) {
  auto load = planMatrixLoad(registers, shared);
  ASSERT_TRUE(load);
  uint32_t groups = 1u << load->groupOffsets.size();
  for (uint32_t warp = 0; warp < registers.count(Axis::Warp); ++warp)
    for (uint32_t group = 0; group < groups; ++group)
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t matrix = 0; matrix < load->matrices; ++matrix)
          for (uint32_t half = 0; half < 2; ++half) {
            // Lane 8m + r gives the address of row r of matrix m.
            uint32_t row = load->transposed ? 2 * (lane % 4) + half : lane / 4;
            uint32_t column =
                load->transposed ? lane / 4 : 2 * (lane % 4) + half;
            auto [reg, address] = placeOf(
                *load, {half, column}, 8 * matrix + row, matrix, group, warp);
            ASSERT_EQ(registers.apply(Place::registers(reg, lane, warp)),
                      shared.apply(Place::offset(address)));
          }
}

TEST(Plans, MatrixLoadsBringEveryElement) {
  for (int64_t dim : {16, 32, 64, 128, 256}) {
    LinearLayout shared = swizzledShared(64, dim, 2).base;
    checkMatrixLoad(mmaOperandB(64, dim, true, 4).base, shared);
    checkMatrixLoad(mmaOperandB(64, dim, false, 4).base, shared);
    checkMatrixLoad(mmaAccumulator(64, dim, 4).base, shared);
    EXPECT_FALSE(
        planMatrixLoad(mmaOperandB(64, dim, true, 4).base, shared)->transposed);
    EXPECT_TRUE(planMatrixLoad(mmaOperandB(64, dim, false, 4).base, shared)
                    ->transposed);
  }
  // Twin: lanes side by side along a row are no matrix.
  EXPECT_FALSE(planMatrixLoad(blocked(64, 64, 8, 4).base,
                              swizzledShared(64, 64, 2).base));
}

/// The same with elements of 32 bits: lane 4 r + c has element c of row r.
static void checkMatrixLoad32(const LinearLayout &registers,
                              const LinearLayout &shared) {
  auto load = planMatrixLoad(registers, shared, 32);
  ASSERT_TRUE(load);
  EXPECT_FALSE(load->transposed);
  EXPECT_EQ(load->matrices, 4u);
  for (uint32_t warp = 0; warp < registers.count(Axis::Warp); ++warp)
    for (uint32_t group = 0; group < 1u << load->groupOffsets.size(); ++group)
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t matrix = 0; matrix < 4; ++matrix) {
          auto [reg, address] = placeOf(
              *load, {0, lane % 4}, 8 * matrix + lane / 4, matrix, group, warp);
          ASSERT_EQ(registers.apply(Place::registers(reg, lane, warp)),
                    shared.apply(Place::offset(address)));
        }
  std::array<uint32_t, 5> bytes = load->laneOffsets;
  for (uint32_t &offset : bytes)
    offset *= 4;
  EXPECT_EQ(countBankConflicts(bytes, 16), 0u);
}

TEST(Plans, MatrixLoadsBringElementsOf32Bits) {
  for (int64_t dim : {16, 32, 64, 128, 256}) {
    LinearLayout shared = swizzledShared(64, dim, 4).base;
    checkMatrixLoad32(mmaOperandA32(64, dim, 4).base, shared);
    checkMatrixLoad32(mmaOperandB32(64, dim, 4).base, shared);
  }
  // Twin: ldmatrix has no way to give a lane two neighbours of 32 bits.
  EXPECT_FALSE(planMatrixLoad(mmaAccumulator(64, 64, 4).base,
                              swizzledShared(64, 64, 4).base, 32));
}

/// The same with elements of 8 bits, of which a matrix has two for one of 16:
/// without and with a transposition, both without conflicts.
static void checkMatrixLoad8(const LinearLayout &registers,
                             const LinearLayout &shared, bool isTransposed) {
  auto load = planMatrixLoad(registers, shared, 8);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->transposed, isTransposed);
  for (uint32_t warp = 0; warp < registers.count(Axis::Warp); ++warp)
    for (uint32_t group = 0; group < 1u << load->groupOffsets.size(); ++group)
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t matrix = 0; matrix < load->matrices; ++matrix)
          for (uint32_t byte = 0; byte < 4; ++byte) {
            uint32_t half = byte / 2;
            uint32_t row = isTransposed ? 2 * (lane % 4) + half : lane / 4;
            uint32_t column = isTransposed ? 2 * (lane / 4) + byte % 2
                                           : 4 * (lane % 4) + byte;
            auto [reg, address] = placeOf(
                *load, {byte, column}, 8 * matrix + row, matrix, group, warp);
            ASSERT_EQ(registers.apply(Place::registers(reg, lane, warp)),
                      shared.apply(Place::offset(address)));
          }
  EXPECT_EQ(countBankConflicts(load->laneOffsets, 16), 0u);
}

TEST(Plans, MatrixLoadsBringElementsOf8Bits) {
  for (int64_t dim : {16, 32, 64, 128, 256}) {
    LinearLayout shared = swizzledShared(64, dim, 1).base;
    checkMatrixLoad8(mmaOperandB8(64, dim, true, 4).base, shared, false);
    checkMatrixLoad8(mmaOperandB8(64, dim, false, 4).base, shared, true);
  }
  // Twin: neighbours as those of 16 bits are.
  for (bool transposed : {false, true})
    EXPECT_FALSE(planMatrixLoad(mmaOperandB(64, 64, transposed, 4).base,
                                swizzledShared(64, 64, 1).base, 8));
}

/// The word addresses of one access, bank by bank.
static unsigned conflictsByHand(llvm::ArrayRef<uint32_t> laneOffsets,
                                unsigned width) {
  unsigned together = std::min(32u, 128 / std::max(width, 4u));
  std::map<uint32_t, std::set<uint32_t>> words; // by bank
  for (uint32_t lane = 0; lane < together; ++lane) {
    uint32_t offset = 0;
    for (auto [bit, step] : llvm::enumerate(laneOffsets))
      if (lane >> bit & 1)
        offset ^= step;
    for (uint32_t byte = 0; byte < width; byte += 4)
      words[(offset + byte) / 4 % 32].insert((offset + byte) / 4);
  }
  size_t most = 1;
  for (auto &[bank, set] : words)
    most = std::max(most, set.size());
  return most - 1;
}

TEST(Plans, ConflictsAreThoseCountedByHand) {
  std::mt19937 random(2);
  unsigned seen = 0;
  for (unsigned n = 0; n < 2000; ++n) {
    unsigned width = 4u << random() % 3;
    std::array<uint32_t, 5> offsets;
    for (uint32_t &offset : offsets)
      offset = random() % 512 * width % 2048;
    unsigned conflicts = conflictsByHand(offsets, width);
    ASSERT_EQ(countBankConflicts(offsets, width), conflicts);
    seen |= 1u << conflicts;
  }
  EXPECT_EQ(seen & 0b10001011u, 0b10001011u); // 0, 1, 3 and 7 conflicts
}

TEST(Plans, SwizzledMatrixLoadsHaveNoConflicts) {
  for (int64_t dim : {16, 32, 64, 128, 256})
    for (bool transposed : {false, true}) {
      LinearLayout registers = mmaOperandB(64, dim, transposed, 4).base;
      auto load = planMatrixLoad(registers, swizzledShared(64, dim, 2).base);
      ASSERT_TRUE(load);
      std::array<uint32_t, 5> bytes = load->laneOffsets;
      for (uint32_t &offset : bytes)
        offset *= 2;
      EXPECT_EQ(countBankConflicts(bytes, 16), 0u) << dim;
    }
  // Twin: without the XOR they have.
  LinearLayout plain({64, 64});
  plain.addSteps(Axis::Offset, 1, 1, 6).addSteps(Axis::Offset, 0, 1, 6);
  auto load = planMatrixLoad(mmaOperandB(64, 64, true, 4).base, plain);
  ASSERT_TRUE(load);
  std::array<uint32_t, 5> bytes = load->laneOffsets;
  for (uint32_t &offset : bytes)
    offset *= 2;
  EXPECT_EQ(countBankConflicts(bytes, 16), 7u);
}

/// Bytes that each bit of the lane steps in `shared`, for one register.
static llvm::SmallVector<uint32_t> laneSteps(const TileLayout &shared,
                                             const TileLayout &registers,
                                             int64_t bytes) {
  auto map = shared.base.composeInverse(registers.base);
  llvm::SmallVector<uint32_t> steps;
  for (const Place &place : (*map)[static_cast<int>(Axis::Lane)])
    steps.push_back(bytes * place[Axis::Offset]);
  return steps;
}

namespace {

/// A tile of keys as attention loads it: the layout that it is loaded in
/// (LayoutChooser::loadLayout) and that of a dot's right operand.
struct KeyTile {
  int64_t keys, dim, bytes, side, warps;
  bool isTurned; ///< V, whose columns lie across
  TileLayout writer, reader;

  KeyTile(int64_t keys, int64_t dim, int64_t bytes, int64_t side, int64_t warps,
          bool isTurned)
      : keys(keys), dim(dim), bytes(bytes), side(side), warps(warps),
        isTurned(isTurned) {
    int64_t width = powerOfTwoPart(dim), height = isTurned ? 4 : 1;
    int64_t ofThread =
        std::max<int64_t>(keys * width / (64 * warps * height), 1);
    writer =
        blocked(keys, dim, std::min(16 / bytes, ofThread), warps, 64, height);
    int64_t vector =
        isTurned ? 4 : std::min<int64_t>(width * side / 64, 16 / bytes);
    reader = mfmaOperandB(keys, dim, !isTurned, side, vector, warps);
  }
  unsigned unit() const { return isTurned ? 0 : 1; }
  unsigned readBytes() const {
    return bytes * contiguousRegisters(reader.base, unit());
  }
  /// Of what the registers `vector` of a line hold, in `shared`.
  unsigned conflicts(const LinearLayout &shared, const TileLayout &registers,
                     unsigned width, bool isRead, unsigned banks) const {
    return countBankConflicts(laneSteps({shared, 1}, registers, bytes), width,
                              BankPhase::wave64(width, isRead, banks));
  }
  unsigned conflicts(const LinearLayout &shared, unsigned banks) const {
    int64_t written = isTurned ? 4 : contiguousRegisters(writer.base, 1);
    return conflicts(shared, reader, readBytes(), true, banks) +
           conflicts(shared, writer,
                     std::min<int64_t>(bytes * written, readBytes()), false,
                     banks);
  }
  LinearLayout spread(unsigned banks) const {
    return spreadShared(writer.base, reader.base, unit(), bytes,
                        readBytes() >= 16 ? 16 : 8, banks);
  }
};

} // namespace

/// K and V of attention, of every head dimension, number of waves and of banks.
TEST(Plans, SpreadTilesOfKeysHaveNoBankConflicts) {
  for (int64_t dim = 16; dim <= 256; dim += 16)
    for (int64_t keys : {16, 32, 64})
      for (int64_t bytes : {2, 4})
        for (int64_t side : {16, 32})
          for (int64_t warps : {1, 2, 4})
            for (bool isTurned : {false, true}) {
              if (keys < side || powerOfTwoPart(dim) < side)
                continue;
              KeyTile tile(keys, dim, bytes, side, warps, isTurned);
              for (unsigned banks : {32, 64}) {
                LinearLayout shared = tile.spread(banks);
                ASSERT_TRUE(shared.isSurjective() && shared.isInjective());
                EXPECT_EQ(tile.conflicts(shared, banks), 0u)
                    << keys << "x" << dim << " of " << bytes << " bytes, side "
                    << side << ", " << warps << " waves, "
                    << (isTurned ? "V, " : "K, ") << banks << " banks";
              }
            }
}

/// The twins: without a swizzle lanes meet, and one for the writes of four
/// waves does not serve those of one.
TEST(Plans, SpreadingIsForItsWriter) {
  KeyTile four(64, 64, 2, 32, 4, true), one(64, 64, 2, 32, 1, true);
  LinearLayout plain({64, 64});
  plain.addSteps(Axis::Offset, 0, 1, 6).addSteps(Axis::Offset, 1, 1, 6);
  EXPECT_NE(four.conflicts(plain, 32), 0u);
  EXPECT_EQ(four.conflicts(four.spread(32), 32), 0u);
  EXPECT_NE(one.conflicts(four.spread(32), 32), 0u);
}

/// K and V that loads direct to LDS brought, with the 64 banks of gfx950.
TEST(Plans, DirectlyLoadedOperandsHaveNoBankConflicts) {
  for (int64_t dim : {32, 64, 128, 256})
    for (int64_t side : {16, 32}) {
      TileLayout k = cyclicShared(64, dim, 2);
      EXPECT_EQ(countBankConflicts(
                    laneSteps(k, mfmaOperandB(64, dim, true, side, 8, 4), 2),
                    16, BankPhase::wave64(16, true, 64)),
                0u)
          << dim << " " << side;
      TileLayout v = turnedShared(64, dim, 2, side);
      auto read =
          planTurnedRead(mfmaOperandB(64, dim, false, side, 4, 4).base, v.base);
      ASSERT_TRUE(read);
      llvm::SmallVector<uint32_t> steps;
      for (uint32_t step : read->laneOffsets)
        steps.push_back(2 * step);
      EXPECT_EQ(countBankConflicts(steps, 8, BankPhase::wave64(8, true, 64)),
                0u)
          << dim << " " << side;
    }
}

/// The lane table of the ISA reference gives every register what it wants.
TEST(Plans, TurnedReadsBringTheElementsOfTheLayout) {
  LinearLayout registers = mfmaOperandB(64, 128, false, 32, 4, 1).base;
  LinearLayout shared = turnedShared(64, 128, 2, 32).base;
  auto read = planTurnedRead(registers, shared);
  ASSERT_TRUE(read);
  auto sum = [](llvm::ArrayRef<uint32_t> steps, uint32_t bits) {
    uint32_t offset = 0;
    for (auto [bit, step] : llvm::enumerate(steps))
      offset ^= bits >> bit & 1 ? step : 0;
    return offset;
  };
  for (uint32_t reg = 0; reg < registers.count(Axis::Register); ++reg)
    for (uint32_t lane = 0; lane < 64; ++lane) {
      uint32_t from = lane / 16 * 16 + lane % 16 / 4 + reg % 4 * 4;
      uint32_t offset =
          sum(read->groupOffsets, reg / 4) ^ sum(read->laneOffsets, from);
      ASSERT_EQ(shared.apply(Place::offset(offset + lane % 4)),
                registers.apply(Place::registers(reg, lane, 0)));
    }
}

/// The twins: neighbours in registers are no columns to turn, a line of 8 bytes
/// may not be torn, and without a swizzle the rows of V meet.
TEST(Plans, TurnedReadsNeedColumnsAcross) {
  LinearLayout shared = turnedShared(64, 128, 2, 32).base;
  EXPECT_FALSE(
      planTurnedRead(mfmaOperandB(64, 128, true, 32, 8, 4).base, shared));
  LinearLayout registers = mfmaOperandB(64, 128, false, 32, 4, 4).base;
  LinearLayout torn({64, 128});
  torn.addSteps(Axis::Offset, 1, 1, 1).addSteps(Axis::Offset, 0, 1, 6);
  torn.addSteps(Axis::Offset, 1, 2, 6);
  EXPECT_FALSE(planTurnedRead(registers, torn));
  LinearLayout plain({64, 128});
  plain.addSteps(Axis::Offset, 1, 1, 7).addSteps(Axis::Offset, 0, 1, 6);
  auto read = planTurnedRead(registers, plain);
  ASSERT_TRUE(read);
  llvm::SmallVector<uint32_t> steps;
  for (uint32_t step : read->laneOffsets)
    steps.push_back(2 * step);
  EXPECT_EQ(countBankConflicts(steps, 8, BankPhase::wave64(8, true, 64)), 3u);
}

/// A wave's lanes write one behind the other, wave behind wave.
TEST(Plans, LinearLanesFillMemoryInOrder) {
  LinearLayout shared = turnedShared(64, 128, 2, 32).base;
  LinearLayout lanes = linearLanes(shared, 8, 4);
  auto map = shared.composeInverse(lanes);
  ASSERT_TRUE(map);
  uint32_t offset = 1;
  auto expectNext = [&](Axis axis, unsigned first, unsigned end) {
    for (unsigned bit = first; bit < end; ++bit, offset *= 2)
      EXPECT_EQ((*map)[static_cast<int>(axis)][bit][Axis::Offset], offset);
  };
  expectNext(Axis::Register, 0, 3);
  expectNext(Axis::Lane, 0, 6);
  expectNext(Axis::Warp, 0, 2);
  expectNext(Axis::Register, 3, lanes.bits(Axis::Register));
  // Two waves have nothing to write of a small tile.
  EXPECT_EQ(
      copyBits(linearLanes(turnedShared(32, 32, 2, 32).base, 8, 4), Axis::Warp),
      2u);
}

/// The twin: without a swizzle lanes meet.
TEST(Plans, RowsOfPlainMemoryMeetInABank) {
  LinearLayout plain({64, 64});
  plain.addSteps(Axis::Offset, 1, 1, 6).addSteps(Axis::Offset, 0, 1, 6);
  auto steps = laneSteps({plain, 1}, mfmaOperandB(64, 64, true, 32, 8, 4), 2);
  EXPECT_EQ(countBankConflicts(steps, 16, BankPhase::wave64(16, true, 32)), 7u);
}
