//===- ReferenceBackward.cpp - gradients of attention in float64 ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ReferenceBackward.h"

#include "ScoreLoops.h"

#include "fa/Numerics/ErrorRule.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Parallel.h"

#include <array>
#include <limits>

using namespace llvm;
using namespace fa;

/// The largest norm of a row of what is finite.
static double largestNorm(const HostTensor &rows) {
  std::vector<double> x = rows.toDoubles();
  int64_t dim = rows.sizes().back();
  double largest = 0;
  for (size_t at = 0; at < x.size(); at += dim) {
    double squares = 0;
    for (int64_t d = 0; d < dim; ++d)
      squares += x[at + d] * x[at + d];
    if (std::isfinite(squares))
      largest = std::max(largest, squares);
  }
  return std::sqrt(largest);
}

namespace {

/// Gradients with elements of type T. Everything is computed anew for each
/// element of P and each gradient: nothing of its size is kept.
template <typename T> class BackwardLoops {
public:
  BackwardLoops(const AttentionProblem &p, const AttentionInputs &in,
                const AttentionResult &forward, const Cotangents &cotangents)
      : p(p), in(in), cotangents(cotangents), loops(p, in),
        lse(loops.convert(forward.lse)), delta(lse.size()),
        dout(loops.operand(cotangents.out)) {
    std::vector<T> unrounded = loops.convert(cotangents.out);
    std::vector<T> out = loops.convert(forward.out), dlse(lse.size());
    if (p.backward->dlse)
      dlse = loops.convert(*cotangents.lse);
    for (size_t row = 0; row < lse.size(); ++row) {
      if (lse[row] == std::numeric_limits<T>::infinity())
        lse[row] = std::numeric_limits<T>::quiet_NaN();
      delta[row] = loops.dot(&unrounded[row * p.headDimV],
                             &out[row * p.headDimV], p.headDimV) -
                   dlse[row];
    }
  }

  Expected<Gradients> run() {
    auto [wantsQ, wantsK, wantsV, wantsBias, wantsSlopes, wantsSink, wantsScale,
          dlse] = *p.backward;
    Gradients gradients;
    auto add = [&](StringRef name, const HostTensor &input,
                   double bound) -> Expected<double *> {
      auto value = HostTensor::create(ElementType::F64, input.sizes());
      if (!value)
        return value.takeError();
      value->fill(std::numeric_limits<double>::quiet_NaN()); // of no sequence
      gradients.push_back({name.str(), *value, bound});
      return static_cast<double *>(value->data());
    };
    double pairBound = std::fabs(p.effectiveScale()) *
                       largestNorm(cotangents.out) * largestNorm(in.v);
    if (wantsQ) {
      auto dq = add("dq", in.q, pairBound * maxAbs(in.k));
      if (!dq)
        return dq.takeError();
      forEachRow(p.numHeads, &ScoreLoops<T>::numQueries,
                 [&](int64_t b, int64_t h, int64_t i) {
                   setQuery(b, h, i,
                            *dq + loops.queryNumber(b, h, i) * p.headDim);
                 });
    }
    auto forEachKey = [&](auto f) {
      forEachRow(p.numKvHeads, &ScoreLoops<T>::numKeys,
                 [&](int64_t b, int64_t hk, int64_t j) {
                   f(b, hk, j, loops.keyNumber(b, hk, j));
                 });
    };
    if (wantsK) {
      auto dk = add("dk", in.k, pairBound * maxAbs(in.q));
      if (!dk)
        return dk.takeError();
      forEachKey([&](int64_t b, int64_t hk, int64_t j, int64_t row) {
        setKey(b, hk, j, *dk + row * p.headDim);
      });
    }
    if (wantsV) {
      auto dv = add("dv", in.v, 0);
      if (!dv)
        return dv.takeError();
      std::vector<double> bounds(in.v.numElements() / p.headDimV);
      forEachKey([&](int64_t b, int64_t hk, int64_t j, int64_t row) {
        bounds[row] = setValue(b, hk, j, *dv + row * p.headDimV);
      });
      for (double bound : bounds)
        if (std::isfinite(bound))
          gradients.back().bound = std::max(gradients.back().bound, bound);
    }
    for (auto [isWanted, input, name, sum] :
         {std::tuple(wantsBias, &in.bias, "dbias", &BackwardLoops::sumBias),
          std::tuple(wantsSlopes, &in.slopes, "dslopes",
                     &BackwardLoops::sumSlopes),
          std::tuple(wantsSink, &in.sink, "dsink", &BackwardLoops::sumSink)}) {
      if (!isWanted)
        continue;
      auto gradient = add(name, **input, 0);
      if (!gradient)
        return gradient.takeError();
      std::vector<double> bounds((*input)->numElements());
      parallelFor(0, bounds.size(), [&](size_t n) {
        Sum total = (this->*sum)(n);
        (*gradient)[n] =
            isReference ? total.value : roundTo((*input)->type(), total.value);
        bounds[n] = total.bound;
      });
      for (double bound : bounds)
        if (std::isfinite(bound))
          gradients.back().bound = std::max(gradients.back().bound, bound);
    }
    if (wantsScale) {
      auto one = HostTensor::create(ElementType::F32, {1});
      if (!one)
        return one.takeError();
      auto dscale = add("dscale", *one, 0);
      if (!dscale)
        return dscale.takeError();
      Sum total = sumScale();
      **dscale = total.value;
      if (std::isfinite(total.bound))
        gradients.back().bound = total.bound;
    }
    return gradients;
  }

private:
  static constexpr bool isReference = ScoreLoops<T>::isReference;

  /// What a query and a key have in common: what V is multiplied with, and the
  /// gradients of the score and of the scaled product.
  struct Pair {
    T p, ds, dx;
  };

  /// A sum, and that of its terms without their signs.
  struct Sum {
    T value = 0, bound = 0;

    void add(T term) {
      value += term;
      bound += std::fabs(term);
    }
  };

  /// Calls `f` with batch, head and row for each of as many rows as `count` has
  /// of each batch, in any order.
  template <typename F>
  void forEachRow(int64_t heads, int64_t (ScoreLoops<T>::*count)(int64_t) const,
                  F f) const {
    int64_t longest = 0;
    for (int64_t b = 0; b < p.batch; ++b)
      longest = std::max(longest, (loops.*count)(b));
    parallelFor(0, p.batch * heads * longest, [&](size_t n) {
      int64_t row = n % longest, b = n / longest / heads;
      if (row < (loops.*count)(b))
        f(b, n / longest % heads, row);
    });
  }

  /// Nothing where the key is masked.
  std::optional<Pair> pairOf(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const T infinity = std::numeric_limits<T>::infinity();
    int64_t row = loops.queryNumber(b, h, i);
    if (lse[row] == -infinity || loops.isMasked(b, i, j))
      return std::nullopt;
    Score<T> s = loops.score(b, h, i, j);
    if (s.value == -infinity)
      return std::nullopt;
    T weight = std::exp(s.value - lse[row]);
    T dp = loops.dot(&dout[row * p.headDimV],
                     loops.valueRow(b, h / p.groupSize(), j), p.headDimV);
    T factor = loops.dropoutFactor(b, h, i, j);
    T ds = weight * (dp * factor - delta[row]);
    return Pair{weight * factor, ds, ds * s.slope};
  }

  void setQuery(int64_t b, int64_t h, int64_t i, double *dq) const {
    std::vector<T> sum(p.headDim, T(0));
    for (int64_t j = 0; j < loops.numKeys(b); ++j)
      if (auto pair = pairOf(b, h, i, j)) {
        const T *key = loops.keyRow(b, h / p.groupSize(), j);
        T dx = loops.roundOperand(pair->dx);
        for (int64_t d = 0; d < p.headDim; ++d)
          sum[d] += dx * key[d];
      }
    finish(sum, static_cast<T>(p.effectiveScale()), dq);
  }

  /// Calls `f` with head, query and pair for each that sees a key.
  template <typename F>
  void forEachQuery(int64_t b, int64_t hk, int64_t j, F f) const {
    for (int64_t g = 0; g < p.groupSize(); ++g)
      for (int64_t i = 0; i < loops.numQueries(b); ++i)
        if (int64_t h = hk * p.groupSize() + g; auto pair = pairOf(b, h, i, j))
          f(h, i, *pair);
  }

  void setKey(int64_t b, int64_t hk, int64_t j, double *dk) const {
    std::vector<T> sum(p.headDim, T(0));
    forEachQuery(b, hk, j, [&](int64_t h, int64_t i, Pair pair) {
      const T *query = loops.queryRow(b, h, i);
      T dx = loops.roundOperand(pair.dx);
      for (int64_t d = 0; d < p.headDim; ++d)
        sum[d] += dx * query[d];
    });
    finish(sum, static_cast<T>(p.effectiveScale()), dk);
  }

  /// Gives the largest sum of p |dO|.
  double setValue(int64_t b, int64_t hk, int64_t j, double *dv) const {
    std::vector<T> sum(p.headDimV, T(0)), sizes(p.headDimV, T(0));
    forEachQuery(b, hk, j, [&](int64_t h, int64_t i, Pair pair) {
      const T *row = &dout[loops.queryNumber(b, h, i) * p.headDimV];
      T weight = loops.roundOperand(pair.p);
      for (int64_t d = 0; d < p.headDimV; ++d) {
        sum[d] += weight * row[d];
        sizes[d] += weight * std::fabs(row[d]);
      }
    });
    finish(sum, T(1), dv);
    return *llvm::max_element(sizes);
  }

  /// The sum of `term` of all pairs with batch, head, query and key `fixed`,
  /// where these are not -1.
  template <typename F>
  Sum sumPairs(const std::array<int64_t, 4> &fixed, F term) const {
    Sum sum;
    auto range = [&](int d, int64_t size) {
      return fixed[d] < 0 ? seq<int64_t>(0, size)
                          : seq<int64_t>(fixed[d], fixed[d] + 1);
    };
    for (int64_t b : range(0, p.batch))
      for (int64_t h : range(1, p.numHeads))
        for (int64_t i : range(2, loops.numQueries(b)))
          for (int64_t j : range(3, loops.numKeys(b)))
            if (auto pair = pairOf(b, h, i, j))
              sum.add(term(b, i, j, pair->ds));
    return sum;
  }

  /// A bias is added to the scores that read it.
  Sum sumBias(size_t element) const {
    std::array<int64_t, 4> fixed;
    SmallVector<int64_t, 4> sizes = p.biasSizes();
    auto rest = static_cast<int64_t>(element);
    for (int d = 3; d >= 0; --d) {
      fixed[d] = p.bias[d] == '1' ? -1 : rest % sizes[d];
      rest /= sizes[d];
    }
    return sumPairs(fixed, [](int64_t, int64_t, int64_t, T ds) { return ds; });
  }

  /// A slope times the distance is taken from the scores of its head.
  Sum sumSlopes(size_t head) const {
    return sumPairs({-1, static_cast<int64_t>(head), -1, -1},
                    [&](int64_t b, int64_t i, int64_t j, T ds) {
                      return -ds * static_cast<T>(
                                       std::abs(loops.diagonalOf(b, i) - j));
                    });
  }

  /// A sink is a score of each row, whose value is 0.
  Sum sumSink(size_t head) const {
    Sum sum;
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t i = 0; i < loops.numQueries(b); ++i) {
        int64_t row = loops.queryNumber(b, head, i);
        sum.add(-std::exp(loops.sinkOf(head) - lse[row]) * delta[row]);
      }
    return sum;
  }

  /// The scale is a factor of each product of a query and a key.
  Sum sumScale() const {
    std::vector<Sum> sums(lse.size());
    forEachRow(p.numHeads, &ScoreLoops<T>::numQueries,
               [&](int64_t b, int64_t h, int64_t i) {
                 Sum &sum = sums[loops.queryNumber(b, h, i)];
                 for (int64_t j = 0; j < loops.numKeys(b); ++j)
                   if (auto pair = pairOf(b, h, i, j))
                     sum.add(pair->dx *
                             loops.dot(loops.queryRow(b, h, i),
                                       loops.keyRow(b, h / p.groupSize(), j),
                                       p.headDim));
               });
    Sum total;
    for (const Sum &sum : sums) {
      total.value += sum.value;
      total.bound += sum.bound;
    }
    return total;
  }

  void finish(ArrayRef<T> sum, T factor, double *gradient) const {
    for (auto [n, x] : enumerate(sum))
      gradient[n] = loops.roundResult(x * factor);
  }

  const AttentionProblem &p;
  const AttentionInputs &in;
  const Cotangents &cotangents;
  ScoreLoops<T> loops;
  std::vector<T> lse, delta; ///< of rows
  std::vector<T> dout;
};

} // namespace

/// What the loops take for granted.
static Error checkSizes(const AttentionProblem &p,
                        const AttentionResult &forward,
                        const Cotangents &cotangents) {
  SmallVector<int64_t, 4> out = p.querySizes(p.headDimV), rows = p.lseSizes();
  if (!p.backward)
    return createStringError("expected a problem that asks for gradients");
  if (p.backward->dlse && !cotangents.lse)
    return createStringError("expected a gradient of the log-sum-exp");
  auto check = [](StringRef what, const HostTensor &tensor,
                  ArrayRef<int64_t> sizes) -> Error {
    if (tensor.sizes() == sizes)
      return Error::success();
    return createStringError("expected " + what + " of " + formatSizes(sizes) +
                             ", found " + formatSizes(tensor.sizes()));
  };
  if (Error error = check("the output", forward.out, out))
    return error;
  if (Error error = check("the log-sum-exp", forward.lse, rows))
    return error;
  if (p.backward->dlse)
    if (Error error =
            check("the log-sum-exp's gradient", *cotangents.lse, rows))
      return error;
  return check("the output's gradient", cotangents.out, out);
}

Expected<Gradients> fa::referenceBackwardF64(const AttentionProblem &problem,
                                             const AttentionInputs &inputs,
                                             const Cotangents &cotangents) {
  auto forward = referenceF64(problem, inputs);
  if (!forward)
    return forward.takeError();
  if (Error error = checkSizes(problem, *forward, cotangents))
    return error;
  return BackwardLoops<double>(problem, inputs, *forward, cotangents).run();
}

Expected<Gradients> fa::unfusedBackward(const AttentionProblem &problem,
                                        const AttentionInputs &inputs,
                                        const BackwardInputs &given) {
  const auto &[forward, cotangents] = given;
  if (Error error = checkSizes(problem, forward, cotangents))
    return error;
  return BackwardLoops<float>(problem, inputs, forward, cotangents).run();
}
