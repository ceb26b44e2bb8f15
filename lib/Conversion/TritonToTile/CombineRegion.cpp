//===- CombineRegion.cpp - how two elements become one --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of one tile the region is one operation of the two, or chooses one; of values
// with their indices it chooses one of two pairs, as tl.argmax does. What it
// chooses depends on how the values compare, and the indices, and on nothing
// else: for each way they may the region is evaluated, however it is written.
//
//===----------------------------------------------------------------------===//

#include "CombineRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

namespace {
/// The region of a reduction of values, perhaps with their indices, where the
/// first of two values, and the first of their indices, is below (-1), equal to
/// (0) or above (1) the other one. What it does with a NaN is not asked.
class Choice {
public:
  Choice(Block &block, int values, int indices)
      : block(block), second(block.getNumArguments() / 2), values(values),
        indices(indices) {}

  /// Which of two values is chosen, 0 or 1; none: something else happens.
  std::optional<unsigned> findValue() const {
    return pick(block.getTerminator()->getOperand(0), 0);
  }

  /// Which of two pairs is chosen, 0 or 1; none: something else happens. Of
  /// equal values either is the value.
  std::optional<unsigned> find() const {
    Operation *ret = block.getTerminator();
    auto value = pick(ret->getOperand(0), 0),
         index = pick(ret->getOperand(1), 1);
    return value && index && (*value == *index || values == 0) ? index
                                                               : std::nullopt;
  }

private:
  /// Which argument `result` is, of the two values (`which` is 0) or indices.
  std::optional<unsigned> pick(Value result, unsigned which) const {
    if (result == block.getArgument(which))
      return 0;
    if (result == block.getArgument(second + which))
      return 1;
    auto select = result.getDefiningOp<arith::SelectOp>();
    std::optional<bool> condition =
        select ? evaluate(select.getCondition()) : std::nullopt;
    if (!condition)
      return std::nullopt;
    return pick(*condition ? select.getTrueValue() : select.getFalseValue(),
                which);
  }

  /// How `x` compares with `y`: two values or two indices.
  std::optional<int> compare(Value x, Value y) const {
    if (x == y)
      return 0;
    for (auto [which, order] :
         {std::pair(0u, values), std::pair(1u, indices)}) {
      if (which == second)
        break;
      Value one = block.getArgument(which),
            other = block.getArgument(second + which);
      if (x == one && y == other)
        return order;
      if (x == other && y == one)
        return -order;
    }
    return std::nullopt;
  }

  std::optional<bool> evaluate(Value condition) const {
    if (matchPattern(condition, m_One()))
      return true;
    if (matchPattern(condition, m_Zero()))
      return false;
    Operation *op = condition.getDefiningOp();
    if (auto number = dyn_cast_or_null<arith::CmpFOp>(op)) {
      auto order = compare(number.getLhs(), number.getRhs());
      return order ? holds(number.getPredicate(), *order) : std::nullopt;
    }
    if (auto number = dyn_cast_or_null<arith::CmpIOp>(op)) {
      auto order = compare(number.getLhs(), number.getRhs());
      return order ? holds(number.getPredicate(), *order) : std::nullopt;
    }
    if (!isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
      return std::nullopt;
    auto x = evaluate(op->getOperand(0)), y = evaluate(op->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    return isa<arith::AndIOp>(op)  ? *x && *y
           : isa<arith::OrIOp>(op) ? *x || *y
                                   : *x != *y;
  }

  /// Of numbers; what a NaN does is not said.
  static std::optional<bool> holds(arith::CmpFPredicate predicate, int order) {
    using enum arith::CmpFPredicate;
    switch (predicate) {
    case OEQ:
    case UEQ:
      return order == 0;
    case ONE:
    case UNE:
      return order != 0;
    case OGT:
    case UGT:
      return order > 0;
    case OGE:
    case UGE:
      return order >= 0;
    case OLT:
    case ULT:
      return order < 0;
    case OLE:
    case ULE:
      return order <= 0;
    case ORD:
      return true;
    case UNO:
      return false;
    default:
      return std::nullopt;
    }
  }

  static std::optional<bool> holds(arith::CmpIPredicate predicate, int order) {
    using enum arith::CmpIPredicate;
    switch (predicate) {
    case eq:
      return order == 0;
    case ne:
      return order != 0;
    case sgt:
      return order > 0;
    case sge:
      return order >= 0;
    case slt:
      return order < 0;
    case sle:
      return order <= 0;
    default:
      return std::nullopt;
    }
  }

  Block &block;
  unsigned second; ///< the number of the second value
  int values, indices;
};
} // namespace

/// Max or Min, if the region chooses the larger or the smaller of two.
static std::optional<tile::ReduceKind> extremeOf(Block &block) {
  auto choose = [&](int values) {
    return Choice(block, values, /*indices=*/0).findValue();
  };
  std::optional<unsigned> above = choose(1);
  if (!above || choose(-1) != 1 - *above || !choose(0))
    return std::nullopt;
  return *above == 0 ? tile::ReduceKind::Max : tile::ReduceKind::Min;
}

std::optional<tile::ReduceKind> fa::combineKindOf(Block &block) {
  Operation *combine = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!combine || combine->getNumOperands() != 2 ||
      combine->getBlock() != &block ||
      !llvm::all_of(combine->getOperands(),
                    [&](Value value) {
                      return llvm::is_contained(block.getArguments(), value);
                    }) ||
      combine->getOperand(0) == combine->getOperand(1))
    return extremeOf(block);
  using Found = std::optional<tile::ReduceKind>;
  return llvm::TypeSwitch<Operation *, Found>(combine)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return tile::ReduceKind::Add; })
      .Case<arith::MaxNumFOp, arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return tile::ReduceKind::Max; })
      .Case<arith::MinNumFOp, arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return tile::ReduceKind::Min; })
      .Default([](Operation *) { return Found(); });
}

std::optional<tile::ReduceKind> fa::indexedKindOf(Block &block) {
  auto choose = [&](int values, int indices) {
    return Choice(block, values, indices).find();
  };
  std::optional<unsigned> above = choose(1, 0);
  if (!above)
    return std::nullopt;
  for (int indices : {-1, 0, 1})
    if (choose(1, indices) != above || choose(-1, indices) != 1 - *above)
      return std::nullopt;
  std::optional<unsigned> lesser = choose(0, -1), greater = choose(0, 1);
  bool isAny = lesser && lesser == greater;
  if (!isAny && (lesser != 0U || greater != 1U))
    return std::nullopt;
  return *above == 0 ? tile::ReduceKind::Max : tile::ReduceKind::Min;
}
