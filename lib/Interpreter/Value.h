//===- Value.h - what the interpreter computes with -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_VALUE_H
#define FA_LIB_INTERPRETER_VALUE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace fa::interp {

/// A row-major tensor; a scalar has rank 0. Integers are exact in `ints`:
/// sign-extended, but booleans, which are 0 or 1.
struct Tensor {
  llvm::SmallVector<int64_t, 4> sizes;
  bool isFloat = true;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Tensor() = default;
  Tensor(llvm::ArrayRef<int64_t> sizes, bool isFloat);
  int64_t count() const;
};

/// Evaluates an elementwise operation of arith or math on operands of equal
/// sizes. Integers wrap at their width. Null if the operation is not known.
std::optional<Tensor>
evaluateElementwise(mlir::Operation *op,
                    llvm::ArrayRef<const Tensor *> operands);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_VALUE_H
