//===- Dot.cpp - products of matrices -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dot.h"
#include "Shapes.h"

#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

/// sums[n] += Σ_k a[k] b[k * stepK + n * stepN], in order of k, computed in T.
/// Several n side by side, for speed.
template <typename T>
static void addProducts(MutableArrayRef<double> sums, const double *a,
                        int64_t depth, const double *b, int64_t stepK,
                        int64_t stepN) {
  constexpr size_t width = 8;
  for (size_t first = 0; first < sums.size(); first += width) {
    size_t count = std::min(width, sums.size() - first);
    T partial[width];
    for (size_t n = 0; n < count; ++n)
      partial[n] = static_cast<T>(sums[first + n]);
    auto add = [&](size_t count) {
      for (int64_t k = 0; k < depth; ++k)
        for (size_t n = 0; n < count; ++n)
          partial[n] += static_cast<T>(a[k]) *
                        static_cast<T>(b[k * stepK + (first + n) * stepN]);
    };
    count == width ? add(width) : add(count);
    std::copy_n(partial, count, sums.data() + first);
  }
}

static Tensor toTf32(Tensor tensor) {
  for (double &x : tensor.floats)
    x = roundToTf32(static_cast<float>(x));
  return tensor;
}

/// Whether batches and depths fit together.
static bool fits(const Tensor &a, const Tensor &b, bool transposed) {
  size_t rank = a.sizes.size();
  if (a.sizes[rank - 1] != b.sizes[transposed ? rank - 1 : rank - 2])
    return false;
  for (size_t d = 0; d + 2 < rank; ++d)
    if (b.sizes[d] ? a.sizes[d] % b.sizes[d] : a.sizes[d])
      return false;
  return true;
}

/// For each batch of a product of `sizes`, the number of b's.
static SmallVector<int64_t> batchesOf(ArrayRef<int64_t> sizes,
                                      const Tensor &b) {
  SmallVector<int64_t> result;
  forEachElement(sizes.drop_back(2), [&](int64_t, ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [d, index] : llvm::enumerate(indices))
      at = at * b.sizes[d] + index / (sizes[d] / b.sizes[d]);
    result.push_back(at);
  });
  return result;
}

llvm::Expected<Tensor> interp::dot(const Tensor &a, const Tensor &b,
                                   bool transposed, const Tensor *acc,
                                   Precision precision,
                                   tile::DotPrecision factors) {
  using enum tile::DotPrecision;
  if (factors == Tf32 && precision == Precision::Declared)
    return dot(toTf32(a), toTf32(b), transposed, acc, precision, Ieee);
  if (!fits(a, b, transposed))
    return llvm::createStringError(
        "expected operands with one depth and batches that divide, found " +
        formatSizes(a.sizes) + " and " + formatSizes(b.sizes) +
        (transposed ? " transposed" : ""));
  size_t rank = a.sizes.size();
  int64_t rows = a.sizes[rank - 2], depth = a.sizes[rank - 1];
  int64_t columns = b.sizes[transposed ? rank - 2 : rank - 1];
  Sizes sizes = a.sizes;
  sizes.back() = columns;
  Tensor result(sizes, /*isFloat=*/true);
  if (acc && acc->sizes != sizes)
    return llvm::createStringError("expected an accumulator of " +
                                   formatSizes(sizes) + ", found " +
                                   formatSizes(acc->sizes));
  if (acc)
    result.floats = acc->floats;
  if (depth == 0)
    return result;
  SmallVector<int64_t> batches = batchesOf(sizes, b);
  llvm::parallelFor(0, batches.size() * rows, [&](size_t row) {
    const double *left = a.floats.data() + row * depth;
    const double *right =
        b.floats.data() + batches[row / rows] * depth * columns;
    MutableArrayRef<double> sums(result.floats.data() + row * columns, columns);
    int64_t stepK = transposed ? 1 : columns, stepN = transposed ? depth : 1;
    if (precision == Precision::Float64)
      addProducts<double>(sums, left, depth, right, stepK, stepN);
    else
      addProducts<float>(sums, left, depth, right, stepK, stepN);
  });
  return result;
}
