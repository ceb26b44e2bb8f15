//===- ProductOperands.cpp - the factors of a product ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductOperands.h"

#include "Block.h"

using namespace fa;
using namespace fa::emu;

/// The 16 bits of an f16 or bf16 as f32.
static float widen(uint16_t bits, bool isHalf) {
  if (!isHalf)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  // Exponents are biased by 15 in one, by 127 in the other; denormals are
  // exact.
  float size = std::bit_cast<float>(rest << 13) * 0x1p112f;
  uint32_t word = rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13
                                 : std::bit_cast<uint32_t>(size);
  return std::bit_cast<float>(word | sign);
}

void OperandReader::spread(const Fragment &words, LeftFactor &a) const {
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned n = 0; n < 4; ++n) {
      float *to = &a[lane / 4 + 8 * (n % 2)][2 * (lane % 4) + 8 * (n / 2)];
      to[0] = widen(words[lane][n], isHalf);
      to[1] = widen(words[lane][n] >> 16, isHalf);
    }
}

/// The eight elements at `address`, `step` floats apart.
void OperandReader::readEight(uint32_t address, float *to,
                              unsigned step) const {
  uint16_t elements[8];
  thread.block->shared().readForProxy(thread, site, address, seen, elements);
  for (unsigned n = 0; n < 8; ++n)
    to[size_t(n) * step] = widen(elements[n], isHalf);
}

void OperandReader::readLeft(const MatrixDescriptor &from, bool isTransposed,
                             LeftFactor &a) const {
  unsigned first = thread.warp->index % 4 * kRows;
  if (isTransposed) {
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned row = 0; row < kRows; row += 8)
        readEight(from.acrossDepth(k, 2 * (first + row)), &a[row][k], kDepth);
    return;
  }
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned k = 0; k < kDepth; k += 8)
      readEight(from.alongDepth(first + row, 2 * k), &a[row][k], 1);
}

void OperandReader::readRight(const MatrixDescriptor &from, bool isTransposed,
                              unsigned columns, RightFactor &b) const {
  if (isTransposed) {
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned n = 0; n < columns; n += 8)
        readEight(from.acrossDepth(k, 2 * n), &b[k][n], 1);
    return;
  }
  for (unsigned n = 0; n < columns; ++n)
    for (unsigned k = 0; k < kDepth; k += 8)
      readEight(from.alongDepth(n, 2 * k), &b[k][n], kMaxColumns);
}
