//===- AppendProblem.cpp - tokens that a cache is to keep -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AppendProblem.h"

#include "SpecReader.h"

#include "fa/Numerics/Reference.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace llvm;
using namespace fa;

/// Rows of the tables that are made: positions are below.
static constexpr int64_t kPositions = 80;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

Expected<AppendProblem> fa::parseAppendSpec(StringRef spec) {
  AppendProblem p;
  SpecReader reader("append", spec);
  std::pair<StringLiteral, int64_t *> sizes[] = {
      {"t", &p.tokens},  {"hq", &p.numHeads},  {"hkv", &p.numKvHeads},
      {"d", &p.headDim}, {"dv", &p.headDimV},  {"page", &p.page},
      {"n", &p.pages},   {"rotary", &p.rotary}};
  for (auto [key, size] : sizes)
    reader.readSize(key, *size);
  reader.readType("type", p.type);
  reader.readType("tables", p.tableType);
  reader.readChoice("rope", {"none", "interleaved", "halves"}, p.rope);
  reader.readChoice("positions", {"i32", "i64"}, p.widePositions);
  reader.readChoice("pages", {"hnd", "nhd", "beside"}, p.layout);
  if (Error error = reader.finish())
    return error;
  p.applyDefaults();
  if (Error error = p.verify())
    return error;
  return p;
}

void AppendProblem::applyDefaults() {
  if (headDimV == -1)
    headDimV = headDim;
  if (rotary == -1)
    rotary = headDim;
  if (pages == -1)
    pages =
        divideCeil(std::max<int64_t>(tokens, 0), std::max<int64_t>(page, 1)) +
        2;
}

Error AppendProblem::verify() const {
  std::tuple<StringLiteral, int64_t, int64_t> sizes[] = {
      {"t", tokens, 0},  {"hq", numHeads, 0}, {"hkv", numKvHeads, 0},
      {"d", headDim, 1}, {"dv", headDimV, 1}, {"page", page, 1},
      {"n", pages, 0}};
  for (auto [key, size, least] : sizes)
    if (size < least)
      return createStringError("expected " + key + " of at least " +
                               Twine(least) + ", found " + Twine(size));
  for (auto [key, size] : {std::pair("d", headDim), std::pair("dv", headDimV)})
    if (size > 16384)
      return createStringError("expected " + Twine(key) +
                               " of at most 16384, found " + Twine(size));
  if (rope == RopeKind::None)
    return numHeads ? createStringError("expected RoPE with queries, which are "
                                        "rotated, found none")
                    : Error::success();
  if (rotary < 2 || rotary > headDim || rotary % 2)
    return createStringError("expected an even rotary dimension from 2 to d, " +
                             Twine(headDim) + ", found " + Twine(rotary));
  if (tableType != ElementType::F32 && tableType != type)
    return createStringError("expected tables of f32 or of " + name(type) +
                             ", found " + name(tableType));
  return Error::success();
}

std::string AppendProblem::str() const {
  StringRef layouts[] = {"", " pages=nhd", " pages=beside"};
  StringRef ropes[] = {"", " rope=interleaved", " rope=halves"};
  std::string text =
      ("t=" + Twine(tokens) + " hkv=" + Twine(numKvHeads) +
       " d=" + Twine(headDim) + " dv=" + Twine(headDimV) +
       " page=" + Twine(page) + " n=" + Twine(pages) + " type=" + name(type) +
       layouts[layout] + ropes[int(rope)])
          .str();
  if (rope != RopeKind::None)
    text += (" rotary=" + Twine(rotary) + " tables=" + name(tableType) +
             (widePositions ? " positions=i64" : "") +
             (numHeads ? " hq=" + Twine(numHeads) : Twine()))
                .str();
  return text;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The pages of K and of V.
static Expected<std::pair<HostTensor, HostTensor>>
makePages(const AppendProblem &p, ElementType type) {
  auto make = [&](int64_t columns) -> Expected<HostTensor> {
    if (p.layout != AppendProblem::Nhd)
      return HostTensor::create(type, {p.pages, p.numKvHeads, p.page, columns});
    auto pages =
        HostTensor::create(type, {p.pages, p.page, p.numKvHeads, columns});
    if (!pages)
      return pages;
    return pages->permuted({0, 2, 1, 3});
  };
  bool isOne = p.layout == AppendProblem::Beside;
  auto k = make(isOne ? p.headDim + p.headDimV : p.headDim);
  if (!k)
    return k.takeError();
  k->fill(std::numeric_limits<double>::quiet_NaN());
  if (isOne) {
    SmallVector<int64_t> sizes(k->sizes());
    sizes.back() = p.headDimV;
    HostTensor v = k->view(sizes, k->strides(), p.headDim);
    sizes.back() = p.headDim;
    return std::pair(k->view(sizes, k->strides()), v);
  }
  auto v = make(p.headDimV);
  if (!v)
    return v.takeError();
  v->fill(std::numeric_limits<double>::quiet_NaN());
  return std::pair(*k, *v);
}

/// Numbers of 0 to `count` - 1 in an order that `seed` gives.
static std::vector<int64_t> shuffled(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed); // the same on every platform
  for (int64_t n = count; n > 1; --n)
    std::swap(order[n - 1], order[random() % n]);
  return order;
}

/// Positions and tables of RoPE (Su et al., "RoFormer", 2021).
static Error makeRope(const AppendProblem &p, uint64_t seed, AppendInputs &in) {
  auto positions = HostTensor::create(
      p.widePositions ? ElementType::I64 : ElementType::I32, {p.tokens});
  if (!positions)
    return positions.takeError();
  std::vector<int64_t> order = shuffled(kPositions, seed);
  for (int64_t t = 0; t < p.tokens; ++t)
    positions->set({t}, order[t % kPositions]);
  in.positions = *positions;
  auto cosines = HostTensor::create(p.tableType, {kPositions, p.rotary / 2});
  auto sines = HostTensor::create(p.tableType, {kPositions, p.rotary / 2});
  if (!cosines)
    return joinErrors(cosines.takeError(), sines.takeError());
  if (!sines)
    return sines.takeError();
  for (int64_t n = 0; n < kPositions; ++n)
    for (int64_t i = 0; i < p.rotary / 2; ++i) {
      double angle = n * std::pow(10000.0, -2.0 * i / p.rotary);
      cosines->set({n, i}, std::cos(angle));
      sines->set({n, i}, std::sin(angle));
    }
  in.cosines = *cosines;
  in.sines = *sines;
  return Error::success();
}

Expected<AppendInputs> fa::makeRandomInputs(const AppendProblem &p,
                                            uint64_t seed) {
  AppendInputs in;
  auto rows = [&](int64_t heads, int64_t columns,
                  uint64_t number) -> Expected<HostTensor> {
    auto tensor = HostTensor::create(p.type, {p.tokens, heads, columns});
    if (tensor)
      fillNormal(*tensor, 4 * seed + number);
    return tensor;
  };
  auto k = rows(p.numKvHeads, p.headDim, 0);
  if (!k)
    return k.takeError();
  auto v = rows(p.numKvHeads, p.headDimV, 1);
  if (!v)
    return v.takeError();
  auto slots = HostTensor::create(ElementType::I64, {p.tokens});
  if (!slots)
    return slots.takeError();
  std::vector<int64_t> order = shuffled(p.pages * p.page, seed);
  for (int64_t t = 0; t < p.tokens; ++t)
    slots->set({t}, t % 5 == 3 || t >= int64_t(order.size()) ? -1 : order[t]);
  auto pages = makePages(p, p.type);
  if (!pages)
    return pages.takeError();
  in = {*k, *v, *slots, pages->first, pages->second, {}, {}, {}, {}};
  if (p.rope != RopeKind::None)
    if (Error error = makeRope(p, seed, in))
      return error;
  if (p.numHeads) {
    auto q = rows(p.numHeads, p.headDim, 2);
    if (!q)
      return q.takeError();
    in.q = *q;
  }
  return in;
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

/// Column `d` of row `row` of `x`, rotated by the position of token `t`.
template <typename T>
static T rotated(const AppendProblem &p, const AppendInputs &in,
                 const HostTensor &x, int64_t t, int64_t h, int64_t d) {
  auto at = [&](int64_t column) {
    return static_cast<T>(x.at({t, h, column}));
  };
  if (p.rope == RopeKind::None || d >= p.rotary)
    return at(d);
  bool halves = p.rope == RopeKind::Halves;
  int64_t half = p.rotary / 2, pair = halves ? d % half : d / 2;
  bool isSecond = halves ? d >= half : d % 2;
  int64_t other = halves ? (d + half) % p.rotary : d ^ 1;
  auto position = static_cast<int64_t>(in.positions->at({t}));
  T c = static_cast<T>(in.cosines->at({position, pair})),
    s = static_cast<T>(in.sines->at({position, pair}));
  return isSecond ? at(d) * c + at(other) * s : at(d) * c - at(other) * s;
}

template <typename T>
static Expected<AppendResult> append(const AppendProblem &p,
                                     const AppendInputs &in, ElementType type) {
  auto pages = makePages(p, ElementType::F64);
  if (!pages)
    return pages.takeError();
  AppendResult result{pages->first, pages->second, std::nullopt};
  for (int64_t t = 0; t < p.tokens; ++t) {
    auto slot = static_cast<int64_t>(in.slots.at({t}));
    if (slot < -1 || slot >= p.pages * p.page)
      return createStringError("expected a slot from -1 to " +
                               Twine(p.pages * p.page - 1) + ", found " +
                               Twine(slot) + " of token " + Twine(t));
    for (int64_t h = 0; slot >= 0 && h < p.numKvHeads; ++h) {
      int64_t page = slot / p.page, row = slot % p.page;
      for (int64_t d = 0; d < p.headDim; ++d)
        result.kPages.set({page, h, row, d},
                          roundTo(type, rotated<T>(p, in, in.k, t, h, d)));
      for (int64_t d = 0; d < p.headDimV; ++d)
        result.vPages.set({page, h, row, d}, in.v.at({t, h, d}));
    }
  }
  if (!p.numHeads)
    return result;
  auto q = HostTensor::create(ElementType::F64, in.q->sizes());
  if (!q)
    return q.takeError();
  for (int64_t t = 0; t < p.tokens; ++t)
    for (int64_t h = 0; h < p.numHeads; ++h)
      for (int64_t d = 0; d < p.headDim; ++d)
        q->set({t, h, d}, roundTo(type, rotated<T>(p, in, *in.q, t, h, d)));
  result.q = *q;
  return result;
}

Expected<AppendResult> fa::appendF64(const AppendProblem &problem,
                                     const AppendInputs &inputs) {
  return append<double>(problem, inputs, ElementType::F64);
}

Expected<AppendResult> fa::unfusedAppend(const AppendProblem &problem,
                                         const AppendInputs &inputs) {
  return append<float>(problem, inputs, problem.type);
}

Expected<std::vector<OutputCheck>> fa::checkAppend(const AppendProblem &problem,
                                                   const AppendInputs &inputs,
                                                   const AppendResult &result) {
  auto exact = appendF64(problem, inputs);
  if (!exact)
    return exact.takeError();
  auto e0 = unfusedAppend(problem, inputs);
  if (!e0)
    return e0.takeError();
  auto check = [&](StringRef name, const HostTensor &got,
                   const HostTensor &reference, const HostTensor &unfused,
                   const HostTensor &input) {
    return checkForward(name, got, reference, unfused, problem.type,
                        maxAbs(input));
  };
  std::vector<OutputCheck> checks = {
      check("k", result.kPages, exact->kPages, e0->kPages, inputs.k),
      check("v", result.vPages, exact->vPages, e0->vPages, inputs.v)};
  if (problem.numHeads)
    checks.push_back(check("q", *result.q, *exact->q, *e0->q, *inputs.q));
  return checks;
}
