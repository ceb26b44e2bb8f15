//===- Reference.cpp - attention in float64 -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreLoops.h"

#include "fa/Numerics/ErrorRule.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;

double fa::maxAbsValue(const AttentionInputs &inputs) {
  return maxAbs(inputs.v) * (inputs.vScale ? maxAbs(*inputs.vScale) : 1);
}

std::vector<double> fa::defaultAlibiSlopes(int64_t numHeads) {
  int64_t power = 1;
  while (power * 2 <= numHeads)
    power *= 2;
  std::vector<double> slopes;
  slopes.reserve(numHeads);
  for (int64_t h = 0; h < power; ++h)
    slopes.push_back(std::exp2(-8.0 * (h + 1) / power));
  for (int64_t h = 0; static_cast<int64_t>(slopes.size()) < numHeads; h += 2)
    slopes.push_back(std::exp2(-8.0 * (h + 1) / (2 * power)));
  return slopes;
}

namespace {

/// Attention with elements of type T.
template <typename T> class Loops {
public:
  Loops(const AttentionProblem &p, const AttentionInputs &in)
      : p(p), loops(p, in) {}

  Expected<AttentionResult> run() {
    auto out = HostTensor::create(ElementType::F64, p.querySizes(p.headDimV));
    if (!out)
      return out.takeError();
    auto lse = HostTensor::create(ElementType::F64, p.lseSizes());
    if (!lse)
      return lse.takeError();
    for (HostTensor *rows : {&*out, &*lse}) // those of no sequence
      rows->fill(std::numeric_limits<double>::quiet_NaN());
    auto *outData = static_cast<double *>(out->data());
    auto *lseData = static_cast<double *>(lse->data());
    int64_t longest = 0;
    for (int64_t b = 0; b < p.batch; ++b)
      longest = std::max(longest, loops.numQueries(b));
    parallelFor(0, p.batch * p.numHeads * longest, [&](size_t n) {
      int64_t i = n % longest, h = n / longest % p.numHeads;
      int64_t b = n / longest / p.numHeads;
      if (i >= loops.numQueries(b))
        return;
      int64_t row = loops.queryNumber(b, h, i);
      computeRow(b, h, i, outData + row * p.headDimV, lseData + row);
    });
    return AttentionResult{*out, *lse};
  }

private:
  void computeRow(int64_t b, int64_t h, int64_t i, double *out,
                  double *lse) const {
    int64_t numKeys = loops.numKeys(b);
    const T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> s(numKeys, -infinity);
    T max = p.sink ? loops.sinkOf(h) : -infinity;
    bool any = p.sink;
    for (int64_t j = 0; j < numKeys; ++j) {
      if (loops.isMasked(b, i, j))
        continue;
      s[j] = loops.score(b, h, i, j).value;
      any |= s[j] != -infinity;  // a bias of -inf is the same as masked
      max = std::max(max, s[j]); // a NaN is met again in its exponential
    }
    std::fill(out, out + p.headDimV, 0.0);
    *lse = -infinity;
    if (!any)
      return;
    if (max == -infinity)
      max = 0; // only NaNs
    T sum = p.sink ? std::exp(loops.sinkOf(h) - max) : T(0);
    for (int64_t j = 0; j < numKeys; ++j)
      if (s[j] != -infinity)
        sum += s[j] = std::exp(s[j] - max);
      else
        s[j] = -1; // no probability is negative
    *lse = max + std::log(sum);
    for (int64_t j = 0; j < numKeys && p.dropout != 0; ++j)
      if (s[j] >= 0)
        s[j] *= loops.dropoutFactor(b, h, i, j);
    accumulate(b, h / p.groupSize(), s, sum, out);
  }

  void accumulate(int64_t b, int64_t hk, ArrayRef<T> weights, T sum,
                  double *out) const {
    std::vector<T> acc(p.headDimV, T(0));
    for (int64_t j = 0, n = weights.size(); j < n; ++j) {
      if (weights[j] < 0)
        continue;
      T weight =
          p.scaleKeys
              ? loops.roundWeight(weights[j] * loops.valueScale(b, hk, j))
              : loops.roundOperand(weights[j] / sum);
      const T *value = loops.valueRow(b, hk, j);
      for (int64_t d = 0; d < p.headDimV; ++d)
        acc[d] += weight * value[d];
    }
    for (int64_t d = 0; d < p.headDimV; ++d)
      out[d] = loops.roundResult(
          p.scaleKeys ? acc[d] / sum : acc[d] * loops.valueScale(b, hk, 0));
  }

  const AttentionProblem &p;
  ScoreLoops<T> loops;
};

} // namespace

Expected<AttentionResult> fa::referenceF64(const AttentionProblem &problem,
                                           const AttentionInputs &inputs) {
  return Loops<double>(problem, inputs).run();
}

Expected<AttentionResult> fa::unfused(const AttentionProblem &problem,
                                      const AttentionInputs &inputs) {
  return Loops<float>(problem, inputs).run();
}
