//===- Conditions.cpp - masks of scores as inequalities -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditions.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

void Condition::forEachNumber(llvm::function_ref<void(Number &)> visit) {
  if (kind == AtLeastZero)
    visit(number);
  for (Condition &part : parts)
    part.forEachNumber(visit);
}

void fa::raise::appendParts(const Condition &condition,
                            std::vector<Condition> &parts) {
  if (condition.kind != Condition::All) {
    parts.push_back(condition);
    return;
  }
  for (const Condition &part : condition.parts)
    appendParts(part, parts);
}

/// number >= 0. What is added of a minimum, or subtracted of a maximum, is so
/// for both of two operands.
static Condition atLeastZero(const LaunchNumbers &numbers,
                             const Number &number) {
  for (const auto &[monomial, coefficient] : number.terms()) {
    if (monomial.size() != 1 ||
        number.coefficientOf(monomial[0]) != Number(coefficient))
      continue;
    const Variable &v = numbers.variable(monomial[0]);
    if (v.kind != (coefficient > 0 ? Variable::Least : Variable::Greatest))
      continue;
    Condition both{Condition::All, {}, {}};
    for (const Number &operand : v.operands)
      both.parts.push_back(
          atLeastZero(numbers, number.replace(monomial[0], operand)));
    return both;
  }
  return {Condition::AtLeastZero, number, {}};
}

/// x `predicate` y.
static std::optional<Condition> compare(const LaunchNumbers &numbers,
                                        arith::CmpIPredicate predicate,
                                        const Number &x, const Number &y) {
  using enum arith::CmpIPredicate;
  auto isAtLeastZero = [&](const Number &number) {
    return atLeastZero(numbers, number);
  };
  switch (predicate) {
  case sge:
    return isAtLeastZero(x - y);
  case sgt:
    return isAtLeastZero(x - y - 1);
  case sle:
    return isAtLeastZero(y - x);
  case slt:
    return isAtLeastZero(y - x - 1);
  case eq:
    return Condition{
        Condition::All, {}, {isAtLeastZero(x - y), isAtLeastZero(y - x)}};
  case ne:
    return Condition{Condition::Any,
                     {},
                     {isAtLeastZero(x - y - 1), isAtLeastZero(y - x - 1)}};
  default:
    return std::nullopt;
  }
}

std::optional<Condition> fa::raise::readCondition(LaunchNumbers &numbers,
                                                  Value value,
                                                  ArrayRef<int> axes,
                                                  bool negated) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Condition{
        constant.isZero() == negated ? Condition::All : Condition::Any, {}, {}};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    SmallVector<int> inner;
    if (auto from = dyn_cast<RankedTensorType>(broadcast.getInput().getType()))
      for (auto [axis, size] : llvm::zip_equal(axes, from.getShape()))
        inner.push_back(size == 1 ? -1 : axis);
    return readCondition(numbers, broadcast.getInput(), inner, negated);
  }
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    SmallVector<int> inner(axes);
    inner.erase(inner.begin() + expand.getDim());
    return readCondition(numbers, expand.getInput(), inner, negated);
  }
  if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    SmallVector<int> inner(axes.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      inner[from] = axes[dim];
    return readCondition(numbers, transpose.getInput(), inner, negated);
  }
  if (auto compared = dyn_cast<arith::CmpIOp>(op)) {
    auto predicate = compared.getPredicate();
    return compare(numbers,
                   negated ? arith::invertPredicate(predicate) : predicate,
                   numbers.read(compared.getLhs(), axes),
                   numbers.read(compared.getRhs(), axes));
  }
  if (isa<arith::XOrIOp>(op))
    for (unsigned n : {0u, 1u})
      if (matchPattern(op->getOperand(n), m_One()))
        return readCondition(numbers, op->getOperand(1 - n), axes, !negated);
  if (!isa<arith::AndIOp, arith::OrIOp>(op))
    return std::nullopt;
  Condition both{isa<arith::AndIOp>(op) == negated ? Condition::Any
                                                   : Condition::All,
                 {},
                 {}};
  for (Value operand : op->getOperands()) {
    std::optional<Condition> part =
        readCondition(numbers, operand, axes, negated);
    if (!part)
      return std::nullopt;
    both.parts.push_back(std::move(*part));
  }
  return both;
}
