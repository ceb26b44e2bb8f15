//===- Access.cpp - what one load or store touches ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Conditions.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

void Access::forEachNumber(llvm::function_ref<void(Number &)> visit) {
  visit(base);
  visit(pageStep);
  for (auto &[axis, step] : steps)
    visit(step);
  for (auto &[axis, numbers] : limits)
    for (Number &limit : numbers)
      visit(limit);
}

static Number readSize(LaunchNumbers &numbers, OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return numbers.read(value);
  return *getConstantIntValue(size);
}

/// Appends the limits that a view's `size` is: a size below 0 is none, and of a
/// minimum both are.
static void appendLimits(LaunchNumbers &numbers, const Number &size,
                         const Number &first, std::vector<Number> &limits) {
  if (std::optional<unsigned> only = size.variable()) {
    const Variable v = numbers.variable(*only);
    if (v.kind == Variable::Greatest)
      for (unsigned n : {0u, 1u})
        if (v.operands[n].isZero())
          return appendLimits(numbers, v.operands[1 - n], first, limits);
  }
  for (const auto &[monomial, coefficient] : size.terms()) {
    if (monomial.size() != 1 || coefficient < 0 ||
        size.coefficientOf(monomial[0]) != Number(coefficient))
      continue;
    const Variable v = numbers.variable(monomial[0]);
    if (v.kind != Variable::Least)
      continue;
    for (const Number &operand : v.operands)
      appendLimits(numbers, size.replace(monomial[0], operand), first, limits);
    return;
  }
  limits.push_back(size - first);
}

/// Reads elements of an argument at computed addresses, where these are steps
/// in all axes but for what quotients, remainders and elements are made of.
static std::optional<Access>
readGather(LaunchNumbers &numbers, tile::GatherOp gather, ArrayRef<int> axes,
           llvm::function_ref<std::nullopt_t(const Twine &)> refuse) {
  auto argument = dyn_cast<BlockArgument>(gather.getSource());
  if (!argument || gather.getIndices().size() != 1 || !gather.getInBounds())
    return refuse("is no view of an argument");
  auto type = cast<RankedTensorType>(gather.getResult().getType());
  Access access;
  access.op = gather;
  access.argument = argument.getArgNumber();
  access.element = type.getElementType();
  access.base = numbers.read(gather.getIndices()[0], axes);
  for (auto [dim, axis] : llvm::enumerate(axes)) {
    if (axis < 0)
      continue;
    unsigned place = *numbers.place(axis).variable();
    std::optional<Number> step = access.base.coefficientOf(place);
    if (!step || numbers.mentions(*step, [&](unsigned n) {
          return numbers.variable(n).kind == Variable::Place;
        }))
      return refuse("is read from addresses that follow no steps: " +
                    numbers.print(access.base));
    access.steps[axis] = *step;
    access.extents[axis] = type.getDimSize(dim);
    access.base = access.base.replace(place, Number());
  }
  if (!gather.getMask())
    return access;
  std::optional<Condition> mask =
      readCondition(numbers, gather.getMask(), axes, /*negated=*/false);
  std::vector<Condition> parts;
  if (mask)
    appendParts(*mask, parts);
  // Place i is below n for n - 1 - i >= 0.
  auto isLimit = [&](const Condition &part) {
    if (part.kind != Condition::AtLeastZero)
      return false;
    if (numbers.isNeverNegative(part.number))
      return true;
    for (const auto &[axis, step] : access.steps) {
      std::optional<Number> factor =
          part.number.coefficientOf(*numbers.place(axis).variable());
      if (!factor || factor->constant() != -1)
        continue;
      access.limits[axis].push_back(part.number + numbers.place(axis) + 1);
      return true;
    }
    return false;
  };
  if (!mask || !llvm::all_of(parts, isLimit))
    return refuse("is read where a mask allows it that is not one of limits");
  return access;
}

std::optional<Access> fa::raise::readAccess(LaunchNumbers &numbers,
                                            Operation *op, ArrayRef<int> axes,
                                            StringRef what, Refusal &refusal) {
  auto load = dyn_cast_if_present<tile::LoadOp>(op);
  auto store = dyn_cast_if_present<tile::StoreOp>(op);
  auto refuse = [&](const Twine &why) {
    refusal = {op, (what + " " + why).str()};
    return std::nullopt;
  };
  if (auto gather = dyn_cast_if_present<tile::GatherOp>(op))
    return readGather(numbers, gather, axes, refuse);
  if (!load && !store)
    return refuse("is not loaded, but computed");
  Value memory = load ? load.getSource() : store.getDest();
  ValueRange indices = load ? load.getIndices() : store.getIndices();
  auto type = cast<RankedTensorType>(load ? load.getResult().getType()
                                          : store.getValue().getType());
  // Casts forget sizes and steps that are constants.
  while (auto cast = memory.getDefiningOp<memref::CastOp>())
    memory = cast.getSource();
  auto view = memory.getDefiningOp<memref::ReinterpretCastOp>();
  auto argument =
      view ? dyn_cast<BlockArgument>(view.getSource()) : BlockArgument();
  if (!argument || view.getMixedSizes().size() != axes.size())
    return refuse("is no view of an argument");
  Access access;
  access.op = op;
  access.argument = argument.getArgNumber();
  access.element = type.getElementType();
  access.base = readSize(numbers, view.getMixedOffsets()[0]);
  for (auto [dim, axis] : llvm::enumerate(axes)) {
    Number first = numbers.read(indices[dim]),
           step = readSize(numbers, view.getMixedStrides()[dim]),
           size = readSize(numbers, view.getMixedSizes()[dim]);
    access.base = access.base + first * step;
    if (axis < 0)
      continue;
    access.steps[axis] = step;
    access.extents[axis] = type.getDimSize(dim);
    std::optional<int64_t> whole = (size - first).constant();
    bool isInside = (load && load.getInBounds()) ||
                    (whole && *whole >= type.getDimSize(dim));
    if (!isInside)
      appendLimits(numbers, size, first, access.limits[axis]);
  }
  return access;
}
