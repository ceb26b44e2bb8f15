//===- Interpreter.h - a whole-tensor program, evaluated --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates S0 programs op by op, unfused: the reference of a program that is
// given as a file. It shares nothing with the compiler. A linalg operation is
// what its loops give one after the other in their order: each element of a
// result is summed up in that order, whatever is evaluated side by side.
//
//===----------------------------------------------------------------------===//

#ifndef FA_INTERPRETER_INTERPRETER_H
#define FA_INTERPRETER_INTERPRETER_H

#include "fa/Numerics/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <variant>
#include <vector>

namespace fa {

enum class Precision {
  Float64, ///< floats are doubles, conversions between floats do nothing
  Declared ///< each float operation is rounded to its element type; dots and
           ///< softmax compute in the type of their result
};

/// A tensor, or a scalar as a double (integers exactly up to 2^53).
using InterpreterValue = std::variant<HostTensor, double>;

/// Evaluates function `entry` of `module`. Results are f64 tensors. An
/// operation that is not evaluated, or sizes that do not fit, are errors.
llvm::Expected<std::vector<HostTensor>>
interpret(mlir::ModuleOp module, llvm::StringRef entry,
          llvm::ArrayRef<InterpreterValue> arguments, Precision precision);

} // namespace fa

#endif // FA_INTERPRETER_INTERPRETER_H
