//===- LoopNest.cpp - a body and the loops around it ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "Shapes.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

/// Moves `index` to the next of `sizes`; false at the end.
static bool advance(MutableArrayRef<int64_t> index, ArrayRef<int64_t> sizes) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d])
      return true;
    index[d] = 0;
  }
  return false;
}

static void copyRow(const Tensor &from, int64_t count, Tensor &to) {
  if (from.isFloat)
    std::copy_n(from.floats.begin(), count, to.floats.begin());
  else
    std::copy_n(from.ints.begin(), count, to.ints.begin());
}

namespace {

/// The loops of a nest, apart: side by side, and step by step.
struct Loops {
  SmallVector<unsigned> lanes, steps;

  explicit Loops(ArrayRef<int64_t> resultStrides) {
    for (auto [d, stride] : llvm::enumerate(resultStrides))
      (stride ? lanes : steps).push_back(d);
  }

  static Sizes pick(ArrayRef<int64_t> numbers, ArrayRef<unsigned> dims) {
    return llvm::map_to_vector<4>(dims, [&](unsigned d) { return numbers[d]; });
  }
};

/// Fills the row of an input.
class Reader {
public:
  Reader(const ElementAccess &access, const Loops &loops, Body &body)
      : tensor(access.tensor), row(body.rowOf(access.value)),
        start(access.offset), strides(Loops::pick(access.strides, loops.lanes)),
        stepStrides(Loops::pick(access.strides, loops.steps)) {}

  /// Goes to the row of `count` iterations of which `first` is the first.
  void place(ArrayRef<int64_t> laneSizes, int64_t first, int64_t count) {
    offsets.resize(count);
    findOffsets(laneSizes, strides, first, offsets);
    isRead = false;
  }

  void readAt(ArrayRef<int64_t> step) {
    if (isRead && llvm::all_of(stepStrides, [](int64_t s) { return s == 0; }))
      return;
    isRead = true;
    int64_t at = start;
    for (auto [index, stride] : llvm::zip(step, stepStrides))
      at += index * stride;
    if (tensor)
      return gatherAt(*tensor, offsets, at, row);
    for (auto [n, offset] : llvm::enumerate(offsets))
      row.ints[n] = at + offset;
  }

private:
  const Tensor *tensor;
  Tensor &row;
  int64_t start;
  Sizes strides, stepStrides;
  std::vector<int64_t> offsets;
  bool isRead = false;
};

/// A result while the loops run.
class Writer {
public:
  Writer(const LoopResult &from, const Loops &loops, Body &body, Tensor &result)
      : result(result), yielded(body.rowOf(from.yielded)),
        soFar(from.access.value ? &body.rowOf(from.access.value) : nullptr),
        strides(Loops::pick(from.access.strides, loops.lanes)),
        start(from.access.offset) {}

  /// Goes to the row of `count` iterations of which `first` is the first.
  void place(ArrayRef<int64_t> laneSizes, int64_t first, int64_t count) {
    offsets.resize(count);
    findOffsets(laneSizes, strides, first, offsets);
    if (soFar)
      gatherAt(result, offsets, start, *soFar);
  }

  /// Passes on to the next iteration what this one yielded.
  void passOn() {
    if (soFar && soFar != &yielded)
      copyRow(yielded, offsets.size(), *soFar);
  }

  void finish() { scatterAt(yielded, offsets, start, result); }

private:
  Tensor &result, &yielded, *soFar;
  Sizes strides;
  int64_t start;
  std::vector<int64_t> offsets;
};

class Runner {
public:
  Runner(const LoopNest &nest, Body &body, MutableArrayRef<Tensor> results)
      : body(body), loops(nest.results.front().access.strides),
        laneSizes(Loops::pick(nest.sizes, loops.lanes)),
        stepSizes(Loops::pick(nest.sizes, loops.steps)) {
    for (const ElementAccess &input : nest.inputs)
      readers.emplace_back(input, loops, body);
    for (auto [from, result] : llvm::zip(nest.results, results))
      writers.emplace_back(from, loops, body, result);
  }

  llvm::Error run() {
    int64_t count = llvm::product_of(laneSizes);
    for (int64_t first = 0; first < count; first += Body::kRowLength)
      if (llvm::Error error =
              runRow(first, std::min(Body::kRowLength, count - first)))
        return error;
    return llvm::Error::success();
  }

private:
  llvm::Error runRow(int64_t first, int64_t count) {
    for (Reader &reader : readers)
      reader.place(laneSizes, first, count);
    for (Writer &writer : writers)
      writer.place(laneSizes, first, count);
    Sizes step(stepSizes.size(), 0);
    do {
      for (Reader &reader : readers)
        reader.readAt(step);
      if (llvm::Error error = body.run(count))
        return error;
      for (Writer &writer : writers)
        writer.passOn();
    } while (advance(step, stepSizes));
    for (Writer &writer : writers)
      writer.finish();
    return llvm::Error::success();
  }

  Body &body;
  Loops loops;
  Sizes laneSizes, stepSizes;
  SmallVector<Reader> readers;
  SmallVector<Writer, 1> writers;
};

} // namespace

ElementAccess interp::indexAlong(Value value, size_t numLoops, size_t dim) {
  ElementAccess access{value, /*tensor=*/nullptr, Sizes(numLoops, 0)};
  access.strides[dim] = 1;
  return access;
}

llvm::Error interp::runLoops(const LoopNest &nest, Body &body,
                             MutableArrayRef<Tensor> results) {
  return Runner(nest, body, results).run();
}
