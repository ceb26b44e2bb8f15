//===- PlaceTensors.cpp - tensors by their coordinates --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

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
  if (access.page) {
    // The first dimension is that of pages.
    if (placed.batch && access.base.contains(*placed.batch))
      return refuse(access.op,
                    Twine(what) + " lies in pages, and " +
                        print(LaunchNumbers::variableAsNumber(*placed.batch)) +
                        ", by which their numbers are looked up, says where in "
                        "a page, too");
    place.strides[0] = access.pageStep;
  }
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
  if ((!access.page && !takeStep(placed.batch, place.strides[0])) ||
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
  if (range.loop && !access.page) {
    unsigned counter = *range.variable;
    std::optional<Number> moved = access.base.coefficientOf(counter);
    const Number &step = access.steps.find(kSummed)->second;
    if (moved != step * range.keysOfOne)
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
        if (range.loop && limit.contains(*range.variable))
          limit = limit + range.counter;
    // What is behind the limit is masked.
    Condition isBefore{Condition::AtLeastZero, limit - keyNumber - 1, {}};
    if (axis == kSummed && llvm::is_contained(mask, isBefore))
      continue;
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
        placed.head = v.operands[0].variable();
        group = n;
        groupSize = v.operands[1];
      }
    }
  // A sequence, by which lengths and pages are read, is no head.
  std::optional<unsigned> sequence = findSequence();
  for (unsigned n : others)
    if (!placed.head && n != sequence &&
        numbers.variable(n).kind == Variable::Remainder)
      placed.head = n;
  for (unsigned n : llvm::reverse(others))
    if (!placed.head && n != sequence)
      placed.head = n;
  for (unsigned n : others)
    if (n != placed.head)
      placed.batch = n;
  auto contraction = [&](const Factor &f) {
    bool isSecond =
        f.axes.size() > 1 && (f.axes[0] == kRow || f.axes[0] == kSummed);
    return f.axes[isSecond];
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
  return placePages();
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
  for (const auto &[axis, step] : access.steps) {
    Number further = step * (axis == kRow ? rowTile : range.keysOfOne);
    std::optional<unsigned> tile =
        axis == kRow ? (hasRow ? std::optional(row) : std::nullopt)
                     : range.variable;
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
      if (axis == kSummed && placed.table)
        return refuse(access.op, "its keys lie in pages, and its scores read "
                                 "a number for each key from elsewhere");
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
