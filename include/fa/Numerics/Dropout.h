//===- Dropout.h - which elements dropout keeps -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_DROPOUT_H
#define FA_NUMERICS_DROPOUT_H

#include <array>
#include <cmath>
#include <cstdint>

namespace fa {

/// Four random words of a counter and a key: Philox4x32-10 (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// Dropout by the rule of the numerics contract (docs/numerics.md).
struct DropoutRule {
  double probability; ///< of being dropped
  uint64_t seed, offset;

  /// How many of the 65536 values of a halfword drop an element; of a
  /// probability that can be had, 1 to 65535.
  static int64_t threshold(double probability) {
    return std::llround(probability * 65536);
  }
  /// What the probability of query `i` and key `j` is multiplied with: 0 or
  /// 65536 / (65536 − threshold). `head` is b · hq + h.
  double factor(int64_t head, int64_t i, int64_t j) const;
};

} // namespace fa

#endif // FA_NUMERICS_DROPOUT_H
