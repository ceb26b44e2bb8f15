//===- Mix.h - what the seed decides ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_MIX_H
#define FA_LIB_EMULATOR_MIX_H

#include <cstdint>

namespace fa::emu {

/// A number that depends on all of the arguments.
inline uint64_t mix(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t x = seed + a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_MIX_H
