//===- SmallTanh.h - tanh of numbers near 0 ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H

#include <array>
#include <span>

namespace fa {

/// Up to this |x|, tanh x = x (c0 + c1 x² + c2 x⁴ + ...) with coefficients c: a
/// relative error of 5.3e-8, and of at most 1.5e-7 where it is evaluated in f32
/// by Horner's rule with fused multiply-adds.
///
/// c0 is 1, so that next to 0 x itself comes out; the others make the largest
/// relative error smallest (Lawson's algorithm, in extended precision).
struct SmallTanh {
  float bound;
  std::span<const float> coefficients;
};

constexpr std::array<float, 3> kTanhCoefficients3 = {1.0f, -0.333313376f,
                                                     0.131142393f};
constexpr std::array<float, 5> kTanhCoefficients5 = {
    1.0f, -0.33332875f, 0.1331908f, -0.05256512f, 0.016232919f};

/// The shortest first. A logit capped at 30 is below their bounds up to 5 and
/// 15, one capped at 50 up to 8 and 25.
constexpr SmallTanh kSmallTanhs[] = {{0.171875f, kTanhCoefficients3},
                                     {0.5625f, kTanhCoefficients5}};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H
