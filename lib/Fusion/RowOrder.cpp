//===- RowOrder.cpp - values that later rows have no less of --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"

#include "ElementReads.h"
#include "FindSource.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

static constexpr int64_t kQuery = 2; // the coordinate of rows

static bool dependsOnRow(Value value) {
  return findSource(value, [](Value v) {
           return getCoordinate(v) == kQuery;
         }) != Value();
}

/// Whether `value` is a constant of at least `least`.
static bool isAtLeast(Value value, int64_t least) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant.sge(least);
}

/// What `find` says of `value`, asked once.
static bool once(DenseMap<Value, bool> &known, Value value,
                 function_ref<bool()> find) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  bool found = find(); // which may add others
  known[value] = found;
  return found;
}

bool RowOrder::grows(Value value) {
  return once(growing, value, [&] { return growsNew(value); });
}

bool RowOrder::growsNew(Value value) {
  if (getCoordinate(value) == kQuery || !dependsOnRow(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto bothGrow = [&] {
    return llvm::all_of(op->getOperands(), [&](Value x) { return grows(x); });
  };
  // Places are of 64 bits; a narrower number could have wrapped around.
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(
          [&](auto) { return bothGrow(); })
      .Case([&](arith::SubIOp sub) {
        return grows(sub.getLhs()) && !dependsOnRow(sub.getRhs());
      })
      .Case([&](arith::MulIOp mul) {
        return (grows(mul.getLhs()) && isAtLeast(mul.getRhs(), 0)) ||
               (grows(mul.getRhs()) && isAtLeast(mul.getLhs(), 0));
      })
      .Case<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
          [&](auto div) {
            return grows(div.getLhs()) && isAtLeast(div.getRhs(), 1);
          })
      .Case<arith::DivUIOp, arith::CeilDivUIOp>([&](auto div) {
        return grows(div.getLhs()) && isNatural(div.getLhs()) &&
               isAtLeast(div.getRhs(), 1);
      })
      .Default([](Operation *) { return false; });
}

bool RowOrder::isNatural(Value value) {
  return once(natural, value, [&] { return isNaturalNew(value); });
}

bool RowOrder::isNaturalNew(Value value) {
  if (getCoordinate(value) >= 0 || isAtLeast(value, 0))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto isNatural = [&](Value x) { return this->isNatural(x); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::DivSIOp,
            arith::FloorDivSIOp, arith::DivUIOp, arith::RemUIOp>(
          [&](auto) { return llvm::all_of(op->getOperands(), isNatural); })
      .Case([&](arith::MaxSIOp) {
        return llvm::any_of(op->getOperands(), isNatural);
      })
      .Default([](Operation *) { return false; });
}
