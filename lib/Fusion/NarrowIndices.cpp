//===- NarrowIndices.cpp - indices that 32 bits hold ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowIndices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;

static constexpr unsigned kCoordinates = 4; // batch, head, query, key

NarrowIndices::NarrowIndices(Region &region) {
  unsigned indices = 0;
  for (BlockArgument argument : region.getArguments()) {
    if (!argument.getType().isIndex())
      continue;
    bool isCoordinate = indices++ < kCoordinates;
    ranges.try_emplace(argument, isCoordinate
                                     ? ConstantIntRanges::fromSigned(
                                           APInt(64, 0), APInt(64, INT32_MAX))
                                     : ConstantIntRanges::maxRange(64));
  }
  for (Operation &op : region.front().without_terminator())
    infer(op);
}

void NarrowIndices::infer(Operation &op) {
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op.getOperands()) {
    auto known = ranges.find(operand);
    if (known == ranges.end()) {
      inferable = {};
      break;
    }
    operands.push_back(known->second);
  }
  if (inferable)
    return inferable.inferResultRanges(
        operands, [&](Value result, const ConstantIntRanges &range) {
          ranges.insert_or_assign(result, range);
        });
  for (Value result : op.getResults())
    if (result.getType().isIntOrIndex())
      ranges.insert_or_assign(
          result, ConstantIntRanges::maxRange(
                      ConstantIntRanges::getStorageBitwidth(result.getType())));
}

bool NarrowIndices::fits(Value value) const {
  auto known = ranges.find(value);
  return known != ranges.end() && known->second.smin().isSignedIntN(32) &&
         known->second.smax().isSignedIntN(32);
}

bool NarrowIndices::isNatural(Value value) const {
  return fits(value) && ranges.find(value)->second.smin().isNonNegative();
}

bool NarrowIndices::isSame(Operation &op) const {
  auto areFit = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) {
      return !value.getType().isIndex() || fits(value);
    });
  };
  auto isUnsigned = [](Operation &op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare ? compare.getPredicate() >= arith::CmpIPredicate::ult
                   : isa<arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp,
                         arith::MinUIOp, arith::MaxUIOp>(op);
  };
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp,
           arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp,
           arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
           arith::ShRSIOp, arith::ShRUIOp, arith::MinSIOp, arith::MaxSIOp,
           arith::MinUIOp, arith::MaxUIOp, arith::SelectOp, arith::CmpIOp>(
          op) ||
      !areFit(op.getOperands()) || !areFit(op.getResults()))
    return false;
  if (isUnsigned(op) && !llvm::all_of(op.getOperands(), [&](Value operand) {
        return isNatural(operand);
      }))
    return false;
  // -2^31 by -1 traps in 32 bits alone.
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op))
    return ranges.find(op.getOperand(0))->second.smin().sgt(INT32_MIN) ||
           isNatural(op.getOperand(1));
  if (!isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return true;
  // Amounts of 32 and more give nothing that is defined.
  Value amount = op.getOperand(1);
  return isNatural(amount) && ranges.find(amount)->second.smax().ult(32);
}
