//===- Site.h - where emulated code calls the emulator ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EMULATOR_SITE_H
#define FA_EMULATOR_SITE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fa {

/// What one call in emulated code stands for.
struct EmulatorSite {
  std::string op;       ///< "nvvm.mma.sync"
  std::string location; ///< "file.mlir:12:5", in the user's program
  /// The operation's attributes, in an order that its family of functions says.
  std::array<int32_t, 4> attributes = {};
};

/// Operands and results of one call, 8 bytes each. A product of a warpgroup has
/// 128 accumulators, a wait passes those of two.
inline constexpr unsigned kEmulatorSlots = 272;

/// Where shared memory begins in the 32-bit addresses of emulated code: not at
/// 0, so that what was computed from nothing is out of bounds. As on cards, a
/// multiple of 1024.
inline constexpr uint32_t kEmulatorSharedBase = 1024;

} // namespace fa

#endif // FA_EMULATOR_SITE_H
