//===- OddTanh.cpp - tanh to a wanted error -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OddTanh.h"

#include <cmath>

using namespace fa;

/// Of x, x³, ...: Chebyshev's polynomial of degree 2 `n` + 1, by
/// T(m + 2) = 2 (2 x² − 1) T(m) − T(m − 2).
static std::vector<double> oddChebyshev(unsigned n) {
  std::vector<double> before = {1}, now = {1}; // of degrees −1 and 1: x
  for (unsigned k = 0; k < n; ++k) {
    std::vector<double> next(now.size() + 1);
    for (size_t j = 0; j < now.size(); ++j) {
      next[j] -= 2 * now[j];
      next[j + 1] += 4 * now[j];
    }
    for (size_t j = 0; j < before.size(); ++j)
      next[j] -= before[j];
    before = now;
    now = next;
  }
  return now;
}

OddTanh fa::oddTanh(unsigned terms, double bound) {
  std::vector<double> series = {1.,
                                -1. / 3,
                                2. / 15,
                                -17. / 315,
                                62. / 2835,
                                -1382. / 155925,
                                21844. / 6081075,
                                -929569. / 638512875,
                                6404582. / 10854718875};
  double error = 0;
  while (series.size() > terms) {
    std::vector<double> chebyshev = oddChebyshev(series.size() - 1);
    double multiple = series.back() / chebyshev.back();
    double power = std::pow(bound, 2 * series.size() - 1);
    error += std::abs(multiple * power);
    for (size_t j = 0; j < series.size(); ++j)
      series[j] -= multiple * chebyshev[j] * power / std::pow(bound, 2 * j + 1);
    series.pop_back();
  }
  return {bound, error, series};
}

OddTanh fa::oddTanhWithin(unsigned terms, double error) {
  double low = 0x1p-10, high = 0.5;
  for (unsigned step = 0; step < 40; ++step) {
    double middle = (low + high) / 2;
    (oddTanh(terms, middle).error <= error ? low : high) = middle;
  }
  return oddTanh(terms, low);
}
