//===- Places.cpp - where Q, K, V and the output are ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Places.h"

#include "Access.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

namespace {

/// Keys [first, end), in tiles; what is visited of them from `end` on is to be
/// masked.
struct KeyRange {
  scf::ForOp loop; ///< null: one tile
  Number counter, first;
  std::vector<Number> ends; ///< the least of them
  int64_t tile = 0;
  std::vector<Condition> mask;
};

class Placement {
public:
  Placement(const ProvenLoops &proven, ExponentialSums &sums,
            LaunchNumbers &numbers, tile::KernelOp kernel, Refusal &refusal)
      : proven(proven), sums(sums), numbers(numbers), kernel(kernel),
        refusal(refusal) {}

  bool run();
  PlacedAttention placed;

private:
  bool refuse(Operation *op, const Twine &why) {
    refusal = {op, why.str()};
    return false;
  }
  void require(const Number &number, bool isZero, const Twine &text);
  void requireAtLeast(const Number &x, const Number &y);
  void requireMultiple(const Number &x, const Number &y);
  std::string print(const Number &number) const {
    return numbers.print(number);
  }
  /// Without the grid's.
  unsigned numArguments() { return kernel.getNumArguments() - 1; }
  bool isOfAllPrograms(const Number &number) {
    return bool(numbers.toAffine(number, numArguments(), kernel.getContext()));
  }
  /// What stands for keys in a report: their loop, or the store of the output.
  Operation *placeOf(scf::ForOp loop) {
    tile::StoreOp store = proven.output;
    return loop ? loop.getOperation() : store.getOperation();
  }

  //===--- What is read (in the order in which it is looked at) ---===//
  bool isLaunchScalar(Value value);
  bool readScoresOf(const Stage &stage, Scores &scores);
  bool readStages();
  bool readElements();
  bool readMask(const Stage &stage, const Scores &scores, KeyRange &range);
  void splitPrograms();

  //===--- Which coordinates there are ---===//
  bool isCoordinate(unsigned variable) const;
  std::vector<unsigned> coordinatesIn(const Number &number) const;
  bool findCoordinates();
  bool findExtents();
  Number extentOf(unsigned coordinate);
  /// `number` at its least, if `least`, or greatest over all programs.
  std::optional<Number> boundOf(Number number, bool least);

  //===--- Tensors ---===//
  bool placeTensor(const Access &access, int rowAxis, int columnAxis,
                   const char *what, TensorPlace &place);
  bool placeKeys(const Access &access, const KeyRange &range, int columnAxis,
                 const char *what, TensorPlace &place);
  bool placeTensors();
  bool requireLimits(const Access &access, int axis, const Number &least,
                     const char *what);

  //===--- Keys ---===//
  Number moveToTensor(const Number &number, const KeyRange &range);
  bool isOfTensor(const Number &number) const;
  bool coverKeys();
  bool coverEnd(const KeyRange &range);
  Number dropRounding(const Number &first) const;
  bool coverStart(const KeyRange &range);
  bool implies(const KeyRange &range, const Condition &condition);
  bool isSurelyAtLeastZero(Number number);
  bool isAtLeastZero(const Number &number);
  bool finishMask();

  //===--- Elements ---===//
  bool placeElement(const Access &access, ElementPlace &place);
  bool placeElements();

  const ProvenLoops &proven;
  ExponentialSums &sums;
  LaunchNumbers &numbers;
  tile::KernelOp kernel;
  Refusal &refusal;

  Scores scores; ///< of the last stage
  Access q, output;
  std::optional<Access> lse, sink;
  std::map<unsigned, Access> elements; ///< by factor of the scores
  std::vector<Access> keys, values;    ///< of each stage
  std::vector<KeyRange> ranges;
  std::vector<Condition> mask; ///< of the last range
  unsigned row = 0;            ///< the coordinate of tiles of rows
  int64_t rowTile = 0;
  bool hasRow = false;
  std::vector<unsigned> others;  ///< coordinates of batches and heads
  std::optional<unsigned> group; ///< head ÷ group size, for keys
  Number groupSize;
  std::map<unsigned, Number> extents;
  Number queryCount, keyCount;
  bool hasKeyCount = false;
  Number queryNumber, keyNumber; ///< in masks
};

} // namespace

//===----------------------------------------------------------------------===//
// Preconditions
//===----------------------------------------------------------------------===//

void Placement::require(const Number &number, bool isZero, const Twine &text) {
  std::optional<int64_t> constant = number.constant();
  if (constant && (isZero ? *constant == 0 : *constant >= 0))
    return;
  for (const Precondition &known : placed.preconditions)
    if (known.number == number && known.isZero == isZero)
      return;
  placed.preconditions.push_back({number, isZero, text.str()});
}

void Placement::requireAtLeast(const Number &x, const Number &y) {
  // There is a program at least.
  const Number exact = x - y;
  llvm::SetVector<unsigned> grids;
  for (const auto &[monomial, coefficient] : exact.terms())
    for (unsigned n : monomial)
      if (numbers.variable(n).kind == Variable::Grid)
        grids.insert(n);
  Number difference = exact;
  for (unsigned n : grids) {
    Number more = 1;
    more.addTerm({n}, 1);
    difference = difference.replace(n, more);
  }
  if (!numbers.isNeverNegative(difference))
    require(exact, false, print(x) + " is at least " + print(y));
}

void Placement::requireMultiple(const Number &x, const Number &y) {
  std::optional<int64_t> c = y.constant();
  if (c && *c > 0 && x.divideBy(*c))
    return;
  Variable rest{Variable::Remainder, 0, {x, y}};
  Number remainder;
  remainder.addTerm({numbers.intern(rest)}, 1);
  require(remainder, true, print(x) + " is a multiple of " + print(y));
}

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

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
    keys.push_back(*k);
    values.push_back(*v);
    KeyRange range;
    range.loop = stage.loop;
    range.tile = k->extents[kSummed];
    if (scf::ForOp loop = stage.loop) {
      std::optional<int64_t> step = numbers.read(loop.getStep()).constant();
      if (step != range.tile)
        return refuse(loop, "a step of its loop is over " +
                                (step ? std::to_string(*step)
                                      : "a number of keys that is not known") +
                                ", and a tile has " +
                                std::to_string(range.tile) + " keys");
      range.counter = numbers.counter(loop);
      range.first = numbers.read(loop.getLowerBound());
      Number end = numbers.read(loop.getUpperBound());
      // Of a minimum both are.
      std::optional<unsigned> least = end.variable();
      if (least && numbers.variable(*least).kind == Variable::Least)
        range.ends = numbers.variable(*least).operands;
      else
        range.ends = {end};
    } else {
      range.ends = {Number(range.tile)};
    }
    if (!readMask(stage, found, range))
      return false;
    ranges.push_back(std::move(range));
  }
  Operation *load = sums.valueOf(*scores.q).getDefiningOp();
  auto queries = readAccess(numbers, load, axesOf(*scores.q), "Q", refusal);
  if (!queries) {
    refusal.at = refusal.at ? refusal.at : placeOf({});
    return false;
  }
  q = *queries;
  auto out = readAccess(numbers, proven.output, {kRow, kColumn}, "the output",
                        refusal);
  if (!out)
    return false;
  output = *out;
  if (!readElements())
    return false;
  if (tile::StoreOp store = proven.lse) {
    bool isFlat =
        cast<RankedTensorType>(store.getValue().getType()).getRank() == 1;
    lse = readAccess(numbers, store,
                     isFlat ? ArrayRef<int>{kRow} : ArrayRef<int>{kRow, kOne},
                     "the log-sum-exp", refusal);
    if (!lse)
      return false;
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
      if ((good = readScalar(value, access)))
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
      for (Number &end : range.ends)
        visit(end);
      for (Condition &condition : range.mask)
        condition.forEachNumber(visit);
    }
  };
  for (unsigned n = 0; n < numbers.size(); ++n)
    if (isCoordinate(n))
      forEachNumber([&](Number &number) { number = numbers.split(number, n); });
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

bool Placement::isCoordinate(unsigned variable) const {
  const Variable &v = numbers.variable(variable);
  if (v.kind == Variable::Program)
    return true;
  if (v.kind == Variable::Counter)
    return llvm::none_of(ranges, [&](const KeyRange &range) {
      return range.counter.variable() == variable;
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
    if (!hasRow && !isOfKeys && output.base.coefficientOf(n) == step &&
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
    const Variable v = numbers.variable(n);
    Number extent = extentOf(n);
    if (extent.isZero())
      return refuse(output.op, "how far a coordinate of the output goes is not "
                               "known");
    requireAtLeast(extent, 1);
    // Of a whole that is divided both parts are there, or it is no larger.
    if (v.kind != Variable::Remainder && v.kind != Variable::Quotient)
      continue;
    bool isRemainder = v.kind == Variable::Remainder;
    Variable sibling = v;
    sibling.kind = isRemainder ? Variable::Quotient : Variable::Remainder;
    unsigned whole = *v.operands[0].variable();
    if (llvm::is_contained(all, numbers.intern(sibling))) {
      requireMultiple(extentOf(whole), v.operands[1]);
      continue;
    }
    if (!isRemainder)
      return refuse(output.op, "several programs write the same output");
    require(extentOf(whole) - v.operands[1], true,
            print(extentOf(whole)) + " is " + print(v.operands[1]));
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

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool Placement::placeTensor(const Access &access, int rowAxis, int columnAxis,
                            const char *what, TensorPlace &place) {
  auto stepOf = [&](int axis) {
    auto found = access.steps.find(axis);
    return found == access.steps.end() ? Number(1) : found->second;
  };
  place.op = access.op;
  place.argument = access.argument;
  place.element = access.element;
  place.offset = access.base;
  place.strides[2] = stepOf(rowAxis);
  place.strides[3] = columnAxis < 0 ? Number(1) : stepOf(columnAxis);
  auto columns = access.extents.find(columnAxis);
  place.columns = columns == access.extents.end() ? 1 : columns->second;
  if (hasRow && rowAxis == kRow) {
    if (access.base.coefficientOf(row) != place.strides[2] * Number(rowTile))
      return refuse(access.op, Twine(what) +
                                   " does not begin at the rows of the "
                                   "output's tile");
    place.offset = place.offset.replace(row, Number());
  }
  bool isOfKeys = rowAxis != kRow;
  auto takeStep = [&](std::optional<unsigned> coordinate, Number &stride) {
    if (!coordinate)
      return true;
    std::optional<Number> step = place.offset.coefficientOf(*coordinate);
    if (!step || !coordinatesIn(*step).empty())
      return refuse(access.op, Twine(what) + "'s addresses are not linear in "
                                             "the program's coordinates");
    stride = *step;
    place.offset = place.offset.replace(*coordinate, Number());
    return true;
  };
  if (!takeStep(placed.batch, place.strides[0]) ||
      !takeStep(isOfKeys && group ? group : placed.head, place.strides[1]))
    return false;
  if (!isOfAllPrograms(place.offset))
    return refuse(access.op, Twine(what) +
                                 "'s addresses depend on what is neither its "
                                 "batch, its head nor its row: " +
                                 print(place.offset));
  return true;
}

bool Placement::placeKeys(const Access &access, const KeyRange &range,
                          int columnAxis, const char *what,
                          TensorPlace &place) {
  if (access.extents.find(kSummed)->second != range.tile)
    return refuse(access.op, Twine(what) + " has other keys than the scores");
  Access fixed = access;
  if (range.loop) {
    unsigned counter = *range.counter.variable();
    std::optional<Number> moved = access.base.coefficientOf(counter);
    const Number &step = access.steps.find(kSummed)->second;
    if (moved != step)
      return refuse(access.op,
                    Twine(what) + " moves by " +
                        (moved ? print(*moved) : "what is not linear") +
                        " for each key of the loop, and from one key of a tile "
                        "to the next by " +
                        print(step) +
                        ": the axis that is summed over is not that of the "
                        "keys");
    fixed.base = access.base.replace(counter, Number());
  }
  return placeTensor(fixed, kSummed, columnAxis, what, place);
}

/// Requires that nothing of `least` rows or columns is outside of the limits of
/// `access`.
bool Placement::requireLimits(const Access &access, int axis,
                              const Number &least, const char *what) {
  auto limits = access.limits.find(axis);
  if (limits == access.limits.end())
    return true;
  for (Number limit : limits->second) {
    // A limit of a tile's places is one of rows: behind where the tile begins.
    if (axis == kRow && hasRow)
      limit = limit + Number(rowTile) * [&] {
        Number r;
        r.addTerm({row}, 1);
        return r;
      }();
    if (axis == kSummed)
      for (const KeyRange &range : ranges)
        if (range.loop && limit.contains(*range.counter.variable()))
          limit = limit + range.counter;
    std::optional<Number> bound = boundOf(limit - least, true);
    bool isKnown = bound && isOfAllPrograms(*bound);
    if (!isKnown)
      return refuse(access.op, Twine(what) +
                                   " is read up to a limit that "
                                   "depends on the program: " +
                                   print(limit));
    requireAtLeast(*bound + least, least);
  }
  return true;
}

bool Placement::placeTensors() {
  // Which of two coordinates is the head: the one that keys divide, else the
  // remainder, else the last.
  for (const Access &access : keys)
    for (unsigned n : coordinatesIn(access.base)) {
      const Variable &v = numbers.variable(n);
      bool divides = v.kind == Variable::Quotient &&
                     !llvm::is_contained(others, n) &&
                     llvm::is_contained(others, *v.operands[0].variable());
      if (divides) {
        placed.head = *v.operands[0].variable();
        group = n;
        groupSize = v.operands[1];
      }
    }
  for (unsigned n : others)
    if (!placed.head && numbers.variable(n).kind == Variable::Remainder)
      placed.head = n;
  if (!placed.head && !others.empty())
    placed.head = others.back();
  for (unsigned n : others)
    if (n != placed.head)
      placed.batch = n;
  auto contraction = [&](const Factor &f) {
    return f.axes[0] == kRow || f.axes[0] == kSummed ? f.axes[1] : f.axes[0];
  };
  if (!placeTensor(q, kRow, contraction(*scores.q), "Q", placed.q) ||
      !placeTensor(output, kRow, kColumn, "the output", placed.output))
    return false;
  if (lse) {
    placed.lse.emplace();
    if (!placeTensor(*lse, kRow, kOne, "the log-sum-exp", *placed.lse))
      return false;
  }
  for (auto [n, range] : llvm::enumerate(ranges)) {
    TensorPlace k, v;
    if (!placeKeys(keys[n], range, contraction(*scores.k), "K", k) ||
        !placeKeys(values[n], range, kColumn, "V", v))
      return false;
    auto differ = [](const TensorPlace &x, const TensorPlace &y) {
      return x.argument != y.argument || x.offset != y.offset ||
             !std::equal(x.strides, x.strides + 4, y.strides);
    };
    if (n && (differ(k, placed.k) || differ(v, placed.v)))
      return refuse(range.loop, "its keys or values are not those of the loop "
                                "before it");
    placed.k = k;
    placed.v = v;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Whether it is in all programs of all launches.
bool Placement::isSurelyAtLeastZero(Number number) {
  for (unsigned n : coordinatesIn(number)) {
    std::optional<Number> coefficient = number.coefficientOf(n);
    std::optional<int64_t> c =
        coefficient ? coefficient->constant() : std::nullopt;
    if (!c || *c < 0)
      return false;
    number = number.replace(n, Number());
  }
  return numbers.isNeverNegative(number);
}

/// Whether it is, or a launch can tell: then it is a precondition.
bool Placement::isAtLeastZero(const Number &number) {
  std::optional<Number> bound = boundOf(number, true);
  if (!bound || !isOfAllPrograms(*bound))
    return false;
  if (std::optional<int64_t> constant = bound->constant())
    return *constant >= 0;
  requireAtLeast(*bound, 0);
  return true;
}

/// Whether all keys of `range` that come before its end meet `condition`, which
/// is of queryNumber and keyNumber.
bool Placement::implies(const KeyRange &range, const Condition &condition) {
  if (condition.kind != Condition::AtLeastZero)
    return false;
  const Number &e = condition.number;
  auto ofKey = e.coefficientOf(*keyNumber.variable()),
       ofRow = e.coefficientOf(*queryNumber.variable());
  std::optional<int64_t> k = ofKey ? ofKey->constant() : std::nullopt,
                         r = ofRow ? ofRow->constant() : std::nullopt;
  if (!k || !r || *k > 0 || *r < 0)
    return false;
  Number first;
  if (hasRow)
    first.addTerm({row}, rowTile);
  Number least = e.replace(*queryNumber.variable(), first)
                     .replace(*keyNumber.variable(), range.ends[0] - 1);
  return isAtLeastZero(least);
}

/// A number that `first` is not above: without what rounds it down to a
/// multiple of a tile, and without a lower bound of 0.
Number Placement::dropRounding(const Number &first) const {
  if (first.terms().size() != 1 || first.terms().begin()->first.size() != 1)
    return first;
  auto [monomial, coefficient] = *first.terms().begin();
  const Variable &v = numbers.variable(monomial[0]);
  if (v.kind == Variable::Quotient && v.operands[1] == Number(coefficient) &&
      numbers.isNeverNegative(v.operands[0]))
    return dropRounding(v.operands[0]);
  if (v.kind == Variable::Greatest && coefficient == 1)
    for (unsigned n : {0u, 1u})
      if (v.operands[n].isZero())
        return v.operands[1 - n];
  return first;
}

/// Keys before the first one that is visited are masked in all rows of a tile.
bool Placement::coverStart(const KeyRange &range) {
  if (range.first.isZero())
    return true;
  Number first;
  if (hasRow)
    first.addTerm({row}, rowTile);
  Number begin = dropRounding(range.first);
  for (const Condition &condition : mask) {
    if (condition.kind != Condition::AtLeastZero)
      continue;
    const Number &e = condition.number;
    auto ofKey = e.coefficientOf(*keyNumber.variable()),
         ofRow = e.coefficientOf(*queryNumber.variable());
    if (!ofKey || !ofRow || ofKey->constant() != 1 ||
        ofRow->constant().value_or(1) > 0)
      continue;
    Number greatest = e.replace(*queryNumber.variable(), first)
                          .replace(*keyNumber.variable(), begin - 1);
    if (isSurelyAtLeastZero(Number(-1) - greatest))
      return true;
  }
  return refuse(range.loop, "its keys begin at " + print(range.first) +
                                ", and those before are not masked");
}

/// Keys from the end of the last range on are masked, and so is what its last
/// tile has of them; or they do not exist. Sets the number of keys.
bool Placement::coverEnd(const KeyRange &range) {
  Operation *at = placeOf(range.loop);
  // j < n, for n that all programs have in common: so many keys there are.
  for (const Condition &condition : mask) {
    if (condition.kind != Condition::AtLeastZero || hasKeyCount)
      continue;
    Number count = condition.number + keyNumber + 1;
    if (!count.contains(*keyNumber.variable()) &&
        !count.contains(*queryNumber.variable()) && isOfAllPrograms(count)) {
      keyCount = count;
      hasKeyCount = true;
    }
  }
  Number last;
  if (hasRow)
    last.addTerm({row}, rowTile);
  last = last + Number(rowTile - 1);
  for (const Number &end : range.ends) {
    bool isOfAll = isOfAllPrograms(end);
    if (isOfAll && hasKeyCount) {
      requireAtLeast(end, keyCount);
      continue;
    }
    if (isOfAll && range.ends.size() == 1) {
      keyCount = end;
      hasKeyCount = true;
      requireMultiple(end - range.first, Number(range.tile));
      continue;
    }
    // Of a minimum: what is behind the other end is masked.
    bool isMasked = llvm::any_of(mask, [&](const Condition &condition) {
      if (condition.kind != Condition::AtLeastZero)
        return false;
      const Number &e = condition.number;
      auto ofKey = e.coefficientOf(*keyNumber.variable()),
           ofRow = e.coefficientOf(*queryNumber.variable());
      if (!ofKey || !ofRow || ofKey->constant() != -1 ||
          ofRow->constant().value_or(-1) < 0)
        return false;
      Number greatest = e.replace(*queryNumber.variable(), last)
                            .replace(*keyNumber.variable(), end);
      if (!isSurelyAtLeastZero(Number(-1) - greatest))
        return false;
      // Then there are as many as the last row sees.
      Number seen = e.replace(*queryNumber.variable(), queryCount - 1)
                        .replace(*keyNumber.variable(), Number()) +
                    1;
      if (!hasKeyCount && coordinatesIn(seen).empty()) {
        keyCount = seen;
        hasKeyCount = true;
      }
      return true;
    });
    if (!isMasked)
      return refuse(at, "its keys end at " + print(end) +
                            ", and those behind are not masked");
  }
  if (!hasKeyCount)
    return refuse(at, "how many keys there are is not known");
  return true;
}

/// `number` with the numbers of rows and keys for places in tiles.
Number Placement::moveToTensor(const Number &number, const KeyRange &range) {
  Number first;
  if (hasRow)
    first.addTerm({row}, rowTile);
  return number.replace(*numbers.place(kRow).variable(), queryNumber - first)
      .replace(*numbers.place(kSummed).variable(), keyNumber - range.counter);
}

/// Whether it is of rows, keys, batches, heads and what a launch gives.
bool Placement::isOfTensor(const Number &number) const {
  for (const auto &[monomial, coefficient] : number.terms())
    for (unsigned n : monomial) {
      Variable::Kind kind = numbers.variable(n).kind;
      bool isKnown = kind == Variable::Place || kind == Variable::Scalar ||
                     kind == Variable::Grid || n == placed.head ||
                     n == placed.batch;
      if (!isKnown || (hasRow && n == row))
        return false;
    }
  return true;
}

bool Placement::coverKeys() {
  for (KeyRange &range : ranges)
    for (Condition &condition : range.mask) {
      bool good = true;
      condition.forEachNumber([&](Number &number) {
        number = moveToTensor(number, range);
        good &= isOfTensor(number);
      });
      if (!good) {
        std::string text;
        condition.forEachNumber([&](Number &number) {
          text += (text.empty() ? "" : ", ") + print(number) + " >= 0";
        });
        return refuse(
            placeOf(range.loop),
            "its mask is not one of the numbers of a row and a key: " + text);
      }
    }
  mask = ranges.back().mask;
  if (!coverStart(ranges.front()))
    return false;
  for (auto [n, range] : llvm::enumerate(ranges)) {
    if (n + 1 == ranges.size())
      continue;
    const KeyRange &next = ranges[n + 1];
    if (range.ends.size() != 1 || range.ends[0] != next.first)
      return refuse(next.loop, "it does not begin at the key where the loop "
                               "before it ends, " +
                                   print(range.ends[0]) + ", but at " +
                                   print(next.first));
    Number length = range.ends[0] - range.first;
    bool isOfAll = isOfAllPrograms(length);
    if (!length.divideBy(range.tile) && !isOfAll)
      return refuse(range.loop, "keys count twice: its " + print(length) +
                                    " keys are not known to be a multiple of "
                                    "the " +
                                    std::to_string(range.tile) + " of a tile");
    requireMultiple(length, Number(range.tile));
    for (const Condition &condition : range.mask)
      if (!llvm::is_contained(mask, condition))
        return refuse(range.loop, "its mask is not one of the last loop, too");
    for (const Condition &condition : mask)
      if (!llvm::is_contained(range.mask, condition) &&
          !implies(range, condition))
        return refuse(range.loop, "it does not mask what the last loop does, "
                                  "and its keys are not known to pass");
  }
  return coverEnd(ranges.back());
}

/// Drops what the sizes of the tensors say.
bool Placement::finishMask() {
  for (const Condition &condition : mask) {
    if (condition.kind == Condition::AtLeastZero) {
      if (condition.number == keyCount - keyNumber - 1 ||
          condition.number == queryCount - queryNumber - 1)
        continue;
    }
    placed.mask.push_back(condition);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool Placement::placeElement(const Access &access, ElementPlace &place) {
  place.op = access.op;
  place.argument = access.argument;
  place.element = access.element;
  place.offset = access.base;
  const char *what = "what its scores read beside Q and K";
  const KeyRange &range = ranges.back();
  // Its steps along a tile and from one tile to the next are the same.
  for (auto [axis, step] : access.steps) {
    Number further = axis == kRow ? Number(rowTile) * step : step;
    std::optional<unsigned> tile =
        axis == kRow ? (hasRow ? std::optional(row) : std::nullopt)
        : range.loop ? range.counter.variable()
                     : std::nullopt;
    if (!tile)
      continue;
    if (place.offset.coefficientOf(*tile) != further)
      return refuse(access.op,
                    Twine(what) + " does not move with its rows and keys");
    place.offset = place.offset.replace(*tile, Number());
  }
  auto add = [&](unsigned coordinate, const Number &size, const Number &step) {
    if (step.isZero())
      return;
    place.coordinates.push_back(coordinate);
    place.sizes.push_back(size);
    place.strides.push_back(step);
  };
  std::optional<unsigned> outer[] = {placed.batch, placed.head};
  for (unsigned c : {0u, 1u}) {
    if (!outer[c])
      continue;
    std::optional<Number> step = place.offset.coefficientOf(*outer[c]);
    if (!step || !isOfAllPrograms(*step))
      return refuse(access.op,
                    Twine(what) + " is not linear in batches and heads");
    add(c, extents[*outer[c]], *step);
    place.offset = place.offset.replace(*outer[c], Number());
  }
  for (auto [axis, coordinate] : {std::pair<int, unsigned>(kRow, 2),
                                  std::pair<int, unsigned>(kSummed, 3)})
    if (auto step = access.steps.find(axis); step != access.steps.end()) {
      const Number &count = axis == kRow ? queryCount : keyCount;
      if (!requireLimits(access, axis, count, what))
        return false;
      add(coordinate, count, step->second);
    }
  if (!isOfAllPrograms(place.offset))
    return refuse(access.op, Twine(what) +
                                 " depends on what is neither its "
                                 "batch, its head, its row nor its "
                                 "key: " +
                                 print(place.offset));
  if (place.coordinates.empty())
    return refuse(access.op, Twine(what) + " is one number for all");
  return true;
}

bool Placement::placeElements() {
  for (auto &[factor, access] : elements) {
    ElementPlace place;
    if (!placeElement(access, place))
      return false;
    placed.scoreElements[factor] = place;
  }
  for (auto &[factor, number] : placed.scoreNumbers) {
    number = moveToTensor(number, ranges.back());
    if (!isOfTensor(number))
      return refuse(placeOf(ranges.back().loop),
                    "its scores depend on what is neither a row nor a key: " +
                        print(number));
  }
  if (!sink)
    return true;
  placed.sink.emplace();
  if (!placeElement(*sink, *placed.sink))
    return false;
  if (placed.sink->coordinates != std::vector<unsigned>{1} ||
      !placed.sink->element.isF32())
    return refuse(sink->op, "what its sum begins with is no number of f32 for "
                            "each head");
  return true;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

bool Placement::run() {
  if (!readStages())
    return false;
  splitPrograms();
  if (!findCoordinates() || !placeTensors())
    return false;
  // Rows of which something is stored.
  Number rowVariable;
  if (hasRow)
    rowVariable.addTerm({row}, 1);
  Number begun = hasRow ? extents[row] * Number(rowTile) : Number(rowTile);
  queryCount = begun;
  for (const Number &limit : output.limits[kRow]) {
    Number count = limit + rowVariable * Number(rowTile);
    if (!isOfAllPrograms(count))
      continue;
    queryCount = count;
    requireAtLeast(begun, count);
    break;
  }
  if (!coverKeys())
    return false;
  requireAtLeast(queryCount, 1);
  requireAtLeast(keyCount, 1);
  if (!requireLimits(q, kRow, queryCount, "Q") ||
      !requireLimits(output, kRow, queryCount, "the output") ||
      (lse && !requireLimits(*lse, kRow, queryCount, "the log-sum-exp")))
    return false;
  auto requireColumns = [&](const Access &access, const char *what) {
    for (auto [axis, extent] : access.extents)
      if (axis != kRow && axis != kSummed &&
          !requireLimits(access, axis, Number(extent), what))
        return false;
    return true;
  };
  if (!requireColumns(q, "Q") || !requireColumns(output, "the output"))
    return false;
  for (auto [k, v] : llvm::zip_equal(keys, values))
    if (!requireLimits(k, kSummed, keyCount, "K") ||
        !requireLimits(v, kSummed, keyCount, "V") || !requireColumns(k, "K") ||
        !requireColumns(v, "V"))
      return false;
  if (!finishMask())
    return false;
  auto extentOr1 = [&](std::optional<unsigned> n) {
    return n ? extents[*n] : Number(1);
  };
  Number batches = extentOr1(placed.batch), heads = extentOr1(placed.head);
  Number keyHeads = heads;
  if (group) {
    requireMultiple(heads, groupSize);
    requireAtLeast(groupSize, 1);
    std::optional<int64_t> x = heads.constant(), y = groupSize.constant();
    keyHeads = Number();
    if (x && y)
      keyHeads = *x / *y;
    else
      keyHeads.addTerm(
          {numbers.intern({Variable::Quotient, 0, {heads, groupSize}})}, 1);
  } else if (placed.head && placed.k.strides[1].isZero() &&
             placed.v.strides[1].isZero()) {
    keyHeads = 1;
  }
  auto setSizes = [&](TensorPlace &place, const Number &h, const Number &rows) {
    place.sizes[0] = batches;
    place.sizes[1] = h;
    place.sizes[2] = rows;
    place.sizes[3] = place.columns;
    // What is there once has the steps of a whole tensor.
    if (h == Number(1) && place.strides[1].isZero())
      place.strides[1] = place.strides[2] * rows;
    if (batches == Number(1) && place.strides[0].isZero())
      place.strides[0] = place.strides[1] * h;
  };
  setSizes(placed.q, heads, queryCount);
  setSizes(placed.output, heads, queryCount);
  if (placed.lse)
    setSizes(*placed.lse, heads, queryCount);
  setSizes(placed.k, keyHeads, keyCount);
  setSizes(placed.v, keyHeads, keyCount);
  for (const TensorPlace *place : {&placed.k, &placed.v})
    if (placed.batch && place->strides[0].isZero())
      return refuse(place->op, "all batches have the same keys");
  if (placed.q.element != placed.k.element ||
      placed.q.element != placed.v.element)
    return refuse(placed.k.op, "Q, K and V have different types");
  placed.scores = scores;
  return placeElements();
}

/// What the dot of a stage with V has: whether P is not rounded to its type,
/// and whether one of the dots may round operands.
static void findPrecision(const ProvenLoops &proven, PlacedAttention &placed) {
  bool isTf32 = true, isWide = false;
  for (const Stage &stage : proven.stages)
    for (auto dot : stage.block->getOps<tile::DotOp>()) {
      auto type = cast<RankedTensorType>(dot.getA().getType());
      isTf32 &= dot.isTf32();
      Value b = dot.getB();
      while (b != stage.value && b.getDefiningOp() &&
             b.getDefiningOp()->getNumOperands() == 1)
        b = b.getDefiningOp()->getOperand(0);
      isWide |= b == stage.value && type.getElementType().isF32() &&
                !placed.v.element.isF32();
    }
  placed.isTf32 = isTf32;
  placed.isWide = isWide;
}

std::optional<PlacedAttention>
fa::raise::placeAttention(const ProvenLoops &proven, ExponentialSums &sums,
                          const TileReader &reader, LaunchNumbers &numbers,
                          tile::KernelOp kernel, Refusal &refusal) {
  Placement placement(proven, sums, numbers, kernel, refusal);
  if (!placement.run())
    return std::nullopt;
  PlacedAttention &placed = placement.placed;
  placed.lseBase = proven.lseBase;
  placed.form = proven.form;
  placed.finiteMask = reader.finiteMask();
  for (Value value : reader.positives()) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &kernel.getBody().front() ||
        !value.getType().isF32()) {
      refusal = {proven.output, "its mask is multiplied by a number that is no "
                                "argument of f32"};
      return std::nullopt;
    }
    placed.positiveArguments.push_back(argument.getArgNumber());
  }
  findPrecision(proven, placed);
  return placed;
}
