//===- LoopProof.cpp - that a kernel's loops compute attention ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopProof.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

void LoopProof::note(unsigned level, size_t length, Operation *at,
                     std::string why) {
  std::pair<unsigned, int64_t> rank = {level, -static_cast<int64_t>(length)};
  if (best.at && rank <= bestLevel)
    return;
  bestLevel = rank;
  best = {at, std::move(why)};
}

bool LoopProof::proveStart(const State &state) {
  auto inits = loops.front().getInits();
  auto at = [&](int64_t n) { return n < 0 ? Value() : inits[n]; };
  Values first = {at(state.acc), at(state.sum), at(state.max)};
  Sum total = totalOf(reader, state, first),
      acc = accumulatorOf(reader, state, first);
  if (total.empty() && acc.empty())
    return true;
  // One more score, without a value: exp of a scalar.
  if (acc.empty() && total.size() == 1 && total.begin()->second == 1 &&
      total.begin()->first.factors.empty()) {
    const Sum &score = sums.sum(total.begin()->first.exponent);
    Sum scalar;
    if (score.size() == 1 && std::fabs(score.begin()->second - 1) < 1e-7)
      scalar[score.begin()->first] = 1;
    std::optional<unsigned> single = sums.single(scalar);
    const Factor *f = single ? &sums.factor(*single) : nullptr;
    if (f && f->kind == Factor::Tile && f->axes.empty()) {
      proven.sink = sums.valueOf(*f);
      return true;
    }
  }
  note(5, 0, loops.front(),
       "before its first step the sum is " + sums.print(total) +
           " and the accumulator " + sums.print(acc) + ", not 0");
  return false;
}

bool LoopProof::proveEnd(const State &state) {
  scf::ForOp last = loops.back();
  auto at = [&](int64_t n) { return n < 0 ? Value() : last.getResult(n); };
  Values values = {at(state.acc), at(state.sum), at(state.max)};
  Sum total = totalOf(reader, state, values);
  Sum output = readRow(ofOutput.emplace(sums, /*ofStored=*/true),
                       proven.output.getValue());
  proven.outputChoices = ofOutput->choices();
  if (!sums.areEqual(sums.multiply(output, total),
                     accumulatorOf(reader, state, values))) {
    note(6, 0, proven.output,
         "what it stores is not the accumulator divided by the sum, but " +
             sums.print(output));
    return false;
  }
  if (!proven.lse)
    return true;
  Sum lse =
      readRow(ofLse.emplace(sums, /*ofStored=*/true), proven.lse.getValue());
  proven.lseChoices = ofLse->choices();
  for (double base : {1.0, std::numbers::ln2})
    if (sums.areEqual(sums.exponential(sums.scale(lse, base)), total)) {
      proven.lseBase = base;
      return true;
    }
  note(6, 0, proven.lse,
       "what it stores beside the output is not the logarithm of the sum, "
       "but " +
           sums.print(lse));
  return false;
}

bool LoopProof::proveState(State state) {
  State last = state;
  proven.stages.clear();
  proven.sink = {};
  for (auto [n, loop] : llvm::enumerate(llvm::reverse(loops))) {
    auto arguments = loop.getRegionIterArgs();
    auto yielded = loop.getYieldedValues();
    auto at = [&](auto &&from, int64_t n) {
      return n < 0 ? Value() : Value(from[n]);
    };
    Values before = {at(arguments, state.acc), at(arguments, state.sum),
                     at(arguments, state.max)};
    Values after = {at(yielded, state.acc), at(yielded, state.sum),
                    at(yielded, state.max)};
    Sum total = sums.add(totalOf(reader, state, after),
                         totalOf(reader, state, before), -1);
    Sum accumulator = sums.add(accumulatorOf(dividing, state, after),
                               accumulatorOf(dividing, state, before), -1);
    std::optional<Stage> stage = matchAdded(total, accumulator, loop, loop);
    if (!stage)
      return false;
    if (dependsOnState(stage->score, loop)) {
      note(4, 0, loop,
           "its scores depend on what it carries: " + sums.print(stage->score));
      return false;
    }
    proven.stages.insert(proven.stages.begin(), *stage);
    if (n + 1 == loops.size())
      continue;
    // The state of the loop before this one.
    scf::ForOp previous = loops[loops.size() - n - 2];
    for (int64_t *number : {&state.acc, &state.sum, &state.max}) {
      if (*number < 0)
        continue;
      auto result = dyn_cast<OpResult>(loop.getInits()[*number]);
      if (!result || result.getOwner() != previous) {
        note(5, 0, loop, "it does not begin where the loop before it ends");
        return false;
      }
      *number = result.getResultNumber();
    }
  }
  if (!proveStart(state) || !proveEnd(last))
    return false;
  found = last;
  return true;
}

bool LoopProof::proveStraight(Refusal &refusal) {
  Sum output = readRow(reader, proven.output.getValue());
  Sum above, below;
  if (output.size() == 1 && !output.begin()->first.exponent)
    for (auto [number, power] : output.begin()->first.factors)
      (power > 0 ? above : below)[Product{{{number, 1}}, 0}] = 1;
  bool isQuotient = output.size() == 1 && above.size() == 1 &&
                    below.size() == 1 &&
                    std::fabs(output.begin()->second - 1) < 1e-7;
  if (!isQuotient) {
    refusal = {proven.output,
               "what it stores is no quotient of two sums over keys, but " +
                   sums.print(output)};
    return false;
  }
  std::optional<Stage> stage = matchAdded(below, above, {}, proven.output);
  if (!stage) {
    refusal = best;
    return false;
  }
  proven.stages = {*stage};
  if (proven.lse) {
    Sum lse = readRow(reader, proven.lse.getValue());
    auto isLse = [&](double base) {
      proven.lseBase = base;
      return sums.areEqual(sums.exponential(sums.scale(lse, base)), below);
    };
    if (!isLse(1) && !isLse(std::numbers::ln2)) {
      refusal = {proven.lse, "what it stores beside the output is not the "
                             "logarithm of the sum, but " +
                                 sums.print(lse)};
      return false;
    }
  }
  proven.form = "no loop: all keys are in one tile";
  return true;
}

std::optional<ProvenLoops> LoopProof::prove(Refusal &refusal) {
  if (!findStores(refusal))
    return std::nullopt;
  // Divisors that are sums.
  llvm::DenseSet<Value> divisors;
  kernel.walk([&](arith::DivFOp op) {
    Value divisor = TileReader::strip(op.getRhs());
    if (isRows(divisor.getType()) && !findConstant(divisor))
      divisors.insert(divisor);
  });
  dividing.setFactors(std::move(divisors));
  bool good = false;
  if (!findLoops()) {
    good = proveStraight(refusal);
  } else {
    good = llvm::any_of(listStates(),
                        [&](const State &state) { return proveState(state); });
    if (!good)
      refusal = best.at ? best
                        : Refusal{loops.back(),
                                  "it carries no tile and a number for each "
                                  "row, as a loop of online softmax does"};
    if (good)
      proven.form =
          std::string(found.form == State::SumAndMax ? "a sum beside a maximum"
                      : found.form == State::SumAlone
                          ? "a sum without a maximum"
                          : "a log-sum-exp") +
          (found.base == 1 ? ", exp" : ", exp2") +
          (found.isNormalized ? ", an accumulator that is divided each step"
                              : "") +
          (loops.size() > 1 ? ", " + std::to_string(loops.size()) + " loops"
                            : std::string());
  }
  if (!good || !proveGuards(refusal))
    return std::nullopt;
  return proven;
}
