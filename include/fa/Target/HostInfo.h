//===- HostInfo.h - facts about host architectures --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_HOSTINFO_H
#define FA_TARGET_HOSTINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// A host CPU as the compiler sees it.
struct HostInfo {
  std::string triple, cpu, features;
  int64_t vectorBits = 128;
  int64_t vectorRegisters = 16;
  /// Whether an instruction adds the products of pairs of bf16 to f32
  /// (AVX512_BF16's vdpbf16ps).
  bool pairDots = false;
  /// Whether there are products of tiles of bf16 (AMX), too, and AVX512DQ.
  bool tileDots = false;
};

/// The facts of `arch`: "host" (this machine) or the name of a CPU of this
/// machine's architecture that LLVM knows. An unknown name is an error.
llvm::Expected<HostInfo> getHostInfo(llvm::StringRef arch);

/// What code for `cpu`, a CPU that LLVM knows, may use and this machine has
/// not: names of features with commas between; empty where the code runs here.
std::string findMissingFeatures(llvm::StringRef cpu);

/// Asks the system for the registers of AMX, which a process must before it
/// runs code for them. Whether it grants them.
bool requestMatrixTiles();

} // namespace fa

#endif // FA_TARGET_HOSTINFO_H
