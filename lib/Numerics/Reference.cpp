//===- Reference.cpp - attention in float64 -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Reference.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;

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

/// Attention with elements of type T: double for the reference, float for the
/// unfused computation.
template <typename T> class Loops {
public:
  Loops(const AttentionProblem &p, const AttentionInputs &in)
      : p(p), q(convert(in.q)), k(convert(in.k)), v(convert(in.v)),
        roundsOperands(p.tf32 && !isReference), typeV(in.v.type()),
        typeOut(in.q.type()) {
    if (roundsOperands)
      for (std::vector<T> *operand : {&q, &k, &v})
        for (T &x : *operand)
          x = roundToTf32(static_cast<float>(x));
    if (in.bias)
      bias = convert(*in.bias);
    if (in.lengths)
      lengths = in.lengths->toDoubles();
    if (in.documents)
      documents = in.documents->toDoubles();
    if (in.sink)
      sink = in.sink->toDoubles();
    slopes =
        in.slopes ? in.slopes->toDoubles() : defaultAlibiSlopes(p.numHeads);
  }

  Expected<AttentionResult> run() {
    auto out = HostTensor::create(ElementType::F64,
                                  {p.batch, p.numHeads, p.seqQ, p.headDimV});
    if (!out)
      return out.takeError();
    auto lse =
        HostTensor::create(ElementType::F64, {p.batch, p.numHeads, p.seqQ});
    if (!lse)
      return lse.takeError();
    auto *outData = static_cast<double *>(out->data());
    auto *lseData = static_cast<double *>(lse->data());
    parallelFor(0, p.batch * p.numHeads * p.seqQ, [&](size_t row) {
      computeRow(row, outData + row * p.headDimV, lseData + row);
    });
    return AttentionResult{*out, *lse};
  }

private:
  static constexpr bool isReference = std::is_same_v<T, double>;

  static std::vector<T> convert(const HostTensor &tensor) {
    std::vector<T> values;
    values.reserve(tensor.numElements());
    tensor.forEach([&](char *e) {
      values.push_back(static_cast<T>(loadElement(e, tensor.type())));
    });
    return values;
  }

  bool isMasked(int64_t b, int64_t i, int64_t j) const {
    int64_t diagonal = i + p.seqKv - p.seqQ;
    if (p.lengths && j >= lengths[b])
      return true;
    if (p.prefix && j < *p.prefix)
      return false;
    if (p.causal == CausalKind::BottomRight && j > diagonal)
      return true;
    if (p.causal == CausalKind::TopLeft && j > i)
      return true;
    if (p.windowLeft >= 0 && j < diagonal - p.windowLeft)
      return true;
    if (p.windowRight >= 0 && j > diagonal + p.windowRight)
      return true;
    return p.documents && documentOf(b, diagonal) != documentOf(b, j);
  }

  int64_t documentOf(int64_t b, int64_t position) const {
    int64_t n = documents.size() / p.batch;
    int64_t document = -1;
    for (int64_t d = 0; d < n; ++d)
      if (position >= documents[b * n + d])
        document = d;
    return document;
  }

  T score(int64_t b, int64_t h, int64_t i, int64_t j, const T *qRow) const {
    int64_t hk = h / p.groupSize();
    const T *kRow =
        k.data() + ((b * p.numKvHeads + hk) * p.seqKv + j) * p.headDim;
    T dot = 0;
    for (int64_t d = 0; d < p.headDim; ++d)
      dot += qRow[d] * kRow[d];
    T s = dot * static_cast<T>(p.effectiveScale());
    if (p.softcap != 0) {
      T cap = static_cast<T>(p.softcap);
      s = cap * std::tanh(s / cap);
    }
    if (p.alibi)
      s -= static_cast<T>(slopes[h]) *
           static_cast<T>(std::abs(i + p.seqKv - p.seqQ - j));
    if (!p.bias.empty()) {
      SmallVector<int64_t, 4> sizes = p.biasSizes();
      int64_t index[] = {b, h, i, j}, at = 0;
      for (int d = 0; d < 4; ++d)
        at = at * sizes[d] + (sizes[d] == 1 ? 0 : index[d]);
      s += bias[at];
    }
    return s;
  }

  void computeRow(int64_t row, double *out, double *lse) const {
    int64_t i = row % p.seqQ, h = row / p.seqQ % p.numHeads;
    int64_t b = row / p.seqQ / p.numHeads;
    const T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> s(p.seqKv, -infinity);
    T max = p.sink ? static_cast<T>(sink[h]) : -infinity;
    bool any = p.sink;
    for (int64_t j = 0; j < p.seqKv; ++j) {
      if (isMasked(b, i, j))
        continue;
      s[j] = score(b, h, i, j, &q[row * p.headDim]);
      any |= s[j] != -infinity;  // a bias of -inf is the same as masked
      max = std::max(max, s[j]); // a NaN is met again in its exponential
    }
    std::fill(out, out + p.headDimV, 0.0);
    *lse = -infinity;
    if (!any)
      return;
    if (max == -infinity)
      max = 0; // only NaNs
    T sum = p.sink ? std::exp(static_cast<T>(sink[h]) - max) : T(0);
    for (int64_t j = 0; j < p.seqKv; ++j)
      if (s[j] != -infinity)
        sum += s[j] = std::exp(s[j] - max);
      else
        s[j] = -1; // no probability is negative
    *lse = max + std::log(sum);
    accumulate(b, h / p.groupSize(), s, sum, out);
  }

  void accumulate(int64_t b, int64_t hk, ArrayRef<T> weights, T sum,
                  double *out) const {
    std::vector<T> acc(p.headDimV, T(0));
    const T *vHead = v.data() + (b * p.numKvHeads + hk) * p.seqKv * p.headDimV;
    for (int64_t j = 0; j < p.seqKv; ++j) {
      if (weights[j] < 0)
        continue;
      T weight = weights[j] / sum;
      if (!isReference)
        weight = static_cast<T>(roundTo(typeV, weight));
      if (roundsOperands)
        weight = roundToTf32(static_cast<float>(weight));
      for (int64_t d = 0; d < p.headDimV; ++d)
        acc[d] += weight * vHead[j * p.headDimV + d];
    }
    for (int64_t d = 0; d < p.headDimV; ++d)
      out[d] = isReference ? acc[d] : roundTo(typeOut, acc[d]);
  }

  const AttentionProblem &p;
  std::vector<T> q, k, v, bias;
  std::vector<double> lengths, documents, sink, slopes;
  bool roundsOperands; ///< to tf32
  ElementType typeV, typeOut;
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
