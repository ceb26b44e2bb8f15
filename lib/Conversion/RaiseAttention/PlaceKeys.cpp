//===- PlaceKeys.cpp - which keys are visited -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

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
  // It is at most each of these; c · (x ÷ c) is at most x, or else at most 0:
  // then there are no keys.
  return llvm::any_of(range.ends, [&](Number end) {
    if (numbers.isNeverNegative(range.first) && end.terms().size() == 1) {
      auto [monomial, coefficient] = *end.terms().begin();
      const Variable *only =
          monomial.size() == 1 ? &numbers.variable(monomial[0]) : nullptr;
      if (only && only->kind == Variable::Quotient && coefficient > 0 &&
          only->operands[1] == Number(coefficient))
        end = only->operands[0];
    }
    return isAtLeastZero(e.replace(*queryNumber.variable(), first)
                             .replace(*keyNumber.variable(), end - 1));
  });
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

/// A number that `end` is not below: without what rounds it up to a multiple of
/// a tile.
Number Placement::leastOf(const Number &end) const {
  Number result;
  for (const auto &[monomial, coefficient] : end.terms()) {
    const Variable *only =
        monomial.size() == 1 ? &numbers.variable(monomial[0]) : nullptr;
    // c · (x ÷ c) is at least x - (c - 1).
    if (only && only->kind == Variable::Quotient && coefficient > 0 &&
        only->operands[1] == Number(coefficient))
      result = result + only->operands[0] - Number(coefficient - 1);
    else
      result.addTerm(monomial, coefficient);
  }
  return result;
}

/// Keys in pages end where the length of their sequence says; there is room for
/// as many as the table's rows name.
bool Placement::endPages() {
  Operation *at = keys.front().op;
  if (!placed.keyLengths)
    return refuse(at, "its keys lie in pages, and the mask does not end them "
                      "at an element of an argument for each batch");
  std::optional<unsigned> lengths = placed.keyLengths->variable();
  Type type = lengths ? elementOf(numbers.variable(*lengths).number) : Type();
  if (!type || !type.isInteger(32))
    return refuse(at, "its keys lie in pages and end at " +
                          print(*placed.keyLengths) +
                          (type ? " of " + print(type) : std::string()) +
                          ", where an i32 in memory is expected");
  Condition ends{Condition::AtLeastZero, keyCount - keyNumber - 1, {}};
  if (hasKeyCount && !llvm::is_contained(mask, ends))
    mask.push_back(ends);
  keyCount = numbers.open(kOpenTable) * pageSize;
  hasKeyCount = true;
  return true;
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
  for (const Condition &condition : mask)
    if (std::optional<Number> count = lengthsOf(condition);
        count && !placed.keyLengths)
      placed.keyLengths = count;
  for (const Number &end : range.ends) {
    bool isOfAll = isOfAllPrograms(end);
    if (isOfAll && hasKeyCount) {
      if (!isSurelyAtLeastZero(leastOf(end) - keyCount))
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
                            .replace(*keyNumber.variable(), leastOf(end));
      if (!isSurelyAtLeastZero(Number(-1) - greatest))
        return false;
      // Then there are as many as the last row sees.
      Number seen = e.replace(*queryNumber.variable(), queryCount - 1)
                        .replace(*keyNumber.variable(), Number()) +
                    1;
      if (!hasKeyCount && isOfAllPrograms(seen)) {
        keyCount = seen;
        hasKeyCount = true;
      }
      return true;
    });
    if (isMasked)
      continue;
    if (!isOfAll || hasKeyCount)
      return refuse(at, "its keys end at " + print(end) +
                            ", and those behind are not masked");
    // Another end is masked; of this one no tile goes beyond it.
    keyCount = end;
    hasKeyCount = true;
    requireMultiple(end - range.first, Number(range.tile));
  }
  if (!pageSize.isZero())
    return endPages();
  if (!hasKeyCount && placed.keyLengths) {
    keyCount = numbers.open(kOpenKeys);
    hasKeyCount = true;
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
                     n == placed.batch || placeSequenceNumber(n);
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
    if (range.end != next.first)
      return refuse(next.loop, "it does not begin at the key where the loop "
                               "before it ends, " +
                                   print(range.end) + ", but at " +
                                   print(next.first));
    Number length = range.end - range.first;
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
  return coverEnd(ranges.back()) && checkLoads();
}

/// Whether all rows pass `condition`, which is of programs and of no key, or a
/// launch can tell: then it is a precondition.
bool Placement::passesAllRows(const Condition &condition) {
  const Number &e = condition.number;
  std::optional<Number> ofRow = e.coefficientOf(*queryNumber.variable());
  std::optional<int64_t> c = ofRow ? ofRow->constant() : std::nullopt;
  if (!c || e.contains(*keyNumber.variable()) || coordinatesIn(e).empty())
    return false;
  return isAtLeastZero(
      e.replace(*queryNumber.variable(), *c < 0 ? queryCount - 1 : Number()));
}

/// Drops what the sizes of the tensors say, and what a launch is asked for.
bool Placement::finishMask() {
  for (const Condition &condition : mask) {
    if (condition.kind == Condition::AtLeastZero) {
      if (condition.number == keyCount - keyNumber - 1 ||
          condition.number == queryCount - queryNumber - 1 ||
          numbers.isNeverNegative(condition.number) || passesAllRows(condition))
        continue;
    }
    placed.mask.push_back(condition);
  }
  return true;
}
