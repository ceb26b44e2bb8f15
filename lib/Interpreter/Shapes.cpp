//===- Shapes.cpp - tensors in other shapes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "fa/Numerics/HostTensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

void interp::forEachElement(
    ArrayRef<int64_t> sizes,
    llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> f) {
  int64_t count = llvm::product_of(sizes);
  Sizes index(sizes.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    f(n, index);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d])
        break;
      index[d] = 0;
    }
  }
}

Tensor interp::remap(const Tensor &input, ArrayRef<int64_t> sizes,
                     llvm::function_ref<int64_t(ArrayRef<int64_t>)> offset) {
  Tensor result(sizes, input.isFloat);
  forEachElement(sizes, [&](int64_t n, ArrayRef<int64_t> indices) {
    if (input.isFloat)
      result.floats[n] = input.floats[offset(indices)];
    else
      result.ints[n] = input.ints[offset(indices)];
  });
  return result;
}

Tensor interp::spread(const Tensor &value, ArrayRef<int64_t> sizes) {
  return remap(value, sizes, [](ArrayRef<int64_t>) { return 0; });
}

llvm::Expected<Tensor> interp::broadcast(const Tensor &input,
                                         ArrayRef<int64_t> sizes) {
  if (input.sizes.empty())
    return spread(input, sizes);
  for (auto [d, size] : llvm::enumerate(input.sizes))
    if (size != 1 && size != sizes[d])
      return llvm::createStringError("expected 1 or " + llvm::Twine(sizes[d]) +
                                     " as size of dimension " + llvm::Twine(d) +
                                     ", found " + llvm::Twine(size));
  Sizes strides = contiguousStrides(input.sizes);
  return remap(input, sizes, [&](ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [d, stride] : llvm::enumerate(strides))
      if (input.sizes[d] != 1)
        at += indices[d] * stride;
    return at;
  });
}

Tensor interp::iota(ArrayRef<int64_t> sizes, int64_t dim) {
  Tensor result(sizes, /*isFloat=*/false);
  forEachElement(sizes, [&](int64_t n, ArrayRef<int64_t> indices) {
    result.ints[n] = indices[dim];
  });
  return result;
}

Tensor interp::slice(const Tensor &input, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes) {
  Sizes strides = contiguousStrides(input.sizes);
  return remap(input, sizes, [&](ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [d, index] : llvm::enumerate(indices))
      at += (offsets[d] + index) * strides[d];
    return at;
  });
}

Tensor interp::transpose(const Tensor &input, ArrayRef<int64_t> permutation) {
  Sizes strides = contiguousStrides(input.sizes), sizes;
  for (int64_t from : permutation)
    sizes.push_back(input.sizes[from]);
  return remap(input, sizes, [&](ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [d, from] : llvm::enumerate(permutation))
      at += indices[d] * strides[from];
    return at;
  });
}

llvm::Expected<Tensor> interp::reshape(const Tensor &input,
                                       ArrayRef<int64_t> sizes) {
  if (llvm::product_of(sizes) != input.count())
    return llvm::createStringError("expected " + llvm::Twine(input.count()) +
                                   " elements, found " + formatSizes(sizes));
  Tensor result = input;
  result.sizes.assign(sizes.begin(), sizes.end());
  return result;
}

llvm::Expected<Tensor> interp::gather(const Tensor &source,
                                      ArrayRef<const Tensor *> indices) {
  const Tensor *largest = nullptr;
  for (const Tensor *index : indices)
    if (!largest || index->sizes.size() > largest->sizes.size())
      largest = index;
  Tensor result(largest ? ArrayRef(largest->sizes) : ArrayRef<int64_t>(),
                source.isFloat);
  Sizes strides = contiguousStrides(source.sizes);
  for (int64_t n = 0, e = result.count(); n < e; ++n) {
    int64_t offset = 0;
    for (auto [d, index] : llvm::enumerate(indices)) {
      int64_t at = index->ints[index->sizes.empty() ? 0 : n];
      if (at < 0 || at >= source.sizes[d])
        return llvm::createStringError(
            "expected an index from 0 to " + llvm::Twine(source.sizes[d] - 1) +
            " in dimension " + llvm::Twine(d) + ", found " + llvm::Twine(at));
      offset += at * strides[d];
    }
    if (source.isFloat)
      result.floats[n] = source.floats[offset];
    else
      result.ints[n] = source.ints[offset];
  }
  return result;
}
