//===- SmallTanh.h - tanh of numbers near 0 ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H

#include <array>

namespace fa {

/// Up to this |x|, tanh x = x (c0 + c1 x² + c2 x⁴ + c3 x⁶ + c4 x⁸) with
/// coefficients c: a relative error of 5e-8, and of at most 1.5e-7 where it
/// is evaluated in f32 by Horner's rule with fused multiply-adds. A logit
/// capped at 30 is below the bound up to 15, one capped at 50 up to 25.
///
/// c0 is 1, so that next to 0 x itself comes out; the others make the largest
/// relative error smallest (Lawson's algorithm, in extended precision).
constexpr float kSmallTanhBound = 0.5625f;
constexpr std::array<float, 5> kSmallTanh = {1.0f, -0.33332875f, 0.1331908f,
                                             -0.05256512f, 0.016232919f};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SMALLTANH_H
