//===- Artifact.cpp - what a compilation gives: a plan --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Artifact.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

static std::optional<int64_t> apply(SizeExpr::Opcode opcode, int64_t x,
                                    int64_t y) {
  int64_t result = 0;
  switch (opcode) {
  case SizeExpr::Add:
    return AddOverflow(x, y, result) ? std::nullopt : std::optional(result);
  case SizeExpr::Mul:
    return MulOverflow(x, y, result) ? std::nullopt : std::optional(result);
  case SizeExpr::FloorDiv:
    return y == 0 ? 0 : divideFloorSigned(x, y);
  case SizeExpr::CeilDiv:
    return y == 0 ? 0 : divideCeilSigned(x, y);
  case SizeExpr::Mod:
    return y == 0 ? 0 : mod(x, y);
  case SizeExpr::Const:
  case SizeExpr::Size:
    break;
  }
  llvm_unreachable("not an operation of two operands");
}

std::optional<int64_t>
SizeExpr::evaluate(function_ref<int64_t(int64_t, int64_t)> sizeOf) const {
  SmallVector<int64_t, 8> stack;
  for (const Step &step : steps) {
    if (step.opcode == Const) {
      stack.push_back(step.a);
    } else if (step.opcode == Size) {
      stack.push_back(sizeOf(step.a, step.b));
    } else {
      int64_t y = stack.pop_back_val(), x = stack.pop_back_val();
      auto value = apply(step.opcode, x, y);
      if (!value)
        return std::nullopt;
      stack.push_back(*value);
    }
  }
  return stack.back();
}
