//===- CaseMemory.cpp - inputs and outputs as a case wants them -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseMemory.h"

#include "fa/Runtime/AttentionArguments.h"

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

/// Elements between the heads of what is far.
static constexpr int64_t kFar = (int64_t(1) << 31) + 64;

/// `sizes` and the gaps behind each.
static SmallVector<int64_t, 4> withGaps(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 4> outer(sizes);
  for (auto [d, size] : enumerate(outer))
    size += d + 1 == outer.size() ? 3 : 1;
  return outer;
}

SmallVector<int64_t, 4> matrix::placedStrides(const Case &c,
                                              ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 4> strides =
      contiguousStrides(c.gaps ? withGaps(sizes) : sizes);
  if (c.far) {
    strides = contiguousStrides(sizes);
    if (sizes.size() < 2)
      return strides;
    strides[1] = kFar;
    strides[0] = kFar * sizes[1];
  } else if (c.gaps) {
    for (auto [size, stride] : zip(sizes, strides))
      if (size == 1)
        stride = 123456789;
  }
  return strides;
}

/// A tensor of `sizes`, [b, h, ...], full of NaN, its heads far apart. The
/// memory between them is never touched, so it costs nothing.
static Expected<Guarded> makeFar(const Case &c, ElementType type,
                                 ArrayRef<int64_t> sizes) {
  auto whole = HostTensor::create(type, {kFar * sizes[0] * sizes[1]});
  if (!whole)
    return whole.takeError();
  HostTensor inner = whole->view(sizes, placedStrides(c, sizes));
  inner.fill(kNaN);
  return Guarded{*whole, inner, /*far=*/true};
}

Expected<Guarded> matrix::makeGuarded(const Case &c, ElementType type,
                                      ArrayRef<int64_t> sizes) {
  if (c.far && sizes.size() > 1)
    return makeFar(c, type, sizes);
  int64_t margin = c.shifted ? 1 : 0;
  int64_t count = 1;
  for (int64_t size : c.gaps ? withGaps(sizes) : SmallVector<int64_t, 4>(sizes))
    count *= size;
  auto whole = HostTensor::create(type, {margin + count});
  if (!whole)
    return whole.takeError();
  whole->fill(kNaN);
  return Guarded{*whole, whole->view(sizes, placedStrides(c, sizes), margin)};
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

/// NaN and infinities in rows of `tensor`, [heads, rows, dim] or [heads, rows],
/// that belong to no sequence.
static void poisonUnowned(HostTensor tensor, const HostTensor &offsets) {
  if (tensor.rank() == 2) {
    SmallVector<int64_t, 4> sizes(tensor.sizes()), strides(tensor.strides());
    sizes.push_back(1);
    strides.push_back(1);
    tensor = tensor.view(sizes, strides);
  }
  ArrayRef<int64_t> sizes = tensor.sizes();
  auto first = static_cast<int64_t>(offsets.at({0}));
  auto end = static_cast<int64_t>(offsets.at({offsets.sizes()[0] - 1}));
  for (int64_t h = 0; h < sizes[0]; ++h)
    for (int64_t row = 0; row < sizes[1]; ++row)
      for (int64_t d = 0; d < sizes[2] && (row < first || row >= end); ++d)
        tensor.set({h, row, d},
                   d % 2 ? kNaN : std::numeric_limits<double>::infinity());
}

static Expected<AttentionInputs> makeInputs(const Case &c) {
  const AttentionProblem &p = c.problem;
  auto in = makeRandomInputs(p, /*seed=*/1);
  if (!in)
    return in;
  for (auto [tensor, factor, addend] :
       {std::tuple(&in->q, c.logits, c.apart),
        std::tuple(&in->k, 1.0, -c.apart), std::tuple(&in->v, c.values, 0.0)})
    if (factor != 1 || addend != 0)
      tensor->forEach([&](char *e) {
        ElementType type = tensor->type();
        storeElement(e, type, factor * loadElement(e, type) + addend);
      });
  if (c.fill && in->bias) {
    int64_t n = 0;
    in->bias->forEach([&](char *e) {
      if (n++ % 2)
        storeElement(e, p.type, *c.fill);
    });
  }
  if (c.poison && in->lengths && !p.page) // pages are poisoned anyway
    poisonBeyondLengths(p, *in);
  if (c.poison && p.hasOffsets)
    poisonUnowned(in->q, *in->offsets);
  for (HostTensor tensor : {in->k, in->v})
    if (c.poison && p.hasKeyOffsets)
      poisonUnowned(tensor, *in->keyOffsets);
  for (HostTensor *tensor : {&in->q, &in->k, &in->v}) {
    auto placed = place(c, *tensor);
    if (!placed)
      return placed.takeError();
    *tensor = *placed;
  }
  if (p.valuesInKeys)
    in->v = firstColumns(in->k, p.headDimV);
  return in;
}

/// The results of the forward and the cotangents, placed as the case says.
static Expected<BackwardInputs> makeBackwardInputs(const Case &c,
                                                   const AttentionInputs &in) {
  auto cotangents = makeRandomCotangents(c.problem, /*seed=*/1);
  if (!cotangents)
    return cotangents.takeError();
  auto forward = makeForwardResults(c.problem, in);
  if (!forward)
    return forward.takeError();
  std::vector<HostTensor *> all = {&forward->out, &forward->lse,
                                   &cotangents->out};
  if (cotangents->lse)
    all.push_back(&*cotangents->lse);
  for (HostTensor *tensor : all) {
    if (c.poison && c.problem.hasOffsets)
      poisonUnowned(*tensor, *in.offsets);
    auto placed = place(c, *tensor);
    if (!placed)
      return placed.takeError();
    *tensor = *placed;
  }
  return BackwardInputs{*forward, *cotangents};
}

/// Adds outputs and arguments of the results.
static Error addResults(const Case &c, CaseMemory &memory) {
  const AttentionProblem &p = c.problem;
  auto out = makeGuarded(c, p.type, p.querySizes(p.headDimV));
  if (!out)
    return out.takeError();
  memory.outputs.push_back({"out", *out});
  if (p.lse) {
    auto lse = makeGuarded(c, ElementType::F32, p.lseSizes());
    if (!lse)
      return lse.takeError();
    memory.outputs.push_back({"lse", *lse});
  }
  auto arguments =
      makeArguments(p, memory.inputs, out->inner,
                    p.lse ? &memory.outputs.back().second.inner : nullptr);
  if (!arguments)
    return arguments.takeError();
  memory.arguments = std::move(*arguments);
  return Error::success();
}

/// Adds inputs, outputs and arguments of gradients.
static Error addGradients(const Case &c, CaseMemory &memory) {
  const AttentionProblem &p = c.problem;
  auto given = makeBackwardInputs(c, memory.inputs);
  if (!given)
    return given.takeError();
  memory.backward = std::move(*given);
  std::vector<HostTensor> gradients;
  for (const WantedGradient &wanted : p.gradients()) {
    auto gradient = makeGuarded(c, wanted.type, wanted.sizes);
    if (!gradient)
      return gradient.takeError();
    memory.outputs.push_back({wanted.name.str(), *gradient});
    gradients.push_back(gradient->inner);
  }
  auto arguments =
      makeBackwardArguments(p, memory.inputs, *memory.backward, gradients);
  if (!arguments)
    return arguments.takeError();
  memory.arguments = std::move(*arguments);
  return Error::success();
}

Expected<CaseMemory> matrix::makeMemory(const Case &c) {
  auto inputs = makeInputs(c);
  if (!inputs)
    return inputs.takeError();
  CaseMemory memory;
  memory.inputs = std::move(*inputs);
  if (Error error =
          c.problem.backward ? addGradients(c, memory) : addResults(c, memory))
    return error;
  return memory;
}
