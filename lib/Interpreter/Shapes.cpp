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

Tensor::Tensor(ArrayRef<int64_t> sizes, bool isFloat)
    : sizes(sizes), isFloat(isFloat) {
  if (isFloat)
    floats.resize(count());
  else
    ints.resize(count());
}

int64_t Tensor::count() const { return llvm::product_of(sizes); }

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

void interp::findOffsets(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                         int64_t first, MutableArrayRef<int64_t> offsets) {
  if (offsets.empty())
    return; // there may be a size of 0
  Sizes index(sizes.size());
  int64_t at = 0;
  for (size_t d = sizes.size(); d-- > 0; first /= sizes[d]) {
    index[d] = first % sizes[d];
    at += index[d] * strides[d];
  }
  for (int64_t &offset : offsets) {
    offset = at;
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d])
        break;
      at -= index[d] * strides[d];
      index[d] = 0;
    }
  }
}

void interp::gatherAt(const Tensor &source, ArrayRef<int64_t> offsets,
                      int64_t at, Row row) {
  auto copy = [&](const auto *from, auto *to) {
    for (auto [n, offset] : llvm::enumerate(offsets))
      to[n] = from[at + offset];
  };
  source.isFloat ? copy(source.floats.data(), row.floats)
                 : copy(source.ints.data(), row.ints);
}

void interp::scatterAt(ConstRow row, ArrayRef<int64_t> offsets, int64_t at,
                       Tensor &target) {
  auto copy = [&](const auto *from, auto *to) {
    for (auto [n, offset] : llvm::enumerate(offsets))
      to[at + offset] = from[n];
  };
  target.isFloat ? copy(row.floats, target.floats.data())
                 : copy(row.ints, target.ints.data());
}

Tensor interp::strided(const Tensor &input, ArrayRef<int64_t> sizes,
                       ArrayRef<int64_t> strides, int64_t offset) {
  Tensor result(sizes, input.isFloat);
  constexpr int64_t atOnce = 256;
  int64_t offsets[atOnce];
  for (int64_t first = 0, count = result.count(); first < count;
       first += atOnce) {
    MutableArrayRef part(offsets, std::min(atOnce, count - first));
    findOffsets(sizes, strides, first, part);
    gatherAt(input, part, offset, Row(result, first));
  }
  return result;
}

Tensor interp::spread(const Tensor &value, ArrayRef<int64_t> sizes) {
  Tensor result(sizes, value.isFloat);
  if (value.isFloat)
    llvm::fill(result.floats, value.floats[0]);
  else
    llvm::fill(result.ints, value.ints[0]);
  return result;
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
  for (auto [size, stride] : llvm::zip(input.sizes, strides))
    if (size == 1)
      stride = 0;
  return strided(input, sizes, strides);
}

llvm::Expected<Tensor> interp::repeat(const Tensor &input, int64_t times,
                                      ArrayRef<int64_t> sizes) {
  if (ArrayRef(input.sizes).drop_back() != sizes.drop_back())
    return llvm::createStringError(
        "expected the sizes of " + formatSizes(input.sizes) +
        " but for the last, found " + formatSizes(sizes));
  Tensor result(sizes, input.isFloat);
  int64_t columns = sizes.back(), given = input.sizes.back();
  for (int64_t n = 0, count = result.count(); n < count; ++n) {
    int64_t from = n % columns / times;
    if (from >= given)
      continue;
    from += n / columns * given;
    if (input.isFloat)
      result.floats[n] = input.floats[from];
    else
      result.ints[n] = input.ints[from];
  }
  return result;
}

Tensor interp::iota(ArrayRef<int64_t> sizes, int64_t dim) {
  Tensor result(sizes, /*isFloat=*/false);
  Sizes strides(sizes.size(), 0);
  strides[dim] = 1;
  findOffsets(sizes, strides, 0, result.ints);
  return result;
}

Tensor interp::slice(const Tensor &input, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes) {
  Sizes strides = contiguousStrides(input.sizes);
  int64_t first = 0;
  for (auto [offset, stride] : llvm::zip(offsets, strides))
    first += offset * stride;
  return strided(input, sizes, strides, first);
}

Tensor interp::transpose(const Tensor &input, ArrayRef<int64_t> permutation) {
  Sizes all = contiguousStrides(input.sizes), sizes, strides;
  for (int64_t from : permutation) {
    sizes.push_back(input.sizes[from]);
    strides.push_back(all[from]);
  }
  return strided(input, sizes, strides);
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

llvm::Error interp::gather(const Tensor &source, ArrayRef<ConstRow> indices,
                           Row result, int64_t count) {
  Sizes strides = contiguousStrides(source.sizes);
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (auto [d, index] : llvm::enumerate(indices)) {
      int64_t at = index.ints[n];
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
  return llvm::Error::success();
}
