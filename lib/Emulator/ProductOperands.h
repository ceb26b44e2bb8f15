//===- ProductOperands.h - the factors of a product -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_PRODUCTOPERANDS_H
#define FA_LIB_EMULATOR_PRODUCTOPERANDS_H

#include "Clock.h"
#include "MatrixDescriptor.h"

#include <array>
#include <cstdint>

namespace fa::emu {

struct Thread;

/// What a product multiplies, as code and emulator number it.
enum class Factor : uint8_t { BF16, F16, E4M3, E5M2 };

inline constexpr unsigned bytesOf(Factor factor) {
  return factor < Factor::E4M3 ? 2 : 1;
}
/// Elements in the depth of one product: 32 bytes.
inline constexpr unsigned depthOf(Factor factor) {
  return 32 / bytesOf(factor);
}
inline constexpr unsigned kMostDepth = 32;
/// Rows of a product that one warp computes.
inline constexpr unsigned kRows = 16;
inline constexpr unsigned kMaxColumns = 256;

/// Four words of a fragment in registers, by lane.
using Fragment = std::array<std::array<uint32_t, 4>, 32>;
using LeftFactor = float[kRows][kMostDepth];
using RightFactor = float[kMostDepth][kMaxColumns];

/// Widens factors to f32. Those in shared memory are read as they are now, and
/// must have been written before `seen`.
struct OperandReader {
  Thread &thread;
  int32_t site;
  const Horizon &seen;

  /// The fragment of mma.m16n8k16 (Matrix.cpp), of 16 bits.
  static void spread(const Fragment &words, Factor factor, LeftFactor &a);
  /// The rows of the thread's warp. Of 8 bits none is transposed.
  void readLeft(const MatrixDescriptor &from, Factor factor, bool isTransposed,
                LeftFactor &a) const;
  void readRight(const MatrixDescriptor &from, Factor factor, bool isTransposed,
                 unsigned columns, RightFactor &b) const;

private:
  void read(uint32_t address, Factor factor, float *to, unsigned step) const;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_PRODUCTOPERANDS_H
