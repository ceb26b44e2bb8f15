//===- LoopGuards.cpp - what is replaced in rows without keys -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopProof.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

bool LoopProof::isMaximumOfScores(Value value, const Stage &stage) {
  value = TileReader::strip(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::MaxNumFOp, arith::MaximumFOp>(op))
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return isMaximumOfScores(operand, stage);
    });
  // The maximum may be of scores before they are scaled.
  Sum factor = ExponentialSums::constant(1);
  if (isa<arith::MulFOp>(op)) {
    for (unsigned n : {0u, 1u})
      if (auto reduce = TileReader::strip(op->getOperand(n))
                            .getDefiningOp<tile::ReduceOp>()) {
        Value scale = TileReader::strip(op->getOperand(1 - n));
        if (isa<RankedTensorType>(scale.getType()))
          return false;
        factor = reader.read(scale, {});
        op = reduce;
        break;
      }
  }
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  if (!reduce || reduce.getKind() != tile::ReduceKind::Max ||
      cast<RankedTensorType>(reduce.getInput().getType()).getRank() != 2 ||
      reduce.getDim() != 1)
    return false;
  Sum scores = reader.read(reduce.getInput(), {kRow, kSummed}, 1);
  Sum found = sums.multiply(scores, factor);
  return llvm::any_of(std::array{1.0, std::numbers::ln2}, [&](double base) {
    return sums.areEqual(sums.scale(found, base), stage.score);
  });
}

/// Sums over keys are 0 where there are no keys; an exponential by itself is
/// also where its exponent is far below 0.
bool LoopProof::isSumOfExponentials(Value value) {
  Sum sum = readRow(reader, value);
  return !sum.empty() && llvm::all_of(sum, [&](const auto &term) {
    return term.second > 0 && !term.first.factors.empty() &&
           llvm::all_of(term.first.factors, [&](auto power) {
             const Factor &f = sums.factor(power.first);
             bool isState =
                 f.kind == Factor::Tile && found.sum >= 0 &&
                 sums.valueOf(f) == loops.back().getResult(found.sum);
             return power.second > 0 &&
                    (isState ||
                     (f.kind == Factor::Total && f.product.factors.empty()));
           });
  });
}

/// What is replaced where a row has no keys, whose result is 0 here.
bool LoopProof::proveGuards(Refusal &refusal) {
  SmallVector<const TileReader *> readers = {&reader, &dividing};
  for (const std::optional<TileReader> *stored : {&ofOutput, &ofLse})
    if (*stored)
      readers.push_back(&**stored);
  for (const TileReader *from : readers)
    for (const TileReader::Guard &guard : from->guards()) {
      bool good = false;
      if (guard.number == 0) {
        good =
            isRows(guard.value.getType()) && isSumOfExponentials(guard.value);
      } else {
        // What a loop gives is what it gave to its next step.
        Value value = guard.value;
        for (scf::ForOp loop : loops)
          for (auto [n, result] : llvm::enumerate(loop.getResults()))
            if (value == result || value == loop.getRegionIterArg(n))
              value = loop.getYieldedValues()[n];
        good = llvm::any_of(proven.stages, [&](const Stage &stage) {
          return isMaximumOfScores(value, stage);
        });
      }
      if (!good) {
        refusal = {guard.select,
                   guard.number == 0
                       ? "it replaces what is 0, which is not known to be the "
                         "sum of the exponentials"
                       : "it replaces what is -inf, which is not known to be "
                         "the maximum of the scores"};
        return false;
      }
    }
  return true;
}
