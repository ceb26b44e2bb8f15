//===- OddTanhTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OddTanh.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace fa;

/// The largest error up to `bound`.
static double largestError(const OddTanh &form, double bound) {
  double worst = 0;
  constexpr int steps = 1 << 16;
  for (int n = 0; n <= steps; ++n) {
    double x = bound * n / steps, sum = 0, power = x;
    for (double coefficient : form.coefficients) {
      sum += power * coefficient;
      power *= x * x;
    }
    worst = std::max(worst, std::abs(sum - std::tanh(x)));
  }
  return worst;
}

/// The twin: beyond its bound a form has another error.
TEST(OddTanh, HasItsErrorUpToItsBound) {
  for (unsigned terms : {1, 2, 3, 4})
    for (double bound : {0.1, 0.17, 0.3, 0.5}) {
      OddTanh form = oddTanh(terms, bound);
      EXPECT_EQ(form.coefficients.size(), terms);
      EXPECT_LE(largestError(form, bound), form.error * 1.005);
      EXPECT_GE(largestError(form, bound), form.error * 0.9);
      EXPECT_GT(largestError(form, bound * 1.25), form.error * 2);
      EXPECT_GT(largestError(form, bound * 2), form.error * 10);
    }
}

TEST(OddTanh, GoesAsFarAsAnErrorAllows) {
  for (unsigned terms : {2, 3, 4})
    for (double cap : {15., 30., 50., 60.})
      for (double error : {0x1p-14, 0x1p-16, 5e-6}) {
        OddTanh form = oddTanhWithin(terms, error / cap);
        EXPECT_LE(cap * largestError(form, form.bound), error * 1.005);
        if (form.bound < 0.49)
          EXPECT_GT(oddTanh(terms, form.bound * 1.01).error, error / cap);
      }
}

/// The least cap that tgpu-expect-maxima takes, and what three terms are for.
TEST(OddTanh, ReachesFarScores) {
  EXPECT_GT(15 * oddTanhWithin(4, 5e-6 / 15).bound, 7);
  EXPECT_GT(50 * oddTanhWithin(3, 5e-6 / 50).bound, 13);
  EXPECT_GT(50 * oddTanhWithin(3, 0x1p-14 / 50).bound, 20);
  EXPECT_LT(50 * oddTanhWithin(2, 0x1p-14 / 50).bound, 9);
}
