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
  /// Whether these are computed by vector instructions (kEmulatedAmx).
  bool emulatesTiles = false;
  /// Whether instructions convert between float and half (F16C), and round
  /// float to bfloat (AVX512_BF16). Where not, code does it with integers.
  bool convertsHalf = true, convertsBfloat = true;
};

/// Behind the name of a CPU with AVX512_BF16: code that would be for one with
/// AMX, too, but has vector instructions in place of those.
inline constexpr llvm::StringLiteral kEmulatedAmx = "+emulated-amx";

/// The facts of `arch`: "host" (this machine) or the name of a CPU of this
/// machine's architecture that LLVM knows, perhaps with kEmulatedAmx behind it.
/// An unknown name is an error.
llvm::Expected<HostInfo> getHostInfo(llvm::StringRef arch);

/// Whether code for `cpu` runs on this machine. `features` are those that the
/// code may use, as getHostInfo gave them for this machine; empty: of `cpu`, a
/// CPU that was named, all that LLVM knows of it. The error names what this
/// machine has not.
llvm::Error checkRunsHere(llvm::StringRef cpu, llvm::StringRef features);

/// Asks the system for the registers of AMX, which a process must before it
/// runs code for them. Whether it grants them.
bool requestMatrixTiles();

} // namespace fa

#endif // FA_TARGET_HOSTINFO_H
