//===- LoopSteps.cpp - what a step of a loop adds -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopProof.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

Sum LoopProof::totalOf(TileReader &from, const State &state,
                       const Values &values) {
  Sum sum = readRow(from, values.sum);
  switch (state.form) {
  case State::SumAndMax:
    return sums.multiply(sum, sums.exponential(sums.scale(
                                  readRow(from, values.max), state.base)));
  case State::SumAlone:
    return sum;
  case State::Logarithm:
    return sums.exponential(sums.scale(sum, state.base));
  }
  return sum;
}

Sum LoopProof::accumulatorOf(TileReader &from, const State &state,
                             const Values &values) {
  Sum acc = readRow(from, values.acc);
  if (state.isNormalized)
    return sums.multiply(acc, totalOf(from, state, values));
  if (state.form == State::SumAlone)
    return acc;
  return sums.multiply(
      acc, sums.exponential(sums.scale(readRow(from, values.max), state.base)));
}

/// The factor of a sum over keys, if `sum` is one and nothing else.
static const Factor *asTotal(const ExponentialSums &sums, const Sum &sum) {
  std::optional<unsigned> single = sums.single(sum);
  return single && sums.factor(*single).kind == Factor::Total
             ? &sums.factor(*single)
             : nullptr;
}

std::optional<Stage> LoopProof::matchAdded(const Sum &total,
                                           const Sum &accumulator,
                                           scf::ForOp loop, Operation *at) {
  const Factor *z = asTotal(sums, total);
  if (!z || !z->product.factors.empty()) {
    note(1, total.size(), at,
         "the sum that it carries does not grow by a sum of exp(score) over "
         "keys, but by " +
             sums.print(total));
    return std::nullopt;
  }
  const Factor *n = asTotal(sums, accumulator);
  auto isValue = [&](const Product &product) {
    if (product.factors.size() != 1 || product.factors[0].second != 1)
      return false;
    const Factor &f = sums.factor(product.factors[0].first);
    return f.kind == Factor::Tile && llvm::is_contained(f.axes, kSummed) &&
           llvm::is_contained(f.axes, kColumn) && f.axes.size() == 2;
  };
  if (!n || !isValue(n->product)) {
    note(2, accumulator.size(), at,
         "the accumulator that it carries does not grow by a sum of "
         "exp(score) * v over keys, but by " +
             sums.print(accumulator));
    return std::nullopt;
  }
  const Sum &score = sums.sum(z->product.exponent);
  if (z->product.exponent != n->product.exponent) {
    note(3, 0, at,
         "the scores of the sum, " + sums.print(score) +
             ", are not those of the accumulator, " +
             sums.print(sums.sum(n->product.exponent)));
    return std::nullopt;
  }
  const Factor &v = sums.factor(n->product.factors[0].first);
  return Stage{loop, loop ? loop.getBody() : at->getBlock(), score,
               sums.valueOf(v), v.axes};
}

bool LoopProof::dependsOnState(const Sum &score, scf::ForOp loop) {
  llvm::DenseSet<Value> tainted;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (isa<RankedTensorType>(argument.getType()))
      tainted.insert(argument);
  for (Operation &op : *loop.getBody())
    op.walk([&](Operation *inner) {
      if (llvm::any_of(inner->getOperands(), [&](Value operand) {
            return tainted.contains(operand);
          }))
        tainted.insert_range(op.getResults());
    });
  bool found = false;
  sums.walk(score, [&](const Factor &f) {
    found |= f.tile >= 0 && tainted.contains(sums.valueOf(f));
  });
  return found;
}
