//===- SmallTanhTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallTanh.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

using namespace fa;

/// tanh(factor · s) as a GPU computes it below the bound: the factor is in the
/// coefficients.
static float evaluate(std::span<const float> form, float factor, float s) {
  std::vector<float> scaled;
  float power = factor;
  for (float coefficient : form) {
    scaled.push_back(power * coefficient);
    power *= factor * factor;
  }
  float square = s * s, sum = scaled.back();
  for (size_t n = form.size() - 1; n-- > 0;)
    sum = std::fma(sum, square, scaled[n]);
  return s * sum;
}

/// The largest relative error over a dense sample of [0, bound], of numbers
/// next to 0, too.
static double largestError(std::span<const float> form, float factor,
                           float bound) {
  double worst = 0;
  auto add = [&](float s) {
    double exact = std::tanh(double(factor) * s);
    worst = std::max(worst, std::abs(evaluate(form, factor, s) / exact - 1));
  };
  constexpr int steps = 1 << 20;
  for (int n = 1; n <= steps; ++n)
    add(bound / factor * (float(n) / steps));
  float s = bound / factor;
  while (s * factor > 0x1p-20f) {
    add(s);
    s *= 0.999f;
  }
  return worst;
}

TEST(SmallTanh, IsWithinItsBound) {
  for (const SmallTanh &form : kSmallTanhs)
    EXPECT_LT(largestError(form.coefficients, 1, form.bound), 1.5e-7);
}

TEST(SmallTanh, TakesFactorsIntoItsCoefficients) {
  for (const SmallTanh &form : kSmallTanhs)
    for (float factor : {0x1p-13f, 0.0883883476f / 50, 0.0883883476f / 30, 0.3f,
                         7.7f, 0x1p13f})
      EXPECT_LT(largestError(form.coefficients, factor, form.bound), 2.5e-7)
          << factor;
}

/// The twins: beyond the bound, and with a coefficient that is a little off.
TEST(SmallTanh, IsNotBeyondIt) {
  for (const SmallTanh &form : kSmallTanhs) {
    EXPECT_GT(largestError(form.coefficients, 1, form.bound * 4 / 3), 2.5e-7);
    std::vector<float> off(form.coefficients.begin(), form.coefficients.end());
    off[1] += 1e-5f;
    EXPECT_GT(largestError(off, 1, form.bound), 2.5e-7);
  }
}
