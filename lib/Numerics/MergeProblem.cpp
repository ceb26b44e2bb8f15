//===- MergeProblem.cpp - parts of an attention, to be merged -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/MergeProblem.h"

#include "SpecReader.h"

#include "llvm/ADT/Twine.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

Expected<MergeProblem> fa::parseMergeSpec(StringRef spec) {
  MergeProblem p;
  SpecReader reader("merge", spec);
  reader.readSize("parts", p.parts);
  reader.readSize("b", p.batch);
  reader.readSize("h", p.numHeads);
  reader.readSize("s", p.seq);
  reader.readSize("d", p.headDim);
  reader.readType("type", p.type);
  reader.readFlag("lse", p.lse);
  reader.readChoice("layout", {"bhsd", "bshd"}, p.layoutBshd);
  if (Error error = reader.finish())
    return error;
  if (Error error = p.verify())
    return error;
  return p;
}

Error MergeProblem::verify() const {
  if (parts < 1 || parts > kMaxParts)
    return createStringError("expected 1 to " + Twine(kMaxParts) +
                             " parts, found " + Twine(parts));
  for (auto [key, size, least] :
       {std::tuple("b", batch, 0), std::tuple("h", numHeads, 0),
        std::tuple("s", seq, 0), std::tuple("d", headDim, 1)})
    if (size < least)
      return createStringError("expected " + Twine(key) + " of at least " +
                               Twine(least) + ", found " + Twine(size));
  if (headDim > 16384)
    return createStringError("expected d of at most 16384, found " +
                             Twine(headDim));
  return Error::success();
}

std::string MergeProblem::str() const {
  return ("parts=" + Twine(parts) + " b=" + Twine(batch) +
          " h=" + Twine(numHeads) + " s=" + Twine(seq) +
          " d=" + Twine(headDim) + " type=" + name(type) +
          (layoutBshd ? " layout=bshd" : "") + (lse ? " lse" : ""))
      .str();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Expected<HostTensor> fa::createMergeRows(const MergeProblem &p,
                                         std::optional<int64_t> dim) {
  int64_t middle = p.layoutBshd ? p.seq : p.numHeads,
          inner = p.layoutBshd ? p.numHeads : p.seq;
  SmallVector<int64_t> sizes = {p.batch, middle, inner}, order = {0, 1, 2};
  if (p.layoutBshd)
    std::swap(order[1], order[2]);
  if (dim) {
    sizes.push_back(*dim);
    order.push_back(3);
  }
  auto tensor = HostTensor::create(dim ? p.type : ElementType::F32, sizes);
  if (!tensor)
    return tensor;
  return tensor->permuted(order);
}

/// Calls `f` with the indices of each row.
static void forRows(const MergeProblem &p,
                    function_ref<void(ArrayRef<int64_t>)> f) {
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.numHeads; ++h)
      for (int64_t s = 0; s < p.seq; ++s)
        f({b, h, s});
}

/// What is special of row `row`: see `makeRandomInputs`.
static void makeSpecial(const MergeProblem &p, int64_t number,
                        ArrayRef<int64_t> row, MergeInputs &in) {
  constexpr double none = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t n = 0; n < p.parts; ++n) {
    bool isEmpty =
        number % 7 == 5 || (number % 7 == 3 && n == number / 7 % p.parts);
    if (isEmpty) {
      in.lses[n].set(row, (number + n) % 2 ? none : -none);
      SmallVector<int64_t> at(row);
      for (int64_t d = 0; d < p.headDim; ++d) {
        at.push_back(d);
        in.outs[n].set(at, nan);
        at.pop_back();
      }
    }
    if (number % 23 == 11 && n == p.parts / 2)
      in.lses[n].set(row, nan);
  }
}

Expected<MergeInputs> fa::makeRandomInputs(const MergeProblem &p,
                                           uint64_t seed) {
  MergeInputs in;
  for (int64_t n = 0; n < p.parts; ++n)
    for (bool isLse : {false, true}) {
      auto rows =
          createMergeRows(p, isLse ? std::nullopt : std::optional(p.headDim));
      if (!rows)
        return rows.takeError();
      fillNormal(*rows, seed * 64 + 2 * n + isLse);
      (isLse ? in.lses : in.outs).push_back(*rows);
    }
  int64_t number = 0;
  forRows(p, [&](ArrayRef<int64_t> row) {
    // From one of nearly all weight to parts that count the same.
    for (HostTensor &lse : in.lses)
      lse.set(row, lse.at(row) * (1 + number % 5) + 10);
    makeSpecial(p, number++, row, in);
  });
  return in;
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

template <typename T>
static Expected<AttentionResult>
merge(const MergeProblem &p, const MergeInputs &in, ElementType type) {
  SmallVector<int64_t> sizes = {p.batch, p.numHeads, p.seq};
  auto lses = HostTensor::create(ElementType::F64, sizes);
  sizes.push_back(p.headDim);
  auto outs = HostTensor::create(ElementType::F64, sizes);
  if (!lses)
    return lses.takeError();
  if (!outs)
    return outs.takeError();
  constexpr T none = -std::numeric_limits<T>::infinity();
  forRows(p, [&](ArrayRef<int64_t> row) {
    SmallVector<T> lse;
    T max = none, sum = 0;
    bool isNan = false;
    for (const HostTensor &part : in.lses) {
      T x = static_cast<T>(part.at(row));
      lse.push_back(std::isinf(x) ? none : x);
      isNan |= std::isnan(x);
      max = std::max(max, lse.back());
    }
    for (T &x : lse)
      sum += x = x == none ? 0 : std::exp(x - max);
    lses->set(row, isNan ? NAN : sum == 0 ? none : max + std::log(sum));
    SmallVector<int64_t> at(row);
    at.push_back(0);
    for (; at[3] < p.headDim; ++at[3]) {
      T output = 0;
      for (auto [weight, part] : zip(lse, in.outs))
        if (weight != 0)
          output += weight * static_cast<T>(part.at(at));
      output = sum == 0 ? 0 : output / sum;
      outs->set(at, isNan ? NAN : roundTo(type, output));
    }
  });
  return AttentionResult{*outs, *lses};
}

Expected<AttentionResult> fa::mergeF64(const MergeProblem &problem,
                                       const MergeInputs &inputs) {
  return merge<double>(problem, inputs, ElementType::F64);
}

Expected<AttentionResult> fa::unfusedMerge(const MergeProblem &problem,
                                           const MergeInputs &inputs) {
  return merge<float>(problem, inputs, problem.type);
}

Expected<std::vector<OutputCheck>> fa::checkMerge(const MergeProblem &problem,
                                                  const MergeInputs &inputs,
                                                  const HostTensor &out,
                                                  const HostTensor *lse) {
  auto exact = mergeF64(problem, inputs);
  if (!exact)
    return exact.takeError();
  auto e0 = unfusedMerge(problem, inputs);
  if (!e0)
    return e0.takeError();
  double most = 0;
  for (const HostTensor &part : inputs.outs)
    most = std::max(most, maxAbs(part));
  std::vector<OutputCheck> checks = {
      checkForward("out", out, exact->out, e0->out, problem.type, most)};
  if (lse)
    checks.push_back(checkLse("lse", *lse, exact->lse, e0->lse));
  return checks;
}
