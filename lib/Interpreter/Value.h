//===- Value.h - what the interpreter computes with -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_VALUE_H
#define FA_LIB_INTERPRETER_VALUE_H

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace fa::interp {

using Sizes = llvm::SmallVector<int64_t, 4>;

/// A row-major tensor; a scalar has rank 0. Integers are exact in `ints`:
/// sign-extended, but booleans, which are 0 or 1.
struct Tensor {
  Sizes sizes;
  bool isFloat = true;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Tensor() = default;
  Tensor(llvm::ArrayRef<int64_t> sizes, bool isFloat);
  int64_t count() const;
};

/// Elements side by side that are written: floats or integers, the other
/// pointer is null.
struct Row {
  double *floats;
  int64_t *ints;

  /// The elements of `tensor` from number `first` on.
  Row(Tensor &tensor, int64_t first = 0)
      : floats(tensor.isFloat ? tensor.floats.data() + first : nullptr),
        ints(tensor.isFloat ? nullptr : tensor.ints.data() + first) {}
};

/// Elements side by side that are read.
struct ConstRow {
  const double *floats;
  const int64_t *ints;

  ConstRow(const Tensor &tensor)
      : floats(tensor.isFloat ? tensor.floats.data() : nullptr),
        ints(tensor.isFloat ? nullptr : tensor.ints.data()) {}
};

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_VALUE_H
