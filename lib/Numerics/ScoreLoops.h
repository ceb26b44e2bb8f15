//===- ScoreLoops.h - masks and scores of an attention ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the references of the forward and of the gradients have in common.
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_SCORELOOPS_H
#define FA_NUMERICS_SCORELOOPS_H

#include "fa/Numerics/Dropout.h"
#include "fa/Numerics/Reference.h"

#include <cmath>

namespace fa {

/// A score, and its derivative by the scaled product of query and key.
template <typename T> struct Score {
  T value, slope;
};

/// The scores of an attention with elements of type T: double for a reference,
/// float for an unfused computation.
template <typename T> class ScoreLoops {
public:
  static constexpr bool isReference = std::is_same_v<T, double>;

  ScoreLoops(const AttentionProblem &p, const AttentionInputs &in)
      : p(p), roundsOperands(p.tf32 && !isReference), q(operand(in.q)),
        k(operand(in.k)), v(operand(in.v)),
        typeOut(p.qType ? p.type : in.q.type()) {
    if (in.bias)
      bias = convert(*in.bias);
    if (in.lengths)
      lengths = in.lengths->toDoubles();
    if (in.documents)
      documents = in.documents->toDoubles();
    if (in.sink)
      sink = in.sink->toDoubles();
    if (p.hasOffsets)
      offsets = in.offsets->toDoubles();
    if (p.hasKeyOffsets)
      keyOffsets = in.keyOffsets->toDoubles();
    if (p.hasScales) {
      kScales = convert(*in.kScale);
      vScales = convert(*in.vScale);
    }
    if (p.hasQueryScales)
      qScales = convert(*in.qScale);
    if (p.draft) {
      draft = in.draft->toDoubles();
      draftWords = in.draft->sizes().back();
    }
    if (in.table) {
      table = in.table->toDoubles();
      tableWidth = in.table->sizes()[1];
    }
    if (p.dropout != 0) {
      const auto *words = static_cast<const int64_t *>(in.rng->data());
      dropout = {p.dropout, static_cast<uint64_t>(words[0]),
                 static_cast<uint64_t>(words[in.rng->strides()[0]])};
    }
    slopes =
        in.slopes ? in.slopes->toDoubles() : defaultAlibiSlopes(p.numHeads);
  }

  /// The elements in row-major order.
  static std::vector<T> convert(const HostTensor &tensor) {
    std::vector<T> values;
    values.reserve(tensor.numElements());
    tensor.forEach([&](char *e) {
      values.push_back(static_cast<T>(loadElement(e, tensor.type())));
    });
    return values;
  }
  /// The same, as a dot takes them.
  std::vector<T> operand(const HostTensor &tensor) const {
    std::vector<T> values = convert(tensor);
    if (roundsOperands)
      for (T &x : values)
        x = roundToTf32(static_cast<float>(x));
    return values;
  }
  /// What a dot takes of a result of another one: rounded to the inputs' type.
  T roundOperand(T x) const {
    if (!isReference)
      x = static_cast<T>(roundTo(typeOut, x));
    return roundsOperands ? static_cast<T>(roundToTf32(static_cast<float>(x)))
                          : x;
  }
  /// A probability, before it is divided by the sum of its row, times what its
  /// value is multiplied with, rounded to the inputs' type: of f16 256 times as
  /// large (docs/numerics.md, line 17). A largest one is 1: where a few scales
  /// are for many keys, what rounding them loses is the same in many rows.
  T roundWeight(T x) const {
    T raise = typeOut == ElementType::F16 ? T(256) : T(1);
    return roundOperand(x * raise) / raise;
  }
  double roundResult(T x) const {
    return isReference ? x : roundTo(typeOut, x);
  }

  int64_t numQueries(int64_t b) const {
    return p.hasOffsets ? offsets[b + 1] - offsets[b] : p.seqQ;
  }
  int64_t numKeys(int64_t b) const {
    if (p.hasKeyOffsets)
      return keyOffsets[b + 1] - keyOffsets[b];
    return p.page ? static_cast<int64_t>(lengths[b]) : p.seqKv;
  }
  /// The number of a row of q and of the results.
  int64_t queryNumber(int64_t b, int64_t h, int64_t i) const {
    if (p.hasOffsets)
      return h * p.querySizes(1)[1] + static_cast<int64_t>(offsets[b]) + i;
    return (b * p.numHeads + h) * p.seqQ + i;
  }
  /// The number of a row of k and of v.
  int64_t keyNumber(int64_t b, int64_t hk, int64_t j) const {
    if (p.hasKeyOffsets)
      return hk * p.keySizes(1)[1] + static_cast<int64_t>(keyOffsets[b]) + j;
    if (!p.page)
      return (b * p.numKvHeads + hk) * p.seqKv + j;
    auto page = static_cast<int64_t>(table[b * tableWidth + j / p.page]);
    return (page * p.numKvHeads + hk) * p.page + j % p.page;
  }
  const T *queryRow(int64_t b, int64_t h, int64_t i) const {
    return q.data() + queryNumber(b, h, i) * p.headDim;
  }
  const T *keyRow(int64_t b, int64_t hk, int64_t j) const {
    return k.data() + keyNumber(b, hk, j) * p.headDim;
  }
  const T *valueRow(int64_t b, int64_t hk, int64_t j) const {
    return v.data() + keyNumber(b, hk, j) * p.headDimV;
  }
  /// What q, k and v of a KV head, and of key j, are multiplied with.
  T queryScale(int64_t b, int64_t hk) const {
    return p.hasQueryScales ? qScales[b * p.numKvHeads + hk] : T(1);
  }
  T keyScale(int64_t b, int64_t hk, int64_t j) const {
    return p.hasScales ? kScales[scaleNumber(b, hk, j)] : T(1);
  }
  T valueScale(int64_t b, int64_t hk, int64_t j) const {
    return p.hasScales ? vScales[scaleNumber(b, hk, j)] : T(1);
  }
  T sinkOf(int64_t h) const { return static_cast<T>(sink[h]); }

  /// The key position of query i.
  int64_t diagonalOf(int64_t b, int64_t i) const {
    return i + numKeys(b) - numQueries(b);
  }

  bool isMasked(int64_t b, int64_t i, int64_t j) const {
    int64_t diagonal = diagonalOf(b, i);
    if (p.lengths && j >= lengths[b])
      return true;
    if (p.draft && isLeftOut(b, i, j))
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

  static T dot(const T *x, const T *y, int64_t count) {
    T sum = 0;
    for (int64_t n = 0; n < count; ++n)
      sum += x[n] * y[n];
    return sum;
  }

  /// What a probability is multiplied with: 1 where nothing is dropped.
  T dropoutFactor(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return p.dropout == 0
               ? T(1)
               : static_cast<T>(dropout.factor(b * p.numHeads + h, i, j));
  }

  /// Of a position that is not masked.
  Score<T> score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t hk = h / p.groupSize();
    const T *key = keyRow(b, hk, j);
    T s = dot(queryRow(b, h, i), key, p.headDim) *
          (static_cast<T>(p.effectiveScale()) * keyScale(b, hk, j) *
           queryScale(b, hk));
    T slope = 1;
    if (p.softcap != 0) {
      T cap = static_cast<T>(p.softcap);
      T y = std::tanh(s / cap);
      s = cap * y;
      slope = 1 - y * y;
    }
    if (p.alibi)
      s -= static_cast<T>(slopes[h]) *
           static_cast<T>(std::abs(diagonalOf(b, i) - j));
    if (!p.bias.empty()) {
      llvm::SmallVector<int64_t, 4> sizes = p.biasSizes();
      int64_t index[] = {b, h, i, j}, at = 0;
      for (int d = 0; d < 4; ++d)
        at = at * sizes[d] + (sizes[d] == 1 ? 0 : index[d]);
      s += bias[at];
    }
    return {s, slope};
  }

private:
  int64_t scaleNumber(int64_t b, int64_t hk, int64_t j) const {
    int64_t head = b * p.numKvHeads + hk;
    return p.scaleKeys ? head * p.scaleSizes()[2] + j / p.scaleKeys : head;
  }
  /// Whether key j is one of the draft's, and its bit for query i is not set.
  bool isLeftOut(int64_t b, int64_t i, int64_t j) const {
    int64_t n = j - diagonalOf(b, 0);
    if (n < 0)
      return false;
    int64_t row =
        p.hasOffsets ? static_cast<int64_t>(offsets[b]) + i : b * p.seqQ + i;
    if (n / 32 >= draftWords)
      return true;
    auto word = static_cast<uint32_t>(
        static_cast<int64_t>(draft[row * draftWords + n / 32]));
    return !(word >> n % 32 & 1);
  }
  int64_t documentOf(int64_t b, int64_t position) const {
    int64_t n = documents.size() / p.batch;
    int64_t document = -1;
    for (int64_t d = 0; d < n; ++d)
      if (position >= documents[b * n + d])
        document = d;
    return document;
  }

  const AttentionProblem &p;
  bool roundsOperands; ///< to tf32
  std::vector<T> q, k, v, bias, kScales, vScales, qScales;
  std::vector<double> lengths, documents, sink, slopes, offsets, keyOffsets;
  std::vector<double> table; ///< [b, tableWidth]
  int64_t tableWidth = 0;
  std::vector<double> draft; ///< [b, sq, draftWords], packed [rows, draftWords]
  int64_t draftWords = 0;
  ElementType typeOut;
  DropoutRule dropout = {};
};

} // namespace fa

#endif // FA_NUMERICS_SCORELOOPS_H
