//===- CaseMemory.cpp - inputs and outputs as a case wants them -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseMemory.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::matrix;

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool Guarded::isIntact() {
  if (far) // too much to look at
    return true;
  inner.fill(kNaN);
  bool intact = true;
  whole.forEach(
      [&](char *p) { intact &= std::isnan(loadElement(p, whole.type())); });
  return intact;
}

/// A tensor of `sizes`, [b, h, ...], full of NaN, its heads far apart. The
/// memory between them is never touched, so it costs nothing.
static Expected<Guarded> makeFar(ElementType type, ArrayRef<int64_t> sizes) {
  constexpr int64_t distance = (int64_t(1) << 31) + 64;
  SmallVector<int64_t, 4> strides = contiguousStrides(sizes);
  strides[1] = distance;
  strides[0] = distance * sizes[1];
  auto whole = HostTensor::create(type, {distance * sizes[0] * sizes[1]});
  if (!whole)
    return whole.takeError();
  HostTensor inner = whole->view(sizes, strides);
  inner.fill(kNaN);
  return Guarded{*whole, inner, /*far=*/true};
}

Expected<Guarded> matrix::makeGuarded(const Case &c, ElementType type,
                                      ArrayRef<int64_t> sizes) {
  if (c.far)
    return makeFar(type, sizes);
  SmallVector<int64_t, 4> outer(sizes);
  if (c.gaps)
    for (auto [d, size] : enumerate(outer))
      size += d + 1 == outer.size() ? 3 : 1;
  int64_t margin = c.shifted ? 1 : 0;
  int64_t elements = margin;
  HostTensor shape;
  SmallVector<int64_t, 4> strides = contiguousStrides(outer);
  int64_t count = 1;
  for (int64_t size : outer)
    count *= size;
  auto whole = HostTensor::create(type, {elements + count});
  if (!whole)
    return whole.takeError();
  whole->fill(kNaN);
  if (c.gaps)
    for (auto [size, stride] : zip(sizes, strides))
      if (size == 1)
        stride = 123456789;
  return Guarded{*whole, whole->view(sizes, strides, margin)};
}

/// A copy of `tensor` as the case wants it in memory.
static Expected<HostTensor> place(const Case &c, const HostTensor &tensor) {
  if (!c.gaps && !c.shifted && !c.far)
    return tensor;
  auto guarded = makeGuarded(c, tensor.type(), tensor.sizes());
  if (!guarded)
    return guarded.takeError();
  std::vector<double> values = tensor.toDoubles();
  size_t next = 0;
  guarded->inner.forEach(
      [&](char *p) { storeElement(p, tensor.type(), values[next++]); });
  return guarded->inner;
}

/// NaN and infinities in K and V at the keys beyond each length.
static void poisonBeyondLengths(const AttentionProblem &p,
                                const AttentionInputs &in) {
  for (HostTensor tensor : {in.k, in.v})
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.numKvHeads; ++h)
        for (int64_t j = in.lengths->at({b}); j < p.seqKv; ++j)
          for (int64_t d = 0; d < tensor.sizes()[3]; ++d)
            tensor.set({b, h, j, d},
                       d % 2 ? kNaN : std::numeric_limits<double>::infinity());
}

Expected<AttentionInputs> matrix::makeInputs(const Case &c) {
  const AttentionProblem &p = c.problem;
  auto in = makeRandomInputs(p, /*seed=*/1);
  if (!in)
    return in;
  for (auto [tensor, factor] :
       {std::pair(&in->q, c.logits), std::pair(&in->v, c.values)})
    if (factor != 1)
      tensor->forEach([&](char *e) {
        storeElement(e, p.type, factor * loadElement(e, p.type));
      });
  if (c.fill && in->bias) {
    int64_t n = 0;
    in->bias->forEach([&](char *e) {
      if (n++ % 2)
        storeElement(e, p.type, *c.fill);
    });
  }
  if (c.poison && in->lengths)
    poisonBeyondLengths(p, *in);
  for (HostTensor *tensor : {&in->q, &in->k, &in->v}) {
    auto placed = place(c, *tensor);
    if (!placed)
      return placed.takeError();
    *tensor = *placed;
  }
  return in;
}
