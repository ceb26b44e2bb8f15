//===- IndexMath.h - sums of steps and how far they go ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of a tile of integers, or of addresses, for each element: a
// number that is the same for all, and for each dimension a step. Kernels
// compute almost all their addresses and masks so.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TRITONTOTILE_INDEXMATH_H
#define FA_LIB_CONVERSION_TRITONTOTILE_INDEXMATH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// Element (i, j, ..) is base + i·steps[0] + j·steps[1] + ..: numbers of type
/// index, the same in all of a program. A step that is null is 0.
struct AffineTile {
  mlir::Value base;
  llvm::SmallVector<mlir::Value> steps;

  /// Whether all elements are the same.
  bool isUniform() const {
    return llvm::none_of(steps, [](mlir::Value step) { return bool(step); });
  }
};

/// Index arithmetic that is folded as it is built. Null is 0.
class IndexMath {
public:
  using Value = mlir::Value;
  explicit IndexMath(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  Value constant(int64_t number);
  /// `value`, or a 0 that is one.
  Value orZero(Value value) { return value ? value : constant(0); }
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);

  AffineTile add(const AffineTile &x, const AffineTile &y);
  AffineTile sub(const AffineTile &x, const AffineTile &y);
  AffineTile scale(const AffineTile &x, Value factor);

private:
  mlir::ImplicitLocOpBuilder &b;
};

/// Whether two numbers are the same: one value, or two equal constants.
bool isSameNumber(mlir::Value x, mlir::Value y);

} // namespace fa

#endif // FA_LIB_CONVERSION_TRITONTOTILE_INDEXMATH_H
