//===- LaneMoves.h - words from lane to lane on AMD cards -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any vector instruction can take its first operand from another lane of the
// wave, by data parallel primitives (DPP): a control word says from which. A
// wave of 64 lanes is four rows of 16, a row four banks of 4.
//
//===----------------------------------------------------------------------===//

#ifndef FA_MACHINE_LANEMOVES_H
#define FA_MACHINE_LANEMOVES_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace fa {

/// The control words that gfx90a, gfx942 and gfx950 have ("AMD Instinct MI300
/// ISA", table of DPP_CTRL; LLVM, "Syntax of AMDGPU Instruction Modifiers", for
/// row_newbcast): the first of each kind, to which the number of lanes is
/// added. quad_perm has two bits for each lane of a group of four.
enum LaneMove : uint32_t {
  kQuadPerm = 0x000,
  kRowShl = 0x100,
  kRowShr = 0x110,
  kRowRor = 0x120,
  kWaveShl = 0x130,
  kWaveRol = 0x134,
  kWaveShr = 0x138,
  kWaveRor = 0x13c,
  kRowMirror = 0x140,
  kRowHalfMirror = 0x141,
  kRowBcast15 = 0x142,
  kRowBcast31 = 0x143,
  kRowNewBcast = 0x150,
};

/// Whether `control` is a word of the table.
bool isLaneMove(uint32_t control);

/// The lane that `lane` of 64 takes its word from; none: it has no source, and
/// bound_ctrl says what it gets.
std::optional<unsigned> sourceLane(uint32_t control, unsigned lane);

/// The moves, one behind the other, that bring each lane the word of the one
/// whose number differs in the bits `mask` < 16: at most two.
llvm::SmallVector<uint32_t, 2> movesAcross(uint32_t mask);

} // namespace fa

#endif // FA_MACHINE_LANEMOVES_H
