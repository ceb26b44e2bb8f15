//===- PlaceCoordinates.cpp - batches, heads and rows of programs ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

bool Placement::isCoordinate(unsigned variable) const {
  const Variable &v = numbers.variable(variable);
  if (v.kind == Variable::Program)
    return true;
  if (v.kind == Variable::Counter)
    return llvm::none_of(ranges, [&](const KeyRange &range) {
      return range.variable == variable;
    });
  if (v.kind != Variable::Quotient && v.kind != Variable::Remainder)
    return false;
  std::optional<unsigned> whole = v.operands[0].variable();
  return whole && isCoordinate(*whole);
}

std::vector<unsigned> Placement::coordinatesIn(const Number &number) const {
  llvm::SetVector<unsigned> found;
  for (const auto &[monomial, coefficient] : number.terms())
    for (unsigned n : monomial)
      if (isCoordinate(n))
        found.insert(n);
  return {found.begin(), found.end()};
}

bool Placement::findCoordinates() {
  rowTile = output.extents[kRow];
  Number step = output.steps[kRow] * Number(rowTile);
  Number queryStep = q.steps[kRow] * Number(rowTile);
  // The counters of the loops around the rest, in order.
  for (unsigned n : coordinatesIn(output.base)) {
    bool isOfKeys = llvm::any_of(
        keys, [&](const Access &access) { return access.base.contains(n); });
    if (!hasRow && !proven.isOneRow && !isOfKeys &&
        output.base.coefficientOf(n) == step &&
        q.base.coefficientOf(n) == queryStep) {
      row = n;
      hasRow = true;
    } else {
      others.push_back(n);
    }
  }
  if (q.extents[kRow] != rowTile)
    return refuse(q.op, "tiles of Q and of the output have different rows");
  if (others.size() > 2) {
    std::string list;
    for (unsigned n : others) {
      Number variable;
      variable.addTerm({n}, 1);
      list += (list.empty() ? "" : ", ") + print(variable);
    }
    return refuse(output.op,
                  "the output depends on more coordinates than rows, "
                  "a batch and a head: " +
                      list);
  }
  return findExtents();
}

Number Placement::extentOf(unsigned coordinate) {
  if (auto known = extents.find(coordinate); known != extents.end())
    return known->second;
  Variable v = numbers.variable(coordinate);
  Number extent;
  switch (v.kind) {
  case Variable::Program:
    extent.addTerm({numbers.intern({Variable::Grid, v.number, {}})}, 1);
    break;
  case Variable::Remainder:
    extent = v.operands[1];
    break;
  case Variable::Quotient: {
    Number whole = extentOf(*v.operands[0].variable());
    requireMultiple(whole, v.operands[1]);
    std::optional<int64_t> x = whole.constant(), y = v.operands[1].constant();
    if (x && y && *y > 0)
      extent = *x / *y;
    else
      extent.addTerm(
          {numbers.intern({Variable::Quotient, 0, {whole, v.operands[1]}})}, 1);
    break;
  }
  default:
    break;
  }
  return extents[coordinate] = extent;
}

/// Whether `variable` is one of `all`, or its quotient and its remainder are.
bool Placement::isCovered(unsigned variable, ArrayRef<unsigned> all) const {
  if (llvm::is_contained(all, variable))
    return true;
  for (unsigned n = 0; n < numbers.size(); ++n) {
    const Variable &v = numbers.variable(n);
    if (v.kind != Variable::Remainder || v.operands[0].variable() != variable ||
        !isCovered(n, all))
      continue;
    for (unsigned m = 0; m < numbers.size(); ++m)
      if (numbers.variable(m).kind == Variable::Quotient &&
          numbers.variable(m).operands == v.operands && isCovered(m, all))
        return true;
  }
  return false;
}

/// Of what is divided the output depends on both parts, or there is no more
/// than a part.
bool Placement::coverWhole(unsigned part, ArrayRef<unsigned> all) {
  const Variable v = numbers.variable(part);
  if (v.kind != Variable::Remainder && v.kind != Variable::Quotient)
    return true;
  bool isRemainder = v.kind == Variable::Remainder;
  unsigned whole = *v.operands[0].variable();
  Variable sibling = v;
  sibling.kind = isRemainder ? Variable::Quotient : Variable::Remainder;
  if (isCovered(numbers.intern(sibling), all))
    requireMultiple(extentOf(whole), v.operands[1]);
  else if (isRemainder)
    require(extentOf(whole) - v.operands[1], true,
            print(extentOf(whole)) + " is " + print(v.operands[1]));
  else
    return refuse(output.op, "several programs write the same output");
  return coverWhole(whole, all);
}

bool Placement::findExtents() {
  // Loops around everything: their counters are coordinates.
  for (Operation *op = proven.output->getParentOp(); op != kernel;
       op = op->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return refuse(op, "it stands around the store of the output");
    if (!numbers.read(loop.getLowerBound()).isZero() ||
        numbers.read(loop.getStep()).constant() != 1)
      return refuse(loop, "it is around the loop over keys and does not count "
                          "from 0 in steps of 1");
    if (!loop.getInits().empty())
      return refuse(loop, "it is around the loop over keys and carries values");
    extents[*numbers.counter(loop).variable()] =
        numbers.read(loop.getUpperBound());
  }
  std::vector<unsigned> all = others;
  if (hasRow)
    all.push_back(row);
  for (unsigned n : all) {
    Number extent = extentOf(n);
    if (extent.isZero())
      return refuse(output.op, "how far a coordinate of the output goes is not "
                               "known");
    requireAtLeast(extent, 1);
    if (!coverWhole(n, all))
      return false;
  }
  return true;
}

/// `number` where each coordinate that it depends on is such that it is least
/// or greatest; coefficients that are products of arguments are required to be
/// at least 0.
std::optional<Number> Placement::boundOf(Number number, bool least) {
  for (unsigned n : coordinatesIn(number)) {
    std::optional<Number> coefficient = number.coefficientOf(n);
    if (!coefficient || !extents.contains(n))
      return std::nullopt;
    auto hasOnly = [&](bool positive) {
      return llvm::all_of(coefficient->terms(), [&](const auto &term) {
        return (term.second > 0) == positive;
      });
    };
    bool grows = hasOnly(true);
    if (!grows && !hasOnly(false))
      return std::nullopt;
    requireAtLeast(grows ? *coefficient : *coefficient * Number(-1), 0);
    number = number.replace(n, grows == least ? Number() : extents[n] - 1);
  }
  return number;
}
