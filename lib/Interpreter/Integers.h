//===- Integers.h - arith on integers ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_INTEGERS_H
#define FA_LIB_INTERPRETER_INTEGERS_H

#include "Value.h"

namespace fa::interp {

/// Evaluates an operation of arith or math that takes or gives integers, on
/// operands of equal sizes. Results wrap at their width; what arith leaves
/// undefined (a division by 0, a conversion of NaN) gives some number. Null if
/// the operation is not known.
std::optional<Tensor> evaluateIntegers(mlir::Operation *op,
                                       llvm::ArrayRef<const Tensor *> operands);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_INTEGERS_H
