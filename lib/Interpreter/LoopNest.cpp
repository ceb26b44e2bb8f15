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

class Runner {
public:
  Runner(const LoopNest &nest, Body &body, Tensor &result)
      : body(body), loops(nest.result.strides),
        laneSizes(Loops::pick(nest.sizes, loops.lanes)),
        stepSizes(Loops::pick(nest.sizes, loops.steps)),
        strides(Loops::pick(nest.result.strides, loops.lanes)),
        start(nest.result.offset), result(result),
        yielded(body.rowOf(nest.yielded)),
        soFar(nest.result.value ? &body.rowOf(nest.result.value) : nullptr) {
    for (const ElementAccess &input : nest.inputs)
      readers.emplace_back(input, loops, body);
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
    offsets.resize(count);
    findOffsets(laneSizes, strides, first, offsets);
    if (soFar)
      gatherAt(result, offsets, start, *soFar);
    Sizes step(stepSizes.size(), 0);
    do {
      for (Reader &reader : readers)
        reader.readAt(step);
      if (llvm::Error error = body.run(count))
        return error;
      if (soFar && soFar != &yielded)
        copyRow(yielded, count, *soFar);
    } while (advance(step, stepSizes));
    scatterAt(yielded, offsets, start, result);
    return llvm::Error::success();
  }

  Body &body;
  Loops loops;
  Sizes laneSizes, stepSizes, strides;
  int64_t start;
  Tensor &result, &yielded, *soFar;
  SmallVector<Reader> readers;
  std::vector<int64_t> offsets;
};

} // namespace

ElementAccess interp::indexAlong(Value value, size_t numLoops, size_t dim) {
  ElementAccess access{value, /*tensor=*/nullptr, Sizes(numLoops, 0)};
  access.strides[dim] = 1;
  return access;
}

llvm::Expected<Tensor> interp::runLoops(const LoopNest &nest, Body &body,
                                        Tensor result) {
  if (llvm::Error error = Runner(nest, body, result).run())
    return error;
  return result;
}
