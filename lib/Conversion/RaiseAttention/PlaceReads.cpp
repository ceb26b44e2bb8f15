//===- PlaceReads.cpp - what a placement looks at -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

bool Placement::isLaunchScalar(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &kernel.getBody().front() &&
         value.getType().isF32();
}

bool Placement::readScoresOf(const Stage &stage, Scores &result) {
  Operation *at = placeOf(stage.loop);
  std::string why;
  if (!readScores(sums, stage.score, result, why))
    return refuse(at, why);
  for (auto [number, power] : result.scalars)
    if (!isLaunchScalar(sums.valueOf(sums.factor(number))))
      return refuse(at, "its scores are multiplied by a number that is no "
                        "constant and no argument of f32");
  if (!result.change.empty() && proven.stages.size() > 1)
    return refuse(at, "its scores are more than products of rows of Q and K, "
                      "in several loops: " +
                          sums.print(result.change));
  return true;
}

bool Placement::readMask(const Stage &stage, const Scores &from,
                         KeyRange &range) {
  for (const Factor *f : from.masks) {
    std::vector<int> axes = f->axes;
    std::optional<Condition> condition =
        readCondition(numbers, sums.valueOf(*f), axes, f->negated);
    Operation *at = sums.valueOf(*f).getDefiningOp();
    if (!condition)
      return refuse(at ? at : placeOf({}),
                    "the mask of its scores is not one of comparisons of "
                    "integers that are computed from their places");
    appendParts(*condition, range.mask);
  }
  return true;
}

/// Of a minimum both are ends, also where it is rounded to a multiple of tiles.
void Placement::appendEnds(const Number &end, std::vector<Number> &ends) {
  for (const auto &[monomial, coefficient] : end.terms()) {
    if (monomial.size() != 1 || coefficient < 0 ||
        end.coefficientOf(monomial[0]) != Number(coefficient))
      continue;
    // A copy: more variables may come.
    const Variable v = numbers.variable(monomial[0]);
    std::vector<Number> parts;
    if (v.kind == Variable::Least)
      parts = v.operands;
    else if (v.kind == Variable::Quotient &&
             v.operands[1].constant().value_or(0) > 0)
      appendEnds(v.operands[0], parts);
    if (parts.size() < 2)
      continue;
    for (const Number &part : parts)
      appendEnds(
          end.replace(monomial[0], v.kind == Variable::Least
                                       ? part
                                       : numbers.quotient(part, v.operands[1])),
          ends);
    return;
  }
  ends.push_back(end);
}

/// Makes a row of what has columns alone: the next one would lie behind it.
static void addRow(Access &access) {
  auto [axis, columns] = *access.extents.begin();
  access.steps[kRow] = access.steps.at(axis) * columns;
  access.extents[kRow] = 1;
}

bool Placement::readStages() {
  queryNumber = numbers.place(kQueryNumber);
  keyNumber = numbers.place(kKeyNumber);
  auto axesOf = [](const Factor &f) { return ArrayRef<int>(f.axes); };
  for (const Stage &stage : proven.stages) {
    Scores found;
    if (!readScoresOf(stage, found))
      return false;
    Operation *at = placeOf(stage.loop);
    if (&stage != &proven.stages.front() &&
        (found.q != scores.q || found.scalars != scores.scalars ||
         std::fabs(found.factor - scores.factor) >
             1e-9 * std::fabs(scores.factor)))
      return refuse(at, "its scores are not those of the loop before it");
    scores = found;
    auto k = readAccess(numbers, sums.valueOf(*found.k).getDefiningOp(),
                        axesOf(*found.k), "K", refusal);
    if (!k) {
      refusal.at = refusal.at ? refusal.at : at;
      return false;
    }
    auto v = readAccess(numbers, stage.value.getDefiningOp(), stage.valueAxes,
                        "V", refusal);
    if (!v) {
      refusal.at = refusal.at ? refusal.at : at;
      return false;
    }
    KeyRange range;
    range.loop = stage.loop;
    range.tile = k->extents[kSummed];
    if (scf::ForOp loop = stage.loop) {
      std::optional<int64_t> step = numbers.read(loop.getStep()).constant();
      if (!step || *step <= 0 || range.tile % *step)
        return refuse(loop, "a step of its loop is over " +
                                (step ? std::to_string(*step)
                                      : "a number of keys that is not known") +
                                ", and a tile has " +
                                std::to_string(range.tile) + " keys");
      Number counter = numbers.counter(loop);
      range.variable = counter.variable();
      range.keysOfOne = range.tile / *step;
      range.counter = counter * range.keysOfOne;
      range.first = numbers.read(loop.getLowerBound()) * range.keysOfOne;
      range.end = numbers.read(loop.getUpperBound()) * range.keysOfOne;
      appendEnds(range.end, range.ends);
    } else {
      range.end = Number(range.tile);
      range.ends = {range.end};
    }
    if (!readMask(stage, found, range) || !readPages(*k, range, "K") ||
        !readPages(*v, range, "V"))
      return false;
    keys.push_back(*k);
    values.push_back(*v);
    ranges.push_back(std::move(range));
  }
  Operation *load = sums.valueOf(*scores.q).getDefiningOp();
  auto queries = readAccess(numbers, load, axesOf(*scores.q), "Q", refusal);
  if (!queries) {
    refusal.at = refusal.at ? refusal.at : placeOf({});
    return false;
  }
  q = *queries;
  auto out = readAccess(numbers, proven.output,
                        proven.isOneRow ? ArrayRef<int>{kColumn}
                                        : ArrayRef<int>{kRow, kColumn},
                        "the output", refusal);
  if (!out)
    return false;
  output = *out;
  if (!leavesOut(proven.outputChoices, output))
    return false;
  if (proven.isOneRow) {
    addRow(q);
    addRow(output);
  }
  if (!readElements())
    return false;
  if (tile::StoreOp store = proven.lse) {
    bool isFlat =
        cast<RankedTensorType>(store.getValue().getType()).getRank() == 1;
    lse = readAccess(numbers, store,
                     isFlat ? ArrayRef<int>{kRow} : ArrayRef<int>{kRow, kOne},
                     "the log-sum-exp", refusal);
    if (!lse || !leavesOut(proven.lseChoices, *lse))
      return false;
  }
  return true;
}

bool Placement::leavesOut(ArrayRef<TileReader::Choice> choices,
                          const Access &store) {
  // Place i is stored for limit - 1 - i >= 0.
  auto isStored = [&](const Condition &part) {
    return part.kind == Condition::AtLeastZero &&
           (numbers.isNeverNegative(part.number) ||
            llvm::any_of(store.limits, [&](const auto &limits) {
              return llvm::is_contained(
                  limits.second, part.number + numbers.place(limits.first) + 1);
            }));
  };
  for (const TileReader::Choice &choice : choices) {
    std::optional<Condition> condition =
        readCondition(numbers, choice.condition, choice.axes, choice.negated);
    std::vector<Condition> parts;
    if (condition)
      appendParts(*condition, parts);
    if (!condition || !llvm::all_of(parts, isStored))
      return refuse(choice.select,
                    "it stores something else where a condition does not hold "
                    "that is none of what the store's mask says");
  }
  return true;
}

/// What the scores read beside Q and K, and the sink.
bool Placement::readElements() {
  auto readScalar = [&](Value value, std::optional<Access> &access) {
    auto load = value.getDefiningOp<memref::LoadOp>();
    auto argument =
        load ? dyn_cast<BlockArgument>(load.getMemRef()) : BlockArgument();
    if (!argument || load.getIndices().size() != 1)
      return refuse(placeOf(ranges.back().loop),
                    "a number that its scores depend on is neither given by "
                    "the launch nor an element of an argument");
    access.emplace();
    access->op = load;
    access->argument = argument.getArgNumber();
    access->element = value.getType();
    access->base = numbers.read(load.getIndices()[0]);
    return true;
  };
  if (proven.sink && !readScalar(proven.sink, sink))
    return false;
  bool good = true;
  sums.walk(scores.change, [&](const Factor &f) {
    if (!good || f.kind != Factor::Tile || &f == scores.q || &f == scores.k)
      return;
    unsigned number = sums.numberOf(f);
    Value value = sums.valueOf(f);
    if (f.axes.empty()) {
      std::optional<Access> access;
      if (isLaunchScalar(value))
        return;
      good = readScalar(value, access);
      if (good)
        elements[number] = *access;
      return;
    }
    if (auto convert = value.getDefiningOp<arith::SIToFPOp>()) {
      placed.scoreNumbers[number] = numbers.read(convert.getIn(), f.axes);
      return;
    }
    auto access = readAccess(numbers, value.getDefiningOp(), f.axes,
                             "what its scores read beside Q and K", refusal);
    good = access.has_value();
    if (good)
      elements[number] = *access;
    else if (!refusal.at)
      refusal.at = placeOf(ranges.back().loop);
  });
  return good;
}

/// Coordinates of which remainders are taken are written as quotients and
/// remainders everywhere.
void Placement::splitPrograms() {
  auto forEachNumber = [&](llvm::function_ref<void(Number &)> visit) {
    for (Access *access : {&q, &output})
      access->forEachNumber(visit);
    for (std::optional<Access> *access : {&lse, &sink})
      if (*access)
        (*access)->forEachNumber(visit);
    for (auto &[factor, access] : elements)
      access.forEachNumber(visit);
    for (auto &[factor, number] : placed.scoreNumbers)
      visit(number);
    for (std::vector<Access> *list : {&keys, &values})
      for (Access &access : *list)
        access.forEachNumber(visit);
    for (KeyRange &range : ranges) {
      visit(range.first);
      visit(range.end);
      for (Number &end : range.ends)
        visit(end);
      for (Condition &condition : range.mask)
        condition.forEachNumber(visit);
    }
  };
  for (unsigned n = 0; n < numbers.size(); ++n)
    if (isCoordinate(n))
      forEachNumber([&](Number &number) { numbers.findRemainders(number, n); });
  for (unsigned n = 0; n < numbers.size(); ++n)
    if (isCoordinate(n))
      forEachNumber([&](Number &number) { number = numbers.split(number, n); });
}
