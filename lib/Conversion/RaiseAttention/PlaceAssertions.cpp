//===- PlaceAssertions.cpp - what a kernel asserts and promises -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attention has none of a kernel's assertions. Those of a launch's numbers
// become conditions: a launch that breaks one is the kernel's, which checks
// them where anything does. Others are told.
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

namespace {
/// x mod m = 0, without signs, as what arguments are multiples of is promised.
struct Divisibility {
  Value x;
  int64_t multiple;
};
} // namespace

static std::optional<Divisibility> readDivisibility(Value condition) {
  auto compared = condition.getDefiningOp<arith::CmpIOp>();
  if (!compared || compared.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(compared.getRhs(), m_Zero()))
    return std::nullopt;
  auto rest = compared.getLhs().getDefiningOp<arith::RemUIOp>();
  APInt multiple;
  if (!rest || !matchPattern(rest.getRhs(), m_ConstantInt(&multiple)))
    return std::nullopt;
  return Divisibility{rest.getLhs(), multiple.getSExtValue()};
}

bool Placement::requireAsserted(Value condition) {
  if (!condition.getType().isInteger(1))
    return false;
  if (std::optional<Divisibility> divisible = readDivisibility(condition)) {
    // Where a tensor begins, the attention's own kernels look at.
    if (divisible->x.getDefiningOp<memref::ExtractAlignedPointerAsIndexOp>())
      return true;
    Number x = numbers.read(divisible->x);
    if (!isOfAllPrograms(x))
      return false;
    requireMultiple(x, divisible->multiple);
    return true;
  }
  std::optional<Condition> read =
      readCondition(numbers, condition, {}, /*negated=*/false);
  if (!read)
    return false;
  std::vector<Condition> parts;
  appendParts(*read, parts);
  for (const Condition &part : parts)
    if (part.kind != Condition::AtLeastZero ||
        (!isOfAllPrograms(part.number) &&
         !numbers.isNeverNegative(part.number)))
      return false;
  for (const Condition &part : parts) {
    Number more, less;
    for (const auto &[monomial, coefficient] : part.number.terms())
      (coefficient > 0 ? more : less)
          .addTerm(monomial, coefficient > 0 ? coefficient : -coefficient);
    requireAtLeast(more, less);
  }
  return true;
}

void Placement::readAssertions() {
  kernel.walk([&](tile::AssertOp assertion) {
    if (!requireAsserted(assertion.getCondition()))
      placed.unchecked.insert(assertion.getMessage().str());
  });
}
