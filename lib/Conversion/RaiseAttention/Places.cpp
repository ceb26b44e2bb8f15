//===- Places.cpp - where Q, K, V and the output are ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

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
  if (isOfAllLaunches(keyCount))
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
      place.strides[1] =
          place.strides[2] * (isOfAllLaunches(rows) ? rows : Number(1));
    if (batches == Number(1) && place.strides[0].isZero())
      place.strides[0] = place.strides[1] * h;
  };
  setSizes(placed.q, heads, queryCount);
  setSizes(placed.output, heads, queryCount);
  if (placed.lse)
    setSizes(*placed.lse, heads, queryCount);
  for (TensorPlace *place : {&placed.k, &placed.v}) {
    setSizes(*place, keyHeads, placed.table ? pageSize : keyCount);
    if (placed.table)
      place->sizes[0] = numbers.open(kOpenKeys);
    if (placed.batch && place->strides[0].isZero())
      return refuse(place->op, "all batches have the same keys");
  }
  if (placed.q.element != placed.k.element ||
      placed.q.element != placed.v.element)
    return refuse(placed.k.op, "Q, K and V have different types");
  placed.scores = scores;
  placed.keyNumber = *keyNumber.variable();
  readAssertions();
  if (!placeElements())
    return false;
  placeSequenceNumbers();
  return true;
}

/// What the dot of a stage with V has: whether P is not rounded to its type,
/// and whether one of the dots may round operands.
static void findPrecision(const ProvenLoops &proven, PlacedAttention &placed) {
  bool isTf32 = !proven.isOneRow, isWide = false;
  // Products that are added up are of f32 where V is widened.
  if (proven.isOneRow)
    for (const Stage &stage : proven.stages)
      isWide |= llvm::any_of(Value(stage.value).getUsers(),
                             llvm::IsaPred<arith::ExtFOp>);
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
  if (reader.hasScaledFiniteMask()) {
    refusal = {proven.output, "a finite number that masks is multiplied by "
                              "what may make it none"};
    return std::nullopt;
  }
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
