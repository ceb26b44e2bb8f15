//===- NvidiaInfo.h - facts about NVIDIA architectures ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_MACHINE_NVIDIAINFO_H
#define FA_MACHINE_NVIDIAINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// An architecture, from the CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability".
struct NvidiaInfo {
  llvm::StringLiteral name;  ///< sm_80
  int64_t computeCapability; ///< 80
  int64_t sharedLimit;       ///< bytes of shared memory a block may ask for
  llvm::StringLiteral ptxVersion; ///< LLVM's feature, "+ptx80"
  /// Dots of warpgroups, tensor memory accelerator, registers that partitions
  /// exchange. Code that uses them runs on this compute capability alone.
  bool hasWarpgroups;
  /// A kernel can begin before the one before it has ended (CUDA C++
  /// Programming Guide, "Programmatic Dependent Launch").
  bool hasEarlyLaunch;
  /// Multiprocessors of the card of the architecture that has most.
  int64_t processors;

  /// Pairs of e4m3 become pairs of f16 in an instruction (PTX ISA, "cvt"),
  /// which asks for `kNarrowPtxVersion`.
  bool hasNarrowConversions() const { return computeCapability >= 89; }
};

/// LLVM's feature for the version of PTX with conversions of pairs of e4m3.
inline constexpr llvm::StringLiteral kNarrowPtxVersion = "+ptx81";

/// The facts of `arch`. One that is not known is an error that lists those that
/// are.
llvm::Expected<NvidiaInfo> getNvidiaInfo(llvm::StringRef arch);

/// The best architecture that a card of this compute capability runs, or null.
const NvidiaInfo *findNvidiaInfo(int64_t computeCapability);

/// The names of all, with commas between.
std::string listNvidiaArchs();

} // namespace fa

#endif // FA_MACHINE_NVIDIAINFO_H
