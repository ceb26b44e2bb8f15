//===- HostTensor.cpp - a strided tensor in host memory -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/HostTensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace fa;

SmallVector<int64_t, 4> fa::contiguousStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 4> strides(sizes.size());
  fillContiguousStrides(sizes, strides);
  return strides;
}

Expected<HostTensor> HostTensor::create(ElementType type,
                                        ArrayRef<int64_t> sizes) {
  int64_t bytes = byteSize(type);
  for (int64_t size : sizes) {
    if (size < 0)
      return createStringError("expected sizes of at least 0, found " +
                               formatSizes(sizes));
    if (MulOverflow<int64_t>(bytes, std::max<int64_t>(size, 1), bytes))
      return createStringError("a tensor of " + formatSizes(sizes) +
                               " has more bytes than 64 bits can count");
  }
  HostTensor result;
  result.elementType = type;
  result.shape.assign(sizes.begin(), sizes.end());
  result.steps = contiguousStrides(sizes);
  if (is_contained(sizes, 0))
    bytes = 0;
  // calloc: of a large tensor, only what is touched takes memory.
  constexpr size_t alignment = 64;
  size_t space = bytes + alignment;
  void *memory = std::calloc(1, space);
  if (!memory)
    return createStringError("cannot allocate " + Twine(bytes) +
                             " bytes for a tensor of " + formatSizes(sizes));
  result.storage =
      std::shared_ptr<char>(static_cast<char *>(memory), std::free);
  result.first =
      static_cast<char *>(std::align(alignment, bytes, memory, space));
  return result;
}

int64_t HostTensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

HostTensor HostTensor::permuted(ArrayRef<int64_t> permutation) const {
  HostTensor result = *this;
  for (auto [d, from] : enumerate(permutation)) {
    result.shape[d] = shape[from];
    result.steps[d] = steps[from];
  }
  return result;
}

HostTensor HostTensor::view(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                            int64_t offset) const {
  HostTensor result = *this;
  result.shape.assign(sizes.begin(), sizes.end());
  result.steps.assign(strides.begin(), strides.end());
  result.first += offset * byteSize(elementType);
  return result;
}

int64_t HostTensor::offsetOf(ArrayRef<int64_t> indices) const {
  int64_t offset = 0;
  for (auto [index, step] : zip(indices, steps))
    offset += index * step;
  return offset * byteSize(elementType);
}

double HostTensor::at(ArrayRef<int64_t> indices) const {
  return loadElement(first + offsetOf(indices), elementType);
}

void HostTensor::set(ArrayRef<int64_t> indices, double value) {
  storeElement(first + offsetOf(indices), elementType, value);
}

void HostTensor::forEach(function_ref<void(char *)> f) const {
  // Row by row: to find each element from its indices costs more than most of
  // what is done with it.
  int64_t width = shape.empty() ? 1 : shape.back();
  int64_t step = shape.empty() ? 0 : steps.back() * byteSize(elementType);
  int64_t count = numElements();
  SmallVector<int64_t, 4> index(shape.size(), 0);
  for (int64_t n = 0; n < count; n += width) {
    char *row = first + offsetOf(index);
    for (int64_t i = 0; i < width; ++i)
      f(row + i * step);
    for (int64_t d = rank() - 2; d >= 0; --d) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

std::vector<double> HostTensor::toDoubles() const {
  std::vector<double> values;
  values.reserve(numElements());
  forEach([&](char *p) { values.push_back(loadElement(p, elementType)); });
  return values;
}

void HostTensor::fill(double value) {
  forEach([&](char *p) { storeElement(p, elementType, value); });
}
