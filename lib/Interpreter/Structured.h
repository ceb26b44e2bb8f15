//===- Structured.h - linalg in the reference evaluator ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_STRUCTURED_H
#define FA_LIB_INTERPRETER_STRUCTURED_H

#include "Value.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fa::interp {

/// What the evaluator of a function offers to that of a loop nest.
struct Scope {
  llvm::function_ref<const Tensor &(mlir::Value)> get;
  llvm::function_ref<void(mlir::Value, Tensor)> set;
  llvm::function_ref<llvm::Error(mlir::Operation *)> evaluate;
};

/// Evaluates a linalg operation of one result by its loops: the body is
/// evaluated on all parallel iterations at once, for each step of the
/// reductions in order.
llvm::Expected<Tensor> evaluateStructured(mlir::linalg::LinalgOp op,
                                          const Scope &scope);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_STRUCTURED_H
