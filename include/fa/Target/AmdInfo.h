//===- AmdInfo.h - facts about AMD architectures ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_AMDINFO_H
#define FA_TARGET_AMDINFO_H

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
  /// Dies of a card, each with an L2 cache, that get workgroups in turn: the
  /// XCDs of MI300X and MI350X (AMD CDNA 3 and CDNA 4 white papers). A card
  /// with fewer (MI300A has 6) computes the same.
  unsigned dies;
};

/// The facts of `arch`. One that is not known is an error that lists those that
/// are.
llvm::Expected<AmdInfo> getAmdInfo(llvm::StringRef arch);

/// The names of all, with commas between.
std::string listAmdArchs();

} // namespace fa

#endif // FA_TARGET_AMDINFO_H
