//===- Lines.cpp - along one dimension ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lines.h"
#include "Shapes.h"

#include "fa/Numerics/Dropout.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Sizes withoutDim(ArrayRef<int64_t> sizes, int64_t dim) {
  Sizes result(sizes);
  result.erase(result.begin() + dim);
  return result;
}

/// Calls f with the positions of each line along `dim`.
static void forLines(const Tensor &tensor, int64_t dim,
                     llvm::function_ref<void(ArrayRef<int64_t>)> f) {
  Sizes outer(tensor.sizes);
  outer[dim] = 1;
  Sizes strides = contiguousStrides(tensor.sizes);
  SmallVector<int64_t> line(tensor.sizes[dim]);
  forEachElement(outer, [&](int64_t, ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [index, stride] : llvm::zip(indices, strides))
      at += index * stride;
    for (int64_t &position : line) {
      position = at;
      at += strides[dim];
    }
    f(line);
  });
}

namespace {

/// Exponentials of one line of scores.
class LineExponentials {
public:
  LineExponentials(const Tensor &scores, const Tensor *sinks,
                   Precision precision)
      : scores(scores), sinks(sinks), precision(precision) {}

  llvm::Error verify(int64_t dim) const {
    Sizes lines = withoutDim(scores.sizes, dim);
    if (!sinks || sinks->sizes == lines)
      return llvm::Error::success();
    return llvm::createStringError("expected sinks of " + formatSizes(lines) +
                                   ", found " + formatSizes(sinks->sizes));
  }

  double exponential(double x) const {
    return precision == Precision::Float64 ? std::exp(x)
                                           : std::exp(static_cast<float>(x));
  }

  /// The largest of line `number` that is no NaN, and the sum of exponentials.
  std::pair<double, double> sum(int64_t number, ArrayRef<int64_t> line) const {
    double max = -infinity, sum = 0;
    bool any = false;
    if (sinks) {
      max = std::max(max, sinks->floats[number]);
      any = sinks->floats[number] != -infinity;
    }
    for (int64_t at : line) {
      any |= scores.floats[at] != -infinity;
      max = std::max(max, scores.floats[at]);
    }
    if (!any)
      return {max, 0};
    if (max == -infinity)
      max = 0; // only NaNs
    if (sinks)
      sum = exponential(sinks->floats[number] - max);
    for (int64_t at : line) {
      sum += exponential(scores.floats[at] - max);
      if (precision == Precision::Declared)
        sum = static_cast<float>(sum);
    }
    return {max, sum};
  }

private:
  const Tensor &scores;
  const Tensor *sinks;
  Precision precision;
};

} // namespace

llvm::Expected<Tensor> interp::softmax(const Tensor &scores, int64_t dim,
                                       const Tensor *sinks,
                                       Precision precision) {
  LineExponentials lines(scores, sinks, precision);
  if (llvm::Error error = lines.verify(dim))
    return error;
  Tensor result(scores.sizes, /*isFloat=*/true);
  int64_t n = 0;
  forLines(scores, dim, [&](ArrayRef<int64_t> line) {
    auto [max, sum] = lines.sum(n++, line);
    for (int64_t at : line)
      result.floats[at] =
          sum == 0 ? 0 : lines.exponential(scores.floats[at] - max) / sum;
  });
  return result;
}

llvm::Expected<Tensor> interp::logSumExp(const Tensor &scores,
                                         const Tensor *sinks,
                                         Precision precision) {
  LineExponentials lines(scores, sinks, precision);
  int64_t dim = static_cast<int64_t>(scores.sizes.size()) - 1;
  if (llvm::Error error = lines.verify(dim))
    return error;
  Tensor result(withoutDim(scores.sizes, dim), /*isFloat=*/true);
  int64_t n = 0;
  forLines(scores, dim, [&](ArrayRef<int64_t> line) {
    auto [max, sum] = lines.sum(n, line);
    result.floats[n++] = max + std::log(sum);
  });
  return result;
}

Tensor interp::reduce(const Tensor &input, int64_t dim, tile::ReduceKind kind) {
  bool add = kind == tile::ReduceKind::Add, max = kind == tile::ReduceKind::Max;
  Tensor result(withoutDim(input.sizes, dim), /*isFloat=*/true);
  int64_t n = 0;
  forLines(input, dim, [&](ArrayRef<int64_t> line) {
    double value = add ? 0 : max ? -infinity : infinity;
    for (int64_t at : line) {
      double x = input.floats[at];
      if (add)
        value += x;
      else if (std::isnan(x) || (max ? x > value : x < value))
        value = x;
    }
    result.floats[n++] = value;
  });
  return result;
}

Tensor interp::dropout(Tensor input, const Tensor &rng, double probability) {
  DropoutRule rule = {probability, static_cast<uint64_t>(rng.ints[0]),
                      static_cast<uint64_t>(rng.ints[1])};
  forEachElement(input.sizes, [&](int64_t at, ArrayRef<int64_t> place) {
    input.floats[at] *=
        rule.factor(place[0] * input.sizes[1] + place[1], place[2], place[3]);
  });
  return input;
}
