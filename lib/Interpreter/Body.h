//===- Body.h - the body of a loop nest -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What iterations do, as a list of instructions. Each value that differs from
// iteration to iteration has a row, with an element for each of the iterations
// that are evaluated side by side; an instruction computes a row from rows.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_BODY_H
#define FA_LIB_INTERPRETER_BODY_H

#include "Elementwise.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace fa::interp {

using ValueMap = llvm::DenseMap<mlir::Value, Tensor>;

class Body {
public:
  /// Of how many iterations there is room for elements.
  static constexpr int64_t kRowLength = 256;

  /// `uniform` has the values that are the same at every iteration, and does
  /// not change while there is a body.
  Body(const ValueMap &uniform, Precision precision)
      : uniform(uniform), precision(precision) {}

  /// Adds the operations of `block` whose results are not uniform. One that is
  /// not evaluated is an error with its location.
  llvm::Error add(mlir::Block &block);

  /// The row of a scalar, full of it if it is uniform.
  Tensor &rowOf(mlir::Value value) { return rows[numberOf(value)]; }

  /// Computes the first `count` elements of all rows from those of the values
  /// that no operation of the block gives. An index outside of a tensor is an
  /// error.
  llvm::Error run(int64_t count);

private:
  struct Instruction {
    mlir::Operation *op = nullptr;
    Elementwise function;
    const Tensor *source = nullptr; ///< of tensor.extract: not a function
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result = 0;
    ElementType rounding = ElementType::F64;
  };

  llvm::Error addInstruction(mlir::Operation *op);
  unsigned numberOf(mlir::Value value);

  const ValueMap &uniform;
  Precision precision;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  std::deque<Tensor> rows; ///< they stay where they are
  std::vector<Instruction> instructions;
};

} // namespace fa::interp

#endif // FA_LIB_INTERPRETER_BODY_H
