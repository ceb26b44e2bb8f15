//===- Welford.cpp - means and squares that are merged --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Welford.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

/// What `value` is a sum (AddFOp) or a product (MulFOp) of, however its parts
/// are put together.
template <typename Op>
static void flatten(Value value, SmallVectorImpl<Value> &parts) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return parts.push_back(value);
  flatten<Op>(op.getLhs(), parts);
  flatten<Op>(op.getRhs(), parts);
}

template <typename Op> static bool isOf(Value value, ArrayRef<Value> expected) {
  SmallVector<Value> parts;
  flatten<Op>(value, parts);
  return parts.size() == expected.size() &&
         std::is_permutation(parts.begin(), parts.end(), expected.begin());
}

bool fa::mergesMoments(Block &block) {
  ValueRange results = block.getTerminator()->getOperands();
  if (block.getNumArguments() != 6 || results.size() != 3)
    return false;
  Value mean = block.getArgument(0), squares = block.getArgument(1),
        weight = block.getArgument(2), otherMean = block.getArgument(3),
        otherSquares = block.getArgument(4), otherWeight = block.getArgument(5);
  auto isWeight = [&](Value value) {
    return isOf<arith::AddFOp>(value, {weight, otherWeight});
  };
  auto isDifference = [&](Value value) {
    auto difference = value.getDefiningOp<arith::SubFOp>();
    return difference && difference.getLhs() == otherMean &&
           difference.getRhs() == mean;
  };
  auto isRatio = [&](Value value) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    auto isNone = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                         : arith::CmpFOp();
    auto ratio = select ? select.getFalseValue().getDefiningOp<arith::DivFOp>()
                        : arith::DivFOp();
    return isNone && ratio &&
           matchPattern(select.getTrueValue(), m_AnyZeroFloat()) &&
           isNone.getPredicate() == arith::CmpFPredicate::OEQ &&
           isWeight(isNone.getLhs()) &&
           matchPattern(isNone.getRhs(), m_AnyZeroFloat()) &&
           ratio.getLhs() == otherWeight && isWeight(ratio.getRhs());
  };
  // The step of the mean gives the difference and the ratio.
  SmallVector<Value> step, sums;
  flatten<arith::AddFOp>(results[0], sums);
  if (sums.size() != 2 || !llvm::is_contained(sums, mean))
    return false;
  flatten<arith::MulFOp>(sums[sums[0] == mean], step);
  if (step.size() != 2)
    return false;
  if (!isDifference(step[0]))
    std::swap(step[0], step[1]);
  if (!isDifference(step[0]) || !isRatio(step[1]))
    return false;
  sums.clear();
  flatten<arith::AddFOp>(results[1], sums);
  llvm::erase(sums, squares);
  llvm::erase(sums, otherSquares);
  return sums.size() == 1 && isWeight(results[2]) &&
         isOf<arith::MulFOp>(sums[0], {step[0], step[0], weight, step[1]});
}
