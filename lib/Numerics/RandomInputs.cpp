//===- RandomInputs.cpp - seeded inputs, the same on every platform -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ReferenceBackward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

using namespace llvm;
using namespace fa;

namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). The standard library's
/// distributions differ between implementations.
class Generator {
public:
  explicit Generator(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += increment);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Leaves out `count` numbers.
  void skip(uint64_t count) { state += count * increment; }
  /// In (0, 1].
  double uniform() { return ((next() >> 11) + 1) * 0x1p-53; }
  /// Box and Muller's transform.
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  static constexpr uint64_t increment = 0x9e3779b97f4a7c15;
  uint64_t state;
};

} // namespace

void fa::fillNormal(HostTensor &tensor, uint64_t seed, double factor) {
  bool isBoolean = tensor.type() == ElementType::I1; // true: above the mean
  auto store = [&](char *p, Generator &generator) {
    double x = factor * generator.normal();
    storeElement(p, tensor.type(), isBoolean ? x > 0 : x);
  };
  if (tensor.strides() !=
      ArrayRef<int64_t>(contiguousStrides(tensor.sizes()))) {
    Generator generator(seed);
    tensor.forEach([&](char *p) { store(p, generator); });
    return;
  }
  // The numbers of element n do not depend on those before it.
  constexpr int64_t chunk = 1 << 16;
  int64_t count = tensor.numElements(), bytes = byteSize(tensor.type());
  parallelFor(0, divideCeil(count, chunk), [&](int64_t n) {
    Generator generator(seed);
    generator.skip(2 * n * chunk);
    auto *data = static_cast<char *>(tensor.data());
    for (int64_t at = n * chunk; at < std::min(count, (n + 1) * chunk); ++at)
      store(data + at * bytes, generator);
  });
}

HostTensor fa::exchangeHeads(const HostTensor &tensor) {
  auto order = to_vector<4>(seq<int64_t>(tensor.rank()));
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  return tensor.permuted(order);
}

Expected<HostTensor> fa::createRows(ElementType type, ArrayRef<int64_t> sizes,
                                    bool bshd) {
  SmallVector<int64_t, 4> inMemory(sizes);
  if (bshd)
    std::swap(inMemory[inMemory.size() - 3], inMemory[inMemory.size() - 2]);
  Expected<HostTensor> tensor = HostTensor::create(type, inMemory);
  if (!tensor)
    return tensor;
  return bshd ? exchangeHeads(*tensor) : *tensor;
}

/// The same of normal values, drawn in the order of memory.
static Expected<HostTensor> makeRows(ElementType type, ArrayRef<int64_t> sizes,
                                     bool bshd, uint64_t seed,
                                     double factor = 1) {
  Expected<HostTensor> rows = createRows(type, sizes, bshd);
  if (!rows)
    return rows;
  HostTensor inMemory = bshd ? exchangeHeads(*rows) : *rows;
  fillNormal(inMemory, seed, factor);
  return rows;
}

/// Offsets of `batch` sequences of uniform lengths, of which one drawn at
/// random has `longest` rows, or as many as are left; `rows` there are.
static Expected<HostTensor> makeOffsets(int64_t batch, int64_t longest,
                                        int64_t rows, Generator &seeds) {
  auto offsets = HostTensor::create(ElementType::I32, {batch + 1});
  if (!offsets)
    return offsets;
  int64_t whole = seeds.next() % batch, left = rows;
  std::vector<int64_t> lengths(batch);
  lengths[whole] = std::min(longest, left);
  left -= lengths[whole];
  for (int64_t b = 0; b < batch; ++b)
    if (b != whole) {
      lengths[b] = seeds.next() % (std::min(longest, left) + 1);
      left -= lengths[b];
    }
  // Rows before the first sequence and behind the last belong to none.
  int64_t at = seeds.next() % (left + 1);
  offsets->set({0}, at);
  for (auto [b, length] : enumerate(lengths))
    offsets->set({int64_t(b) + 1}, at += length);
  return offsets;
}

/// The length of sequence b where keys lie in pages: those that may be special
/// in turn, and a random one.
static int64_t pagedLength(const AttentionProblem &p, int64_t b,
                           uint64_t random) {
  int64_t special[] = {p.seqKv, 0, 1, p.page - 1, p.page, p.page + 1};
  int64_t at = b % (std::size(special) + 1);
  return at < int64_t(std::size(special))
             ? std::min(special[at], p.seqKv)
             : static_cast<int64_t>(random % (p.seqKv + 1));
}

/// A table of pages in random order for the lengths of `in`: every other
/// sequence begins with the first page of the one before, and entries behind
/// the last key's page name none.
static Error makeTable(const AttentionProblem &p, Generator &seeds,
                       AttentionInputs &in) {
  auto table = HostTensor::create(ElementType::I32, {p.batch, p.tableWidth()});
  if (!table)
    return table.takeError();
  std::vector<int64_t> order(p.numPages());
  std::iota(order.begin(), order.end(), 0);
  for (size_t n = order.size(); n > 1; --n)
    std::swap(order[n - 1], order[seeds.next() % n]);
  table->fill(std::numeric_limits<int32_t>::max());
  for (int64_t b = 0; b < p.batch; ++b) {
    auto length = static_cast<int64_t>(in.lengths->at({b}));
    int64_t needed = divideCeil(length, p.page);
    for (int64_t n = 0; n < needed; ++n) {
      bool isShared = n == 0 && b % 2 && in.lengths->at({b - 1}) > 0;
      auto shared = static_cast<int64_t>(table->at({b - isShared, 0}));
      table->set({b, n}, isShared ? shared : order.back());
      if (!isShared)
        order.pop_back();
    }
  }
  in.table = *table;
  return Error::success();
}

/// What values of 8 bits are stored times, where they have scales.
static constexpr double kStored = 32;

/// Scales from half to one and a half of what values are stored with.
static Expected<HostTensor> makeScales(ArrayRef<int64_t> sizes,
                                       Generator &seeds) {
  auto scales = HostTensor::create(ElementType::F32, sizes);
  if (scales)
    scales->forEach([&](char *scale) {
      storeElement(scale, ElementType::F32, (0.5 + seeds.uniform()) / kStored);
    });
  return scales;
}

/// NaN in the scales that are behind those of the last key of a sequence.
static void poisonScales(const AttentionProblem &p, const AttentionInputs &in,
                         HostTensor &scales) {
  std::vector<double> offsets, lengths;
  if (in.keyOffsets)
    offsets = in.keyOffsets->toDoubles();
  if (in.lengths)
    lengths = in.lengths->toDoubles();
  for (int64_t b = 0; b < p.batch && p.scaleKeys; ++b) {
    auto keys = static_cast<double>(p.seqKv);
    if (in.keyOffsets)
      keys = offsets[b + 1] - offsets[b];
    if (in.lengths)
      keys = std::min(keys, lengths[b]);
    for (int64_t h = 0; h < p.numKvHeads; ++h)
      for (int64_t n =
               llvm::divideCeil(static_cast<int64_t>(keys), p.scaleKeys);
           n < scales.sizes()[2]; ++n)
        scales.set({b, h, n}, std::numeric_limits<double>::quiet_NaN());
  }
}

/// NaN in the rows that no key of a sequence lies in.
static void poisonPages(const AttentionProblem &p, const AttentionInputs &in) {
  std::vector<bool> used(p.numPages() * p.page);
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t j = 0; j < in.lengths->at({b}); ++j) {
      auto page = static_cast<int64_t>(in.table->at({b, j / p.page}));
      used[page * p.page + j % p.page] = true;
    }
  for (HostTensor tensor : {in.k, in.v})
    for (int64_t row = 0; row < p.numPages() * p.page; ++row)
      for (int64_t h = 0; !used[row] && h < p.numKvHeads; ++h)
        for (int64_t d = 0; d < tensor.sizes()[3]; ++d)
          tensor.set({row / p.page, h, row % p.page, d},
                     std::numeric_limits<double>::quiet_NaN());
}

HostTensor fa::firstColumns(const HostTensor &rows, int64_t count) {
  SmallVector<int64_t, 4> sizes(rows.sizes());
  sizes.back() = count;
  return rows.view(sizes, rows.strides());
}

/// Words of random bits, and each query's own key: all trees have that.
static Expected<HostTensor> makeDraft(const AttentionProblem &p,
                                      const AttentionInputs &in,
                                      Generator &seeds) {
  auto draft = HostTensor::create(ElementType::I32, p.draftSizes());
  if (!draft)
    return draft;
  draft->forEach([&](char *word) {
    storeElement(word, ElementType::I32, static_cast<int32_t>(seeds.next()));
  });
  auto see = [&](int64_t row, int64_t i) {
    auto *words =
        static_cast<uint32_t *>(draft->data()) + row * draft->sizes().back();
    words[i / 32] |= uint32_t(1) << i % 32;
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    auto first =
        p.hasOffsets ? static_cast<int64_t>(in.offsets->at({b})) : b * p.seqQ;
    int64_t count = p.hasOffsets
                        ? static_cast<int64_t>(in.offsets->at({b + 1})) - first
                        : p.seqQ;
    for (int64_t i = 0; i < count; ++i)
      see(first + i, i);
  }
  return draft;
}

Expected<AttentionInputs> fa::makeRandomInputs(const AttentionProblem &p,
                                               uint64_t seed) {
  Generator seeds(seed);
  AttentionInputs in;
  auto assign = [](auto &to, Expected<HostTensor> from) -> Error {
    if (!from)
      return from.takeError();
    to = *from;
    return Error::success();
  };
  if (Error e = assign(in.q, makeRows(p.queryType(), p.querySizes(p.headDim),
                                      p.layoutBshd, seeds.next(),
                                      p.hasQueryScales ? kStored : 1)))
    return e;
  auto makeKeys = [&](int64_t dim) {
    return makeRows(p.keyType(), p.keySizes(dim), p.areKeysTurned(),
                    seeds.next(), p.hasScales ? kStored : 1);
  };
  if (Error e = assign(in.k, makeKeys(p.headDim)))
    return e;
  if (p.valuesInKeys)
    in.v = firstColumns(in.k, p.headDimV);
  else if (Error e = assign(in.v, makeKeys(p.headDimV)))
    return e;
  if (!p.bias.empty()) {
    if (Error e = assign(in.bias, HostTensor::create(p.type, p.biasSizes())))
      return e;
    fillNormal(*in.bias, seeds.next());
  }
  if (p.alibi) {
    if (Error e = assign(in.slopes,
                         HostTensor::create(ElementType::F32, {p.numHeads})))
      return e;
    for (auto [h, slope] : llvm::enumerate(defaultAlibiSlopes(p.numHeads)))
      in.slopes->set({int64_t(h)}, slope);
  }
  if (p.lengths) {
    if (Error e =
            assign(in.lengths, HostTensor::create(ElementType::I32, {p.batch})))
      return e;
    for (int64_t b = 0; b < p.batch; ++b)
      in.lengths->set({b}, p.page ? pagedLength(p, b, seeds.next())
                                  : seeds.next() % (p.seqKv + 1));
  }
  if (p.documents) {
    constexpr int64_t count = 4;
    if (Error e =
            assign(in.documents,
                   HostTensor::create(ElementType::I32, {p.batch, count + 1})))
      return e;
    for (int64_t b = 0; b < p.batch; ++b) {
      std::vector<int64_t> bounds = {0, p.seqKv};
      for (int64_t n = 1; n < count; ++n)
        bounds.push_back(seeds.next() % (p.seqKv + 1));
      llvm::sort(bounds);
      for (auto [n, bound] : llvm::enumerate(bounds))
        in.documents->set({b, int64_t(n)}, bound);
    }
  }
  if (p.sink) {
    if (Error e =
            assign(in.sink, HostTensor::create(ElementType::F32, {p.numHeads})))
      return e;
    fillNormal(*in.sink, seeds.next());
  }
  if (p.hasOffsets)
    if (Error e = assign(in.offsets, makeOffsets(p.batch, p.seqQ,
                                                 p.querySizes(1)[1], seeds)))
      return e;
  if (p.hasKeyOffsets)
    if (Error e = assign(in.keyOffsets, makeOffsets(p.batch, p.seqKv,
                                                    p.keySizes(1)[1], seeds)))
      return e;
  if (p.page) {
    if (Error e = makeTable(p, seeds, in))
      return e;
    poisonPages(p, in);
  }
  if (p.hasScales)
    for (std::optional<HostTensor> *scales : {&in.kScale, &in.vScale}) {
      if (Error e = assign(*scales, makeScales(p.scaleSizes(), seeds)))
        return e;
      poisonScales(p, in, **scales);
    }
  if (p.hasQueryScales)
    if (Error e = assign(in.qScale, makeScales({p.batch, p.numKvHeads}, seeds)))
      return e;
  if (p.draft)
    if (Error e = assign(in.draft, makeDraft(p, in, seeds)))
      return e;
  if (p.dropout != 0) {
    if (Error e = assign(in.rng, HostTensor::create(ElementType::I64, {2})))
      return e;
    for (int64_t n = 0; n < 2; ++n) // a double does not hold all of them
      static_cast<int64_t *>(in.rng->data())[n] = seeds.next();
  }
  return in;
}

Expected<Cotangents> fa::makeRandomCotangents(const AttentionProblem &p,
                                              uint64_t seed) {
  // Other numbers than those of the inputs.
  Generator seeds(~seed);
  auto out =
      makeRows(p.type, p.querySizes(p.headDimV), p.layoutBshd, seeds.next());
  if (!out)
    return out.takeError();
  Cotangents cotangents{*out, std::nullopt};
  if (!p.backward || !p.backward->dlse)
    return cotangents;
  auto lse = HostTensor::create(ElementType::F32, p.lseSizes());
  if (!lse)
    return lse.takeError();
  fillNormal(*lse, seeds.next());
  cotangents.lse = *lse;
  return cotangents;
}

/// Stores the elements of `from` in `to`, of the same sizes.
static void copyElements(const HostTensor &from, const HostTensor &to) {
  std::vector<double> values = from.toDoubles();
  size_t next = 0;
  to.forEach([&](char *e) { storeElement(e, to.type(), values[next++]); });
}

Expected<AttentionResult>
fa::makeForwardResults(const AttentionProblem &p,
                       const AttentionInputs &inputs) {
  auto exact = referenceF64(p, inputs);
  if (!exact)
    return exact.takeError();
  auto out = createRows(p.type, p.querySizes(p.headDimV), p.layoutBshd);
  if (!out)
    return out.takeError();
  auto lse = HostTensor::create(ElementType::F32, p.lseSizes());
  if (!lse)
    return lse.takeError();
  copyElements(exact->out, *out);
  copyElements(exact->lse, *lse);
  return AttentionResult{*out, *lse};
}
