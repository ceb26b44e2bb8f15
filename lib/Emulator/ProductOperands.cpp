//===- ProductOperands.cpp - the factors of a product ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductOperands.h"

#include "Block.h"

#include <bit>

using namespace fa;
using namespace fa::emu;

/// The size of a number whose exponent, biased by `bias`, stands before
/// `fraction` bits of fraction. Denormals are exact.
static float scaled(uint32_t bits, unsigned fraction, uint32_t bias) {
  float power = std::bit_cast<float>((127 + 127 - bias) << 23);
  return std::bit_cast<float>(bits << (23 - fraction)) * power;
}

static float signedAs(uint32_t sign, float size) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(size) | sign);
}

/// The bits of a number as f32.
static float widen(uint32_t bits, Factor factor) {
  if (factor == Factor::BF16)
    return std::bit_cast<float>(bits << 16);
  if (factor == Factor::E4M3) {
    uint32_t rest = bits & 0x7f;
    float size = rest == 0x7f ? std::bit_cast<float>(0x7fc00000)
                              : scaled(rest, /*fraction=*/3, /*bias=*/7);
    return signedAs((bits & 0x80) << 24, size);
  }
  // An e5m2 is the upper byte of an f16.
  if (factor == Factor::E5M2)
    bits <<= 8;
  uint32_t rest = bits & 0x7fff;
  float size = rest >= 0x7c00
                   ? std::bit_cast<float>(0x7f800000 | (rest & 0x3ff) << 13)
                   : scaled(rest, /*fraction=*/10, /*bias=*/15);
  return signedAs((bits & 0x8000) << 16, size);
}

void OperandReader::spread(const Fragment &words, Factor factor,
                           LeftFactor &a) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned n = 0; n < 4; ++n) {
      float *to = &a[lane / 4 + 8 * (n % 2)][2 * (lane % 4) + 8 * (n / 2)];
      to[0] = widen(words[lane][n] & 0xffff, factor);
      to[1] = widen(words[lane][n] >> 16, factor);
    }
}

/// The elements of the 16 bytes at `address`, `step` floats apart.
void OperandReader::read(uint32_t address, Factor factor, float *to,
                         unsigned step) const {
  uint16_t words[8];
  thread.block->shared().readForProxy(thread, site, address, seen, words);
  for (unsigned n = 0; n < 8; ++n)
    if (bytesOf(factor) == 2) {
      to[size_t(n) * step] = widen(words[n], factor);
    } else {
      to[size_t(2 * n) * step] = widen(words[n] & 0xff, factor);
      to[size_t(2 * n + 1) * step] = widen(words[n] >> 8, factor);
    }
}

void OperandReader::readLeft(const MatrixDescriptor &from, Factor factor,
                             bool isTransposed, LeftFactor &a) const {
  unsigned first = thread.warp->index % 4 * kRows;
  if (isTransposed) {
    for (unsigned k = 0; k < depthOf(factor); ++k)
      for (unsigned row = 0; row < kRows; row += 8)
        read(from.acrossDepth(k, 2 * (first + row)), factor, &a[row][k],
             kMostDepth);
    return;
  }
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned byte : {0, 16})
      read(from.alongDepth(first + row, byte), factor,
           &a[row][byte / bytesOf(factor)], 1);
}

void OperandReader::readRight(const MatrixDescriptor &from, Factor factor,
                              bool isTransposed, unsigned columns,
                              RightFactor &b) const {
  if (isTransposed) {
    for (unsigned k = 0; k < depthOf(factor); ++k)
      for (unsigned n = 0; n < columns; n += 8)
        read(from.acrossDepth(k, 2 * n), factor, &b[k][n], 1);
    return;
  }
  for (unsigned n = 0; n < columns; ++n)
    for (unsigned byte : {0, 16})
      read(from.alongDepth(n, byte), factor, &b[byte / bytesOf(factor)][n],
           kMaxColumns);
}
