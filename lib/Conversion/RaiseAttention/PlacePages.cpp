//===- PlacePages.cpp - keys in pages, and keys of each sequence ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With P keys in a page, key j = counter + i is in slot r of page u of its
// sequence, for j = P · u + r. Addresses are written in u and r, whichever way
// the kernel has computed these: as a quotient and a remainder of the key, or,
// where a tile does not cross a page, of its first key.
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// Sets how many keys a page has: what numbers of keys are divided by where the
/// number of the page is looked up, at `index`.
bool Placement::readPageSize(const Number &index, const KeyRange &range,
                             const Access &access, const char *what) {
  unsigned place = *numbers.place(kSummed).variable();
  std::optional<Number> size;
  bool areSame = true;
  numbers.mentions(index, [&](unsigned n) {
    const Variable &v = numbers.variable(n);
    if (v.kind == Variable::Quotient &&
        numbers.mentions(v.operands[0], [&](unsigned m) {
          return m == place || m == range.variable;
        })) {
      areSame &= !size || *size == v.operands[1];
      size = v.operands[1];
    }
    return false;
  });
  // A page for each key, or for each step of a loop over pages.
  if (!size)
    size = Number(index.contains(place) ? 1 : range.keysOfOne);
  if (!areSame || !isOfAllPrograms(*size) ||
      (!pageSize.isZero() && pageSize != *size))
    return refuse(access.op, Twine(what) +
                                 " lies in pages, and how many keys a page has "
                                 "is not one number: " +
                                 print(pageSize.isZero() ? index : *size));
  pageSize = *size;
  return true;
}

/// `number` by pages and slots; what has none stays. Sets `isOfWholeTiles` if
/// this is so because no tile crosses a page.
Number Placement::rewriteByPages(const Number &number, const KeyRange &range,
                                 bool &isOfWholeTiles) {
  Number page = numbers.place(kPageNumber), slot = numbers.place(kSlotNumber),
         place = numbers.place(kSummed);
  const Number key = range.counter + place;
  const Number keyByPages = pageSize * page + slot;
  std::optional<int64_t> size = pageSize.constant();
  // Tiles begin at multiples of their size.
  bool isAligned =
      range.first.divideBy(range.tile) && numbers.isNeverNegative(range.first);
  bool isPage = isAligned && size == range.tile;
  bool isWithin = isAligned && (!size || *size % range.tile == 0);
  bool isOfKeys = numbers.isNeverNegative(range.first);
  return numbers.rewrite(number, [&](unsigned n) -> std::optional<Number> {
    // A copy: more variables may come.
    const Variable v = numbers.variable(n);
    bool isQuotient = v.kind == Variable::Quotient;
    if ((isQuotient || v.kind == Variable::Remainder) &&
        v.operands[1] == pageSize) {
      if (v.operands[0] == key && isOfKeys)
        return isQuotient ? page : slot;
      if (v.operands[0] == range.counter && isWithin) {
        isOfWholeTiles = true;
        return isQuotient ? page : slot - place;
      }
    }
    if (isPage && n == place.variable())
      return slot;
    if (n != range.variable)
      return std::nullopt;
    if (isPage && range.keysOfOne == size)
      return page;
    if (range.keysOfOne != 1)
      return std::nullopt;
    if (size == 1)
      return page - place;
    return isPage ? pageSize * page : keyByPages - place;
  });
}

/// Keys of `access` whose addresses have an element of an argument at the key
/// lie in pages.
bool Placement::readPages(Access &access, const KeyRange &range,
                          const char *what) {
  unsigned place = *numbers.place(kSummed).variable();
  std::optional<unsigned> table;
  bool isOne = true;
  for (const auto &[monomial, coefficient] : access.base.terms())
    for (unsigned n : monomial) {
      const Variable &v = numbers.variable(n);
      if (v.kind != Variable::Element ||
          !numbers.mentions(v.operands[0], [&](unsigned m) {
            return m == place || m == range.variable;
          }))
        continue;
      isOne &= !table || *table == n;
      table = n;
    }
  if (!table)
    return true;
  std::optional<Number> step = access.base.coefficientOf(*table);
  if (!isOne || !step || !isOfAllPrograms(*step))
    return refuse(access.op, Twine(what) +
                                 " lies in pages whose numbers are "
                                 "not one element of a table: " +
                                 print(access.base));
  // A copy: more variables may come.
  const Variable element = numbers.variable(*table);
  if (!readPageSize(element.operands[0], range, access, what))
    return false;
  for (const Number &condition : ArrayRef(element.operands).drop_front())
    loadConditions.push_back({unsigned(ranges.size()), condition});
  bool isOfWholeTiles = false;
  Number index = rewriteByPages(element.operands[0], range, isOfWholeTiles);
  Number within = access.base.replace(*table, Number()) +
                  access.steps[kSummed] * numbers.place(kSummed);
  Number moved = rewriteByPages(within, range, isOfWholeTiles);
  unsigned page = *numbers.place(kPageNumber).variable(),
           slot = *numbers.place(kSlotNumber).variable();
  auto dependsOnKeys = [&](const Number &number) {
    return numbers.mentions(number, [&](unsigned n) {
      return n == place || n == range.variable || n == page || n == slot;
    });
  };
  std::string size = print(pageSize);
  std::optional<Number> pageInTable = index.coefficientOf(page),
                        slotInPage = moved.coefficientOf(slot);
  if (!pageInTable || dependsOnKeys(*pageInTable) ||
      dependsOnKeys(index.replace(page, Number())))
    return refuse(access.op, Twine(what) + " lies in pages of " + size +
                                 " keys, and its page is not that of key / " +
                                 size + ": argument " + Twine(element.number) +
                                 "[" + print(index) + "]");
  if (!slotInPage || dependsOnKeys(*slotInPage) ||
      dependsOnKeys(moved.replace(slot, Number())))
    return refuse(access.op, Twine(what) + " lies in pages of " + size +
                                 " keys, and its place in a page is not that "
                                 "of key % " +
                                 size + ": " + print(moved));
  if (isOfWholeTiles)
    requireMultiple(pageSize, range.tile);
  requireAtLeast(pageSize, 1);
  access.base = moved.replace(slot, Number());
  access.steps[kSummed] = *slotInPage;
  access.page = numbers.intern({Variable::Element, element.number, {index}});
  access.pageStep = *step;
  return true;
}

/// Where the table of keys and values in pages is.
bool Placement::placePages() {
  const Access &k = keys.front();
  for (auto [n, range] : llvm::enumerate(ranges))
    for (auto [access, what] :
         {std::pair(&keys[n], "K"), std::pair(&values[n], "V")})
      if (access->page != k.page)
        return refuse(access->op,
                      k.page && access->page
                          ? "K and V lie in different pages: " +
                                print(numbers.variableAsNumber(*k.page)) +
                                " and " +
                                print(numbers.variableAsNumber(*access->page))
                          : Twine("of K and V one lies in pages, and the other "
                                  "does not")
                                .str());
  if (!k.page)
    return true;
  const Variable element = numbers.variable(*k.page);
  PageTable table;
  table.page = pageSize;
  ElementPlace &rows = table.rows;
  rows.op = k.op;
  rows.argument = element.number;
  rows.element = elementOf(element.number);
  if (!rows.element.isInteger(32))
    return refuse(k.op, "its table of pages, argument " +
                            Twine(element.number) + ", has numbers of " +
                            print(rows.element) + ", where i32 is expected");
  unsigned page = *numbers.place(kPageNumber).variable();
  rows.coordinates = {0, 3};
  rows.strides = {Number(1), *element.operands[0].coefficientOf(page)};
  rows.sizes = {Number(1), numbers.open(kOpenTable)};
  rows.offset = element.operands[0].replace(page, Number());
  if (placed.batch) {
    rows.sizes[0] = extents[*placed.batch];
    rows.strides[0] =
        rows.offset.coefficientOf(*placed.batch).value_or(Number());
    rows.offset = rows.offset.replace(*placed.batch, Number());
  }
  if (!isOfAllPrograms(rows.offset) || !isOfAllPrograms(rows.strides[0]) ||
      !isOfAllPrograms(rows.strides[1]))
    return refuse(k.op, "its table of pages has no row for each batch: " +
                            print(numbers.variableAsNumber(*k.page)));
  if (rows.strides[0].isZero())
    return refuse(k.op, "all batches have the same keys");
  placed.table = std::move(table);
  return true;
}

/// Wherever a key passes the mask, the number of its page has been read.
bool Placement::checkLoads() {
  for (const auto &[n, condition] : loadConditions) {
    Condition needed{
        Condition::AtLeastZero, moveToTensor(condition, ranges[n]), {}};
    if (!llvm::is_contained(mask, needed) &&
        !numbers.isNeverNegative(needed.number))
      return refuse(keys[n].op, "the number of its page is not read where a "
                                "key passes the mask, but where " +
                                    print(needed.number) + " >= 0");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Numbers of sequences
//===----------------------------------------------------------------------===//

/// The coordinate by which tables of pages are read or, without these, what the
/// masks compare keys with.
std::optional<unsigned> Placement::findSequence() const {
  std::optional<unsigned> found;
  auto visit = [&](unsigned n) {
    const Variable &v = numbers.variable(n);
    if (v.kind == Variable::Element)
      for (unsigned m : coordinatesIn(v.operands[0]))
        if (!found && llvm::is_contained(others, m))
          found = m;
    return false;
  };
  for (const Access &access : keys)
    if (access.page)
      visit(*access.page);
  for (const KeyRange &range : ranges)
    for (Condition condition : range.mask)
      condition.forEachNumber(
          [&](Number &number) { numbers.mentions(number, visit); });
  return found;
}

std::optional<ElementPlace>
Placement::placeSequenceNumber(unsigned variable) const {
  const Variable &v = numbers.variable(variable);
  if (v.kind != Variable::Element || v.operands.size() != 1)
    return std::nullopt;
  ElementPlace place;
  place.argument = v.number;
  place.element = elementOf(v.number);
  place.coordinates = {0};
  place.sizes = {Number(1)};
  place.strides = {Number(1)};
  place.offset = v.operands[0];
  if (placed.batch) {
    std::optional<Number> step = place.offset.coefficientOf(*placed.batch);
    auto extent = extents.find(*placed.batch);
    if (!step || extent == extents.end())
      return std::nullopt;
    place.sizes = {extent->second};
    place.strides = {*step};
    place.offset = place.offset.replace(*placed.batch, Number());
  }
  bool isLong = place.element.isInteger(64);
  if ((!place.element.isInteger(32) && !isLong) ||
      !isOfAllPrograms(place.offset) || !isOfAllPrograms(place.strides[0]))
    return std::nullopt;
  return place;
}

std::optional<Number> Placement::lengthsOf(const Condition &condition) const {
  if (condition.kind != Condition::AtLeastZero)
    return std::nullopt;
  Number count = condition.number + keyNumber + 1;
  bool isOfMemory = numbers.mentions(
      count, [&](unsigned n) { return placeSequenceNumber(n).has_value(); });
  bool isOfBatch = !count.contains(*keyNumber.variable()) &&
                   !count.contains(*queryNumber.variable());
  return isOfMemory && isOfBatch ? std::optional(count) : std::nullopt;
}

void Placement::placeSequenceNumbers() {
  auto visit = [&](unsigned n) {
    if (std::optional<ElementPlace> place = placeSequenceNumber(n))
      placed.sequenceNumbers[n] = *place;
    return false;
  };
  for (Condition &condition : placed.mask)
    condition.forEachNumber(
        [&](Number &number) { numbers.mentions(number, visit); });
  for (auto &[factor, number] : placed.scoreNumbers)
    numbers.mentions(number, visit);
}
