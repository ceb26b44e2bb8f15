//===- Shapes.h - tensors in other shapes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_SHAPES_H
#define FA_LIB_INTERPRETER_SHAPES_H

#include "Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace fa::interp {

/// Calls f(position, indices) for each element of `sizes` in order.
void forEachElement(
    llvm::ArrayRef<int64_t> sizes,
    llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> f);

/// The offsets of the elements of `sizes` in order, from number `first` on: an
/// index along dimension d moves them by strides[d].
void findOffsets(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                 int64_t first, llvm::MutableArrayRef<int64_t> offsets);

/// row[n] = source[at + offsets[n]].
void gatherAt(const Tensor &source, llvm::ArrayRef<int64_t> offsets, int64_t at,
              Row row);

/// target[at + offsets[n]] = row[n].
void scatterAt(ConstRow row, llvm::ArrayRef<int64_t> offsets, int64_t at,
               Tensor &target);

/// A tensor of `sizes` whose element at `indices` is element
/// offset + Σ indices[d] strides[d] of `input`.
Tensor strided(const Tensor &input, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> strides, int64_t offset = 0);

/// A tensor of `sizes` that is the scalar `value` everywhere.
Tensor spread(const Tensor &value, llvm::ArrayRef<int64_t> sizes);

/// `input` as a tensor of `sizes`: dimensions of size 1 are repeated, the
/// others must agree.
llvm::Expected<Tensor> broadcast(const Tensor &input,
                                 llvm::ArrayRef<int64_t> sizes);

/// A tensor of `sizes` of whose last dimension `times` elements are each one of
/// `input`, 0 behind them; the others must agree.
llvm::Expected<Tensor> repeat(const Tensor &input, int64_t times,
                              llvm::ArrayRef<int64_t> sizes);

/// Each element's index along `dim`.
Tensor iota(llvm::ArrayRef<int64_t> sizes, int64_t dim);

/// The part of `input` that begins at `offsets` and has `sizes`.
Tensor slice(const Tensor &input, llvm::ArrayRef<int64_t> offsets,
             llvm::ArrayRef<int64_t> sizes);

/// Dimension d of the result is dimension permutation[d] of `input`.
Tensor transpose(const Tensor &input, llvm::ArrayRef<int64_t> permutation);

/// The elements of `input`, of which there must be as many, as `sizes`.
llvm::Expected<Tensor> reshape(const Tensor &input,
                               llvm::ArrayRef<int64_t> sizes);

/// `count` elements of `source`, at the indices that there is a row of for each
/// dimension. An index outside is an error.
llvm::Error gather(const Tensor &source, llvm::ArrayRef<ConstRow> indices,
                   Row result, int64_t count);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_SHAPES_H
