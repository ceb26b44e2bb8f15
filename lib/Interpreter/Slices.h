//===- Slices.h - programs that treat heads alike ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scores of all heads together may not fit in memory. Where a program does
// the same to each batch and head, with nothing passing between them, it can be
// evaluated for one after the other, to the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_SLICES_H
#define FA_LIB_INTERPRETER_SLICES_H

#include "fa/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa::interp {

/// The sizes of the leading dimensions, at most two, that all tensors of
/// `function` have in common, such that no operation looks across or at their
/// indices; empty if there are none, or if `arguments` do not agree in them.
llvm::SmallVector<int64_t>
getSliceSizes(mlir::func::FuncOp function,
              llvm::ArrayRef<InterpreterValue> arguments);

/// `tensor` at `index` of its leading dimensions, which stay, of size 1.
HostTensor sliceOf(const HostTensor &tensor, llvm::ArrayRef<int64_t> index);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_SLICES_H
