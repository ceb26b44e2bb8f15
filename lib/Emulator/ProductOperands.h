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

/// Elements of 16 bits in the depth of one product.
inline constexpr unsigned kDepth = 16;
/// Rows of a product that one warp computes.
inline constexpr unsigned kRows = 16;
inline constexpr unsigned kMaxColumns = 256;

/// Four words of a fragment in registers, by lane.
using Fragment = std::array<std::array<uint32_t, 4>, 32>;
using LeftFactor = float[kRows][kDepth];
using RightFactor = float[kDepth][kMaxColumns];

/// Widens factors to f32. Those in shared memory are read as they are now, and
/// must have been written before `seen`.
struct OperandReader {
  Thread &thread;
  int32_t site;
  const Horizon &seen;
  bool isHalf; ///< f16, otherwise bf16

  /// The fragment of mma.m16n8k16 (Matrix.cpp).
  void spread(const Fragment &words, LeftFactor &a) const;
  /// The rows of the thread's warp.
  void readLeft(const MatrixDescriptor &from, bool isTransposed,
                LeftFactor &a) const;
  void readRight(const MatrixDescriptor &from, bool isTransposed,
                 unsigned columns, RightFactor &b) const;

private:
  void readEight(uint32_t address, float *to, unsigned step) const;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_PRODUCTOPERANDS_H
