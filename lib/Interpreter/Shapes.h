//===- Shapes.h - tensors in other shapes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_SHAPES_H
#define FA_LIB_INTERPRETER_SHAPES_H

#include "Value.h"

namespace fa::interp {

using Sizes = llvm::SmallVector<int64_t, 4>;

/// Calls f(position, indices) for each element of `sizes` in order.
void forEachElement(
    llvm::ArrayRef<int64_t> sizes,
    llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> f);

/// A tensor of `sizes` whose element at `indices` is that of `input` at
/// `offset(indices)`.
Tensor remap(const Tensor &input, llvm::ArrayRef<int64_t> sizes,
             llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> offset);

/// A tensor of `sizes` that is the scalar `value` everywhere.
Tensor spread(const Tensor &value, llvm::ArrayRef<int64_t> sizes);

/// `input` as a tensor of `sizes`: dimensions of size 1 are repeated, the
/// others must agree.
llvm::Expected<Tensor> broadcast(const Tensor &input,
                                 llvm::ArrayRef<int64_t> sizes);

/// Each element's index along `dim`.
Tensor iota(llvm::ArrayRef<int64_t> sizes, int64_t dim);

/// Dimension d of the result is dimension permutation[d] of `input`.
/// The part of `input` that begins at `offsets` and has `sizes`.
Tensor slice(const Tensor &input, llvm::ArrayRef<int64_t> offsets,
             llvm::ArrayRef<int64_t> sizes);
Tensor transpose(const Tensor &input, llvm::ArrayRef<int64_t> permutation);

/// The elements of `input`, of which there must be as many, as `sizes`.
llvm::Expected<Tensor> reshape(const Tensor &input,
                               llvm::ArrayRef<int64_t> sizes);

/// Elements of `source` at one tensor of indices for each dimension; scalars
/// among them are the same everywhere. An index outside is an error.
llvm::Expected<Tensor> gather(const Tensor &source,
                              llvm::ArrayRef<const Tensor *> indices);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_SHAPES_H
