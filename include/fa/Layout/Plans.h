//===- Plans.h - what follows from layouts ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAYOUT_PLANS_H
#define FA_LAYOUT_PLANS_H

#include "fa/Layout/LinearLayout.h"

namespace fa {

/// How a tile gets from one layout of registers to another.
struct ConversionPlan {
  enum Kind {
    Identity,  ///< nothing to do
    Registers, ///< other names for registers of the same thread
    Lanes,     ///< between lanes of a warp, by shuffles
    Warps      ///< between warps, through shared memory
  } kind;
  /// For each register, lane and warp bit of the destination, where in the
  /// source its element is.
  LinearLayout::PlaceMap map;

  /// The source's place of a destination's place.
  Place sourceOf(const Place &place) const;
};

/// Nothing if the source lacks an element. Both tiles are of the same sizes.
std::optional<ConversionPlan> planConversion(const LinearLayout &source,
                                             const LinearLayout &destination);

/// Bits of each axis that step along the reduced dimension: registers are
/// combined in each thread, lanes by a butterfly of shuffles, warps through
/// shared memory.
struct ReductionPlan {
  uint32_t registers = 0, lanes = 0, warps = 0;
};

/// Nothing if a bit steps along `dim` and another dimension at once.
std::optional<ReductionPlan> planReduction(const LinearLayout &layout,
                                           unsigned dim);

/// How many consecutive registers hold neighbours along `dim`, a power of two:
/// the width of a vector access.
int64_t contiguousRegisters(const LinearLayout &layout, unsigned dim);

/// Bits of `axis` that change nothing: of the places that differ in them, one
/// stores.
uint32_t copyBits(const LinearLayout &layout, Axis axis);

/// Registers from shared memory by ldmatrix (PTX ISA 9.7.14.5.15): matrices of
/// 8 x 8 elements of 16 bits, a row of which is 16 bytes at an address that one
/// lane gives. Of 32 bits a row has four elements, one for each of four lanes;
/// of 8 bits it has 16, and a register's four are, where matrices are
/// transposed, two neighbours of each of two rows.
struct MatrixLoad {
  bool transposed = false;
  unsigned matrices = 1; ///< 1, 2 or 4 in one instruction
  /// Offset (in elements) that each bit of the lane number adds to the address
  /// of the row that the lane names; bits that no matrix needs add nothing.
  std::array<uint32_t, 5> laneOffsets{};
  /// The register bits that the instruction's results are numbered by.
  llvm::SmallVector<unsigned, 2> matrixBits;
  /// The other register bits, above those inside of a word of 32 bits, and the
  /// offsets that they add.
  llvm::SmallVector<std::pair<unsigned, uint32_t>, 8> groupOffsets;
  llvm::SmallVector<uint32_t, 3> warpOffsets; ///< by warp bit
};

/// The way to load `registers` from `shared` by ldmatrix, if there is one.
/// Elements have `bits`, 8, 16 or 32; those of 32 are never transposed.
std::optional<MatrixLoad> planMatrixLoad(const LinearLayout &registers,
                                         const LinearLayout &shared,
                                         unsigned bits = 16);

/// Registers from shared memory by gfx950's transposing reads (CDNA4 ISA, 11.4
/// "MFMA Transpose Load from LDS", DS_READ_B64_TR_B16): of 16 lanes each names
/// four neighbours of 16 bits, and lane l gets, as element n, neighbour l % 4
/// of lane l / 4 + 4 n.
struct TurnedRead {
  /// Elements that each bit of the number of a lane adds to the address that it
  /// names, and each bit of the warp's.
  std::array<uint32_t, 6> laneOffsets{};
  llvm::SmallVector<uint32_t, 3> warpOffsets;
  /// What each register bit above the lowest two adds.
  llvm::SmallVector<uint32_t, 8> groupOffsets;
};

/// The way to load `registers`, 16 bits each, from `shared` so, if there is
/// one: the tile's columns are neighbours in memory, its registers across from
/// them.
std::optional<TurnedRead> planTurnedRead(const LinearLayout &registers,
                                         const LinearLayout &shared);

/// Which lanes the banks of shared memory serve together: the XORs of these
/// numbers of lanes, and those from there on.
struct BankPhase {
  llvm::SmallVector<uint32_t, 5> lanes;
  unsigned banks = 32; ///< of 4 bytes

  /// NVIDIA (CUDA C++ Programming Guide, "Shared Memory"): as many lanes as
  /// read 128 bytes together.
  static BankPhase warp32(unsigned width);
  /// AMD (ROCm documentation, Composable Kernel, "Understanding AMD GPU LDS
  /// and Bank Conflicts"): as many lanes as `banks` have bytes; of 16-byte
  /// reads from 32 banks lanes 0 to 3 and 20 to 23.
  static BankPhase wave64(unsigned width, bool isRead, unsigned banks);
};

/// How many times more than at best the banks of shared memory are read when
/// each lane bit l adds `laneOffsets[l]` bytes (by XOR) and every lane reads
/// `width` bytes: 0 is no conflict.
unsigned countBankConflicts(llvm::ArrayRef<uint32_t> laneOffsets,
                            unsigned width, const BankPhase &phase);
inline unsigned countBankConflicts(llvm::ArrayRef<uint32_t> laneOffsets,
                                   unsigned width) {
  return countBankConflicts(laneOffsets, width, BankPhase::warp32(width));
}

/// A tile of elements of `bytes` in shared memory, offsets in elements, that
/// warps of 64 lanes write from registers `writer` and read to `reader`: the
/// lanes that the `banks` serve together are in different ones, both ways.
/// `lineBytes` (8 or 16) of dimension `unit` stay together.
LinearLayout spreadShared(const LinearLayout &writer,
                          const LinearLayout &reader, unsigned unit,
                          int64_t bytes, int64_t lineBytes, unsigned banks);

} // namespace fa

#endif // FA_LAYOUT_PLANS_H
