//===- LoopProof.cpp - that a kernel's loops compute attention ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopProof.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Whether `type` has several rows and several columns.
static bool isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.getDimSize(0) > 1 &&
         tensor.getDimSize(1) > 1;
}

/// Whether it has one number for each row.
static bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType()) &&
         (tensor.getRank() == 1 ||
          (tensor.getRank() == 2 && tensor.getDimSize(1) == 1));
}

/// The axes of an element of one or the other.
static SmallVector<int> axesOf(Value value) {
  if (isTile(value.getType()))
    return {kRow, kColumn};
  bool isFlat = cast<RankedTensorType>(value.getType()).getRank() == 1;
  return isFlat ? SmallVector<int>{kRow} : SmallVector<int>{kRow, kOne};
}

static Sum readRow(TileReader &reader, Value value) {
  return reader.read(value, axesOf(value));
}

//===----------------------------------------------------------------------===//
// What the kernel has
//===----------------------------------------------------------------------===//

bool LoopProof::findStores(Refusal &refusal) {
  bool good = true;
  auto refuse = [&](Operation *op, StringRef why) {
    if (good)
      refusal = {op, why.str()};
    good = false;
  };
  bool hasExponentials = false;
  kernel.walk([&](Operation *op) {
    hasExponentials |= isa<math::ExpOp, math::Exp2Op>(op);
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    bool writes = effects && effects.hasEffect<MemoryEffects::Write>();
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store) {
      // What is said to hold changes no result.
      if (writes && !isa<tile::AssertOp>(op))
        refuse(op, "it writes to memory in another way than a tile's store");
      return;
    }
    tile::StoreOp &place =
        isTile(store.getValue().getType()) ? proven.output : proven.lse;
    if (&place == &proven.lse && !isRows(store.getValue().getType()))
      refuse(op, "it stores what is neither a tile nor a number for each row");
    else if (place)
      refuse(op, &place == &proven.lse
                     ? "it stores more than a tile and one number for each row"
                     : "it stores several tiles, where attention has one");
    else
      place = store;
  });
  if (!hasExponentials)
    refuse(kernel, "it has no exponentials");
  if (!proven.output)
    refuse(kernel, "it stores no tile");
  if (good && proven.lse && proven.lse->getBlock() != proven.output->getBlock())
    refuse(proven.lse, "it is not stored where the output is");
  return good;
}

bool LoopProof::findLoops() {
  Block *home = proven.output->getBlock();
  SmallVector<Value> work = {proven.output.getValue()};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != home || !seen.insert(op).second)
      continue;
    llvm::append_range(work, op->getOperands());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
  }
  llvm::sort(loops,
             [](scf::ForOp x, scf::ForOp y) { return x->isBeforeInBlock(y); });
  return !loops.empty();
}

void LoopProof::note(unsigned level, size_t length, Operation *at,
                     std::string why) {
  std::pair<unsigned, int64_t> rank = {level, -static_cast<int64_t>(length)};
  if (best.at && rank <= bestLevel)
    return;
  bestLevel = rank;
  best = {at, std::move(why)};
}

//===----------------------------------------------------------------------===//
// Sums and accumulators
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

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
  Sum output = readRow(reader, proven.output.getValue());
  if (!sums.areEqual(sums.multiply(output, total),
                     accumulatorOf(reader, state, values))) {
    note(6, 0, proven.output,
         "what it stores is not the accumulator divided by the sum, but " +
             sums.print(output));
    return false;
  }
  if (!proven.lse)
    return true;
  Sum lse = readRow(reader, proven.lse.getValue());
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

SmallVector<LoopProof::State> LoopProof::listStates() {
  SmallVector<int64_t> tiles, rows;
  for (OpResult result : loops.back().getResults()) {
    if (isTile(result.getType()))
      tiles.push_back(result.getResultNumber());
    else if (isRows(result.getType()))
      rows.push_back(result.getResultNumber());
  }
  SmallVector<State> states;
  for (int64_t acc : tiles)
    for (int64_t sum : rows)
      for (bool normalized : {false, true})
        for (double base : {1.0, std::numbers::ln2}) {
          for (int64_t max : rows)
            if (max != sum) {
              states.push_back(
                  {acc, sum, max, State::SumAndMax, normalized, base});
              states.push_back(
                  {acc, sum, max, State::Logarithm, normalized, base});
            }
          if (normalized)
            states.push_back({acc, sum, -1, State::Logarithm, true, base});
          if (base == 1.0)
            states.push_back({acc, sum, -1, State::SumAlone, normalized, base});
        }
  return states;
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

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

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
      !isTile(reduce.getInput().getType()) || reduce.getDim() != 1)
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
  for (const TileReader *from : {&reader, &dividing})
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
    for (const State &state : listStates())
      if ((good = proveState(state)))
        break;
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
