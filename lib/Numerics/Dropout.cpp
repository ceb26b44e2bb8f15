//===- Dropout.cpp - which elements dropout keeps -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Dropout.h"

using namespace fa;

std::array<uint32_t, 4> fa::philox4x32(std::array<uint32_t, 4> counter,
                                       std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0],
             second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double DropoutRule::factor(int64_t head, int64_t i, int64_t j) const {
  std::array<uint32_t, 4> words = philox4x32(
      {uint32_t(j) & ~9u, uint32_t(i) & ~8u, uint32_t(head), uint32_t(offset)},
      {uint32_t(seed), uint32_t(seed >> 32) ^ uint32_t(offset >> 32)});
  uint32_t word = words[2 * (i >> 3 & 1) + (j >> 3 & 1)];
  uint32_t half = j & 1 ? word >> 16 : word & 0xFFFF;
  int64_t dropped = threshold(probability);
  return half < dropped ? 0.0 : 65536.0 / (65536 - dropped);
}
