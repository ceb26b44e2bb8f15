//===- LaunchElements.cpp - integers that lie in memory -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two loads of one element of an argument are one number: a kernel that is
// raised writes its outputs alone, and a launch whose outputs share memory with
// what is read runs as it is written.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Conditions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

/// An integer that the kernel loads from an argument.
Number LaunchNumbers::readElement(Operation *op, Value value,
                                  ArrayRef<int> axes) {
  if (!getElementTypeOrSelf(value.getType()).isSignlessInteger())
    return unknown(value, axes);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(load.getMemRef());
    if (!argument || load.getIndices().size() != 1)
      return unknown(value);
    return of({Variable::Element,
               argument.getArgNumber(),
               {read(load.getIndices()[0])}});
  }
  Refusal unused;
  std::optional<Access> access =
      readAccess(*this, op, axes, "an integer", unused);
  if (!access)
    return unknown(value, axes);
  Variable element{Variable::Element, access->argument, {access->base}};
  for (const auto &[axis, step] : access->steps)
    element.operands[0] = element.operands[0] + step * place(axis);
  // What is outside is not read.
  for (const auto &[axis, limits] : access->limits)
    for (const Number &limit : limits)
      element.operands.push_back(limit - place(axis) - 1);
  std::sort(element.operands.begin() + 1, element.operands.end());
  return of(element);
}

/// An element that is replaced where it is not read is the element where it is.
Number LaunchNumbers::readSelected(Operation *op, ArrayRef<int> axes) {
  auto select = cast<arith::SelectOp>(op);
  Number read = this->read(select.getTrueValue(), axes);
  std::optional<unsigned> element = read.variable();
  std::optional<Condition> condition = readCondition(
      *this, select.getCondition(),
      isa<RankedTensorType>(select.getCondition().getType()) ? axes
                                                             : ArrayRef<int>(),
      /*negated=*/false);
  if (!element || variable(*element).kind != Variable::Element || !condition)
    return unknown(select.getResult(), axes);
  std::vector<Condition> parts;
  appendParts(*condition, parts);
  auto known = ArrayRef(variable(*element).operands).drop_front();
  bool isKnown = llvm::all_of(parts, [&](const Condition &part) {
    return part.kind == Condition::AtLeastZero &&
           (llvm::is_contained(known, part.number) ||
            isNeverNegative(part.number));
  });
  return isKnown ? read : unknown(select.getResult(), axes);
}

Number LaunchNumbers::rewrite(
    const Number &number,
    llvm::function_ref<std::optional<Number>(unsigned)> replacement) {
  Number result;
  for (const auto &[monomial, coefficient] : number.terms()) {
    Number term = coefficient;
    for (unsigned n : monomial) {
      std::optional<Number> other = replacement(n);
      if (!other) {
        Variable v = variables[n];
        for (Number &operand : v.operands)
          operand = rewrite(operand, replacement);
        other = of(std::move(v));
      }
      term = term * *other;
    }
    result = result + term;
  }
  return result;
}

bool LaunchNumbers::mentions(
    const Number &number, llvm::function_ref<bool(unsigned)> isWanted) const {
  return llvm::any_of(number.terms(), [&](const auto &term) {
    return llvm::any_of(term.first, [&](unsigned n) {
      return isWanted(n) ||
             llvm::any_of(variables[n].operands, [&](const Number &operand) {
               return mentions(operand, isWanted);
             });
    });
  });
}
