//===- SmallTanhTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallTanh.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace fa;

/// tanh(factor · s) as a GPU computes it below the bound: the factor is in the
/// coefficients.
static float evaluate(std::array<float, 5> form, float factor, float s) {
  std::array<float, 5> scaled;
  float power = factor;
  for (size_t n = 0; n < form.size(); ++n, power *= factor * factor)
    scaled[n] = power * form[n];
  float square = s * s, sum = scaled[4];
  for (int n = 3; n >= 0; --n)
    sum = std::fma(sum, square, scaled[n]);
  return s * sum;
}

/// The largest relative error over a dense sample of [0, bound], of numbers
/// next to 0, too.
static double largestError(std::array<float, 5> form, float factor,
                           float bound) {
  double worst = 0;
  auto add = [&](float s) {
    double exact = std::tanh(double(factor) * s);
    worst = std::max(worst, std::abs(evaluate(form, factor, s) / exact - 1));
  };
  constexpr int steps = 1 << 20;
  for (int n = 1; n <= steps; ++n)
    add(bound / factor * (float(n) / steps));
  for (float s = bound / factor; s * factor > 0x1p-20f; s *= 0.999f)
    add(s);
  return worst;
}

TEST(SmallTanh, IsWithinItsBound) {
  EXPECT_LT(largestError(kSmallTanh, 1, kSmallTanhBound), 1.5e-7);
}

TEST(SmallTanh, TakesFactorsIntoItsCoefficients) {
  for (float factor :
       {0x1p-13f, 0.0883883476f / 50, 0.0883883476f / 30, 0.3f, 7.7f, 0x1p13f})
    EXPECT_LT(largestError(kSmallTanh, factor, kSmallTanhBound), 2.5e-7)
        << factor;
}

/// The twins: beyond the bound, and with a coefficient that is a little off.
TEST(SmallTanh, IsNotBeyondIt) {
  EXPECT_GT(largestError(kSmallTanh, 1, 0.75f), 1e-6);
  std::array<float, 5> off = kSmallTanh;
  off[1] += 1e-5f;
  EXPECT_GT(largestError(off, 1, kSmallTanhBound), 1e-6);
}
