//===- AmdInfo.h - facts about AMD architectures ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_MACHINE_AMDINFO_H
#define FA_MACHINE_AMDINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// An architecture, from the "AMD Instinct MI200", "MI300" and "CDNA4" ISA
/// references: sections "Local Data Share" and "Matrix Arithmetic
/// Instructions", whose passes are four cycles each.
struct AmdInfo {
  llvm::StringLiteral name; ///< gfx942
  int64_t sharedLimit;      ///< bytes of LDS a workgroup may have
  unsigned ldsBanks;        ///< of 4 bytes
  /// 16-bit elements of the depth that a lane gives to one instruction: 4 for
  /// 32x32x8 and 16x16x16, 8 for 32x32x16 and 16x16x32.
  unsigned elementsOfLane;
  /// Cycles of one such instruction.
  unsigned cyclesOf32, cyclesOf16;
  bool hasPermlaneSwap; ///< v_permlane16_swap, v_permlane32_swap
  /// Buffer loads of 16 bytes a lane direct to LDS, and reads from LDS that
  /// transpose (ds_read_b64_tr_b16).
  bool hasDirectLoads;
  /// Dies of the largest card, each with an L2 cache, that get workgroups in
  /// turn: the XCDs of MI300X and MI350X (AMD CDNA 3 and CDNA 4 white papers).
  unsigned dies;
  /// Processors that a die of it has.
  unsigned processorsOfDie;

  /// The dies of a card of so many processors: MI300A, and a part of a card
  /// that is a device of its own, have fewer. 0 processors: not known.
  unsigned diesOf(int64_t processors) const;
};

/// The facts of `arch`. One that is not known is an error that lists those that
/// are.
llvm::Expected<AmdInfo> getAmdInfo(llvm::StringRef arch);

/// The names of all, with commas between.
std::string listAmdArchs();

} // namespace fa

#endif // FA_MACHINE_AMDINFO_H
