//===- Elementwise.h - arith and math on rows of elements -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation is looked up once and then applied to rows of any length: what
// it costs to find out what it is does not depend on how many elements there
// are.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_ELEMENTWISE_H
#define FA_LIB_INTERPRETER_ELEMENTWISE_H

#include "Value.h"

#include "fa/Interpreter/Interpreter.h"
#include "mlir/IR/Operation.h"

namespace fa::interp {

/// An operation of arith or math. Integers wrap at the width of the result;
/// what arith leaves undefined (a division by 0, a conversion of NaN) gives
/// some number.
struct Elementwise {
  /// Writes `count` elements of the result; operands have as many.
  using Kernel = void (*)(const Elementwise &op,
                          llvm::ArrayRef<ConstRow> operands, Row result,
                          int64_t count);

  Kernel kernel = nullptr;
  unsigned width = 64, resultWidth = 64; ///< of integers
  unsigned relations = 0;                ///< for which arith.cmpf holds

  void apply(llvm::ArrayRef<ConstRow> operands, Row result,
             int64_t count) const {
    kernel(*this, operands, result, count);
  }
};

/// What `op` does to elements; none if it is not known.
std::optional<Elementwise> findElementwise(mlir::Operation *op);

/// What `op` does if it takes or gives integers; null if it does not.
Elementwise::Kernel findIntegerKernel(mlir::Operation *op);

/// The type to which elements of `type` are rounded; F64 if they are not.
ElementType roundingOf(mlir::Type type, Precision precision);

/// Rounds each of `elements` to the nearest value of `type`.
void roundAll(llvm::MutableArrayRef<double> elements, ElementType type);

/// Whether `type`, or that of its elements, is a float's.
bool isFloat(mlir::Type type);

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_ELEMENTWISE_H
