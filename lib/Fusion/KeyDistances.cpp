//===- KeyDistances.cpp - how far keys are from their queries -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyDistances.h"

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Of a score region: the score comes before what a mask region has.
static constexpr unsigned kScores = 1;
static constexpr unsigned kCoordinates = 4;

/// Whether both are one value: the same or made by the same operation.
static bool isSame(Value x, Value y) {
  if (x == y)
    return true;
  Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
  return a && b && isMemoryEffectFree(a) &&
         cast<OpResult>(x).getResultNumber() ==
             cast<OpResult>(y).getResultNumber() &&
         OperationEquivalence::isEquivalentTo(
             a, b, OperationEquivalence::IgnoreLocations);
}

/// What is captured as this value of a region whose coordinates come after
/// `before` arguments; null if it is none.
static Value captured(OnlineAttentionOp op, Value value, unsigned before) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getArgNumber() < before + kCoordinates)
    return {};
  return op.getCaptures()[argument.getArgNumber() - before - kCoordinates];
}

/// x - y, without key, if it is one number: `x` is of the score region, `y` of
/// the mask.
static std::optional<int64_t>
difference(OnlineAttentionOp op, const AffineForm &x, const AffineForm &y) {
  if (x.query != y.query || x.terms.size() != y.terms.size() ||
      !x.rowTerms.empty() || !y.rowTerms.empty())
    return std::nullopt;
  for (auto [value, times] : x.terms) {
    Value from = captured(op, value, kScores);
    if (!from || llvm::none_of(y.terms, [&](const AffineForm::Term &term) {
          Value other = captured(op, term.first, 0);
          return other && term.second == times && isSame(from, other);
        }))
      return std::nullopt;
  }
  return x.constant - y.constant;
}

void fa::dropSignsOfDistances(OnlineAttentionOp op) {
  if (op.getScore().empty() || op.getMask().empty())
    return;
  MaskRule rule = analyzeMask(op.getMask());
  Block &block = op.getScore().front();
  for (auto size : llvm::make_early_inc_range(block.getOps<math::AbsFOp>())) {
    auto number = size.getOperand().getDefiningOp<arith::SIToFPOp>();
    auto form = number ? analyzeForm(number.getIn()) : std::nullopt;
    if (!form || form->key != -1)
      continue;
    // j <= bound <= form + j
    bool isPositive =
        llvm::all_of(rule.intervals, [&](const KeyInterval &interval) {
          return llvm::any_of(interval.bounds, [&](const KeyBound &bound) {
            return bound.upper &&
                   llvm::all_of(bound.forms, [&](const AffineForm &limit) {
                     auto more = difference(op, *form, limit);
                     return more && *more >= 0;
                   });
          });
        });
    if (!isPositive)
      continue;
    size.replaceAllUsesWith(number.getResult());
    size.erase();
  }
}

/// Whether `value` of a score region is the same for all its scores.
static bool isUniform(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    return number >= kScores && number != kScores + 2 && number != kScores + 3;
  }
  Operation *op = value.getDefiningOp();
  return op->getNumRegions() == 0 && llvm::all_of(op->getOperands(), isUniform);
}

std::optional<LinearBias> fa::findLinearBias(OnlineAttentionOp op) {
  if (op.getScore().empty())
    return std::nullopt;
  Block &block = op.getScore().front();
  Operation *sum = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum) ||
      sum->getOperand(0) != block.getArgument(0))
    return std::nullopt;
  bool isSubtracted = isa<arith::SubFOp>(sum);
  Value bias = sum->getOperand(1);
  auto biasOf = [&](Value value, Value factor) -> std::optional<LinearBias> {
    auto size = value.getDefiningOp<math::AbsFOp>();
    value = size ? size.getOperand() : value;
    auto number = value.getDefiningOp<arith::SIToFPOp>();
    auto form = number ? analyzeForm(number.getIn()) : std::nullopt;
    if (!form || form->key == 0 || !form->rowTerms.empty())
      return std::nullopt;
    return LinearBias{isSubtracted, bool(size), factor, *form};
  };
  if (auto found = biasOf(bias, {}))
    return found;
  auto product = bias.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (auto [value, factor] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())})
    if (auto found = biasOf(value, factor); found && isUniform(factor))
      return found;
  return std::nullopt;
}
