//===- ErrorRule.cpp - the rule for an error ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ErrorRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace fa;

double fa::maxAbs(const HostTensor &tensor) {
  double result = 0;
  tensor.forEach([&](char *p) {
    double x = std::fabs(loadElement(p, tensor.type()));
    if (std::isfinite(x))
      result = std::max(result, x);
  });
  return result;
}

/// NaN with NaN, or the same infinity.
static bool sameSpecial(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || x == y;
}

static std::string indicesOf(int64_t position, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> indices(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    indices[d] = position % sizes[d];
    position /= sizes[d];
  }
  return "[" +
         join(map_range(indices, [](int64_t i) { return std::to_string(i); }),
              ", ") +
         "]";
}

/// Compares the values that are numbers and remembers the worst excess over
/// 2 * e0Max + extra(reference). Errors up to `least` always say something.
static OutputCheck check(StringRef name, const HostTensor &gotTensor,
                         const HostTensor &referenceTensor,
                         const HostTensor &e0Tensor,
                         function_ref<double(double)> extra, double least = 0) {
  OutputCheck result;
  result.name = name.str();
  if (gotTensor.sizes() != referenceTensor.sizes()) {
    result.why = "expected sizes " + formatSizes(referenceTensor.sizes()) +
                 ", found " + formatSizes(gotTensor.sizes());
    return result;
  }
  std::vector<double> got = gotTensor.toDoubles();
  std::vector<double> reference = referenceTensor.toDoubles();
  std::vector<double> e0 = e0Tensor.toDoubles();
  double sum = 0, e0Sum = 0, maxReference = 0;
  int64_t count = 0;
  for (size_t n = 0; n < got.size(); ++n)
    if (std::isfinite(reference[n]) && std::isfinite(e0[n])) {
      double error = std::fabs(e0[n] - reference[n]);
      result.e0Max = std::max(result.e0Max, error);
      maxReference = std::max(maxReference, std::fabs(reference[n]));
      e0Sum += error;
      ++count;
    }
  result.e0Mean = count ? e0Sum / count : 0;
  result.contractOnly = result.e0Max > std::max(0.05 * maxReference, least);
  auto fail = [&](size_t n, const Twine &detail) {
    if (result.why.empty())
      raw_string_ostream(result.why)
          << "at " << indicesOf(n, gotTensor.sizes()) << " expected "
          << reference[n] << ", found " << got[n] << detail;
  };
  for (size_t n = 0; n < got.size(); ++n) {
    if (!std::isfinite(reference[n]) || !std::isfinite(got[n])) {
      if (!sameSpecial(got[n], reference[n]))
        fail(n, "");
      continue;
    }
    double error = std::fabs(got[n] - reference[n]);
    double bound = 2 * result.e0Max + extra(reference[n]);
    result.bound = std::max(result.bound, bound);
    result.max = std::max(result.max, error);
    sum += error;
    if (error > bound && !result.contractOnly)
      fail(n, ", more than " + std::to_string(bound) + " apart");
  }
  result.mean = count ? sum / count : 0;
  result.pass = result.why.empty();
  return result;
}

/// Fails a result whose mean error is above 1.1 e0 + floor / 4.
static OutputCheck withMean(OutputCheck result, double floor) {
  double meanBound = 1.1 * result.e0Mean + floor / 4;
  if (result.pass && !result.contractOnly && result.mean > meanBound) {
    result.pass = false;
    raw_string_ostream(result.why) << "mean error " << result.mean << " > "
                                   << meanBound << " (1.1 e0 + floor / 4)";
  }
  return result;
}

static double floorOf(ElementType type) {
  return type == ElementType::F32 ? 1e-6 : 1e-5;
}

OutputCheck fa::checkForward(StringRef name, const HostTensor &got,
                             const HostTensor &reference, const HostTensor &e0,
                             ElementType type, double maxAbsV) {
  double floor = floorOf(type) * std::max(1.0, maxAbsV);
  return withMean(
      check(name, got, reference, e0, [&](double) { return floor; }), floor);
}

OutputCheck fa::checkGradient(StringRef name, const HostTensor &got,
                              const HostTensor &reference, const HostTensor &e0,
                              ElementType type, double bound) {
  double floor = floorOf(type) * bound;
  return withMean(
      check(
          name, got, reference, e0, [&](double) { return floor; }, floor),
      floor);
}

OutputCheck fa::checkLse(StringRef name, const HostTensor &got,
                         const HostTensor &reference, const HostTensor &e0) {
  return check(name, got, reference, e0,
               [](double lse) { return 1e-5 * std::max(1.0, std::fabs(lse)); });
}
