//===- Conditions.h - masks of scores as inequalities -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_CONDITIONS_H
#define FA_LIB_CONVERSION_RAISEATTENTION_CONDITIONS_H

#include "LaunchNumbers.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa::raise {

/// number >= 0, or all, or any, of some.
struct Condition {
  enum Kind { AtLeastZero, All, Any } kind = All;
  Number number;
  std::vector<Condition> parts;
  bool operator==(const Condition &) const = default;

  void forEachNumber(llvm::function_ref<void(Number &)> visit);
};

/// The condition that element `axes` of `value`, of i1, holds (or, `negated`,
/// does not); nothing if it is none of comparisons of integers.
std::optional<Condition> readCondition(LaunchNumbers &numbers,
                                       mlir::Value value,
                                       mlir::ArrayRef<int> axes, bool negated);

/// Appends what must hold for `condition` to: the parts of All within All.
void appendParts(const Condition &condition, std::vector<Condition> &parts);

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_CONDITIONS_H
