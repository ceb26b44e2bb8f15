//===- Packing.cpp - sequences packed into one tensor ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::interp;

/// Copies elements `from` and on of `source` to `to` and on of `target`.
static void copyElements(const Tensor &source, int64_t from, Tensor &target,
                         int64_t to, int64_t count) {
  if (source.isFloat)
    std::copy_n(source.floats.begin() + from, count,
                target.floats.begin() + to);
  else
    std::copy_n(source.ints.begin() + from, count, target.ints.begin() + to);
}

/// An error unless there are `count` sequences in `rows` rows.
static Error checkOffsets(const Tensor &offsets, int64_t count, int64_t rows) {
  if (static_cast<int64_t>(offsets.ints.size()) != count + 1 || count < 0)
    return createStringError("expected " + Twine(count + 1) +
                             " offsets for as many sequences and one more, "
                             "found " +
                             Twine(offsets.ints.size()));
  int64_t before = 0;
  for (auto [b, offset] : enumerate(offsets.ints)) {
    if (offset < before || offset > rows)
      return createStringError("expected offset " + Twine(b) + " from " +
                               Twine(before) + " to " + Twine(rows) +
                               ", found " + Twine(offset));
    before = offset;
  }
  return Error::success();
}

/// Calls copy(packed, padded, count) for the elements of each sequence and
/// head: where they begin in [h, s, ..] and in [b, h, s, ..], and how many.
static void
forEachRun(ArrayRef<int64_t> packed, const Tensor &offsets,
           llvm::function_ref<void(int64_t, int64_t, int64_t)> copy) {
  int64_t heads = packed[0], rows = packed[1];
  int64_t row = product_of(packed.drop_front(2));
  for (int64_t b = 0, count = offsets.ints.size() - 1; b < count; ++b)
    for (int64_t h = 0; h < heads; ++h)
      copy((h * rows + offsets.ints[b]) * row, (b * heads + h) * rows * row,
           (offsets.ints[b + 1] - offsets.ints[b]) * row);
}

Expected<Tensor> interp::ragged(const Tensor &rows, const Tensor &offsets) {
  int64_t count = static_cast<int64_t>(offsets.ints.size()) - 1;
  if (Error error = checkOffsets(offsets, count, rows.sizes[1]))
    return error;
  Sizes sizes = rows.sizes;
  sizes.insert(sizes.begin(), count);
  Tensor result(sizes, rows.isFloat);
  forEachRun(rows.sizes, offsets, [&](int64_t from, int64_t to, int64_t n) {
    copyElements(rows, from, result, to, n);
  });
  return result;
}

Expected<Tensor> interp::pack(const Tensor &input, const Tensor &offsets) {
  if (Error error = checkOffsets(offsets, input.sizes[0], input.sizes[2]))
    return error;
  Tensor result(ArrayRef(input.sizes).drop_front(), input.isFloat);
  forEachRun(result.sizes, offsets, [&](int64_t to, int64_t from, int64_t n) {
    copyElements(input, from, result, to, n);
  });
  return result;
}
