//===- MaskAnalysisTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random masks, their intervals against every single element.
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/QueryRange.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace fa;

namespace {

/// Evaluates scalar index code.
class Evaluator {
public:
  std::map<void *, int64_t> values;

  int64_t get(Value value) {
    if (auto it = values.find(value.getAsOpaquePointer()); it != values.end())
      return it->second;
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
      return value.getType().isInteger(1) ? constant.getZExtValue()
                                          : constant.getSExtValue();
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return getLoop(loop, cast<OpResult>(value).getResultNumber());
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return get(get(select.getCondition()) ? select.getTrueValue()
                                            : select.getFalseValue());
    int64_t x = get(op->getOperand(0)), y = get(op->getOperand(1));
    if (isa<arith::AddIOp>(op))
      return x + y;
    if (isa<arith::SubIOp>(op))
      return x - y;
    if (isa<arith::MulIOp>(op))
      return x * y;
    if (isa<arith::MinSIOp>(op))
      return std::min(x, y);
    if (isa<arith::MaxSIOp>(op))
      return std::max(x, y);
    if (isa<arith::AndIOp>(op))
      return x & y;
    if (isa<arith::OrIOp>(op))
      return x | y;
    if (isa<arith::XOrIOp>(op))
      return x ^ y;
    if (isa<arith::RemSIOp>(op))
      return y ? x % y : 0;
    if (isa<arith::DivUIOp>(op))
      return int64_t(uint64_t(x) / uint64_t(y));
    if (isa<arith::DivSIOp>(op))
      return x / y;
    if (isa<arith::FloorDivSIOp>(op))
      return llvm::divideFloorSigned(x, y);
    using enum arith::CmpIPredicate;
    switch (cast<arith::CmpIOp>(op).getPredicate()) {
    case sle:
      return x <= y;
    case slt:
      return x < y;
    case sge:
      return x >= y;
    case sgt:
      return x > y;
    case eq:
      return x == y;
    case ne:
      return x != y;
    default:
      ADD_FAILURE() << "a predicate that the test does not build";
      return 0;
    }
  }

private:
  int64_t getLoop(scf::ForOp loop, unsigned result) {
    std::vector<int64_t> state;
    for (Value init : loop.getInitArgs())
      state.push_back(get(init));
    int64_t end = get(loop.getUpperBound());
    for (int64_t n = get(loop.getLowerBound()); n < end; ++n) {
      values[loop.getInductionVar().getAsOpaquePointer()] = n;
      for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), state))
        values[argument.getAsOpaquePointer()] = value;
      std::vector<int64_t> next;
      for (Value yielded : loop.getBody()->getTerminator()->getOperands())
        next.push_back(get(yielded));
      state = next;
    }
    return state[result];
  }
};

class MaskAnalysis : public testing::Test {
protected:
  MaskAnalysis() : b(UnknownLoc::get(&context), &context) {
    context
        .loadDialect<arith::ArithDialect, scf::SCFDialect, tile::TileDialect>();
    region.emplaceBlock();
    for (int n = 0; n < 5; ++n) // b, h, i, j and one captured index
      region.addArgument(b.getIndexType(), b.getLoc());
    b.setInsertionPointToEnd(&region.front());
  }

  Value constant(int64_t x) { return arith::ConstantIndexOp::create(b, x); }
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  /// i, j, the capture, or a constant, with a factor, as a sum of two.
  Value randomForm() {
    Value sum = constant(draw(-10, 10));
    for (int n = 0; n < 2; ++n) {
      Value term = region.getArgument(draw(2, 4));
      if (draw(0, 4) == 0) // something that differs from row to row
        term = draw(0, 1) ? Value(arith::RemSIOp::create(
                                b, region.getArgument(2), constant(5)))
                          : randomQuotient();
      if (draw(0, 3) == 0)
        term = arith::MulIOp::create(b, constant(draw(-2, 2)), term);
      if (draw(0, 1))
        sum = arith::AddIOp::create(b, sum, term);
      else
        sum = arith::SubIOp::create(b, term, sum);
    }
    return sum;
  }

  /// A quotient of a row, which may be cut off: later rows have no less of it
  /// or, of one that is taken from a number, no more.
  Value randomQuotient() {
    Value row = region.getArgument(2), divisor = constant(draw(1, 6));
    if (draw(0, 1))
      row = arith::SubIOp::create(b, row, constant(draw(0, 9)));
    if (draw(0, 2) == 0)
      row = arith::SubIOp::create(b, constant(9), row);
    Value quotient;
    switch (draw(0, 2)) {
    case 0:
      quotient = arith::DivSIOp::create(b, row, divisor);
      break;
    case 1:
      quotient = arith::FloorDivSIOp::create(b, row, divisor);
      break;
    default:
      quotient = arith::DivUIOp::create(b, region.getArgument(2), divisor);
    }
    if (draw(0, 1))
      quotient = arith::MaxSIOp::create(b, quotient, constant(draw(0, 3)));
    if (draw(0, 1))
      quotient = arith::MinSIOp::create(b, quotient, constant(draw(0, 5)));
    return arith::MulIOp::create(b, quotient, constant(draw(-2, 3)));
  }

  /// |x|, the larger or smaller of two, or a quotient.
  Value randomExtreme() {
    Value x = randomForm();
    Value divisor = constant(draw(1, 4));
    switch (draw(0, 5)) {
    case 0:
      return arith::MaxSIOp::create(
          b, x, Value(arith::SubIOp::create(b, constant(0), x)));
    case 1:
      return arith::MaxSIOp::create(b, x, randomForm());
    case 2:
      return arith::MinSIOp::create(b, randomForm(), x);
    case 3:
      return arith::DivUIOp::create(b, region.getArgument(draw(2, 3)), divisor);
    case 4: // which rounds x below 0 up
      return arith::DivSIOp::create(b, x, divisor);
    default:
      return arith::FloorDivSIOp::create(b, x, divisor);
    }
  }

  Value randomTerm() {
    using enum arith::CmpIPredicate;
    arith::CmpIPredicate predicates[] = {sle, slt, sge, sgt, eq, ne};
    if (draw(0, 9) == 0) // not affine
      return arith::CmpIOp::create(
          b, eq,
          Value(arith::RemSIOp::create(b, region.getArgument(3), constant(3))),
          constant(0));
    Value lhs = draw(0, 1) ? Value(region.getArgument(3)) : randomForm();
    if (draw(0, 3) == 0)
      lhs = randomExtreme();
    Value rhs = draw(0, 5) == 0 ? randomExtreme() : randomForm();
    return arith::CmpIOp::create(b, predicates[draw(0, 5)], lhs, rhs);
  }

  void buildRandomMask() {
    Value mask = randomTerm();
    for (int64_t n = draw(0, 3); n > 0; --n) {
      Value term = randomTerm();
      if (draw(0, 2))
        mask = arith::AndIOp::create(b, mask, term);
      else
        mask = arith::OrIOp::create(b, mask, term);
      if (draw(0, 3) == 0)
        mask = arith::XOrIOp::create(
            b, mask, Value(arith::ConstantIntOp::create(b, 1, 1)));
    }
    tile::YieldOp::create(b, mask);
  }

  bool isSeen(int64_t i, int64_t j, int64_t capture) {
    Evaluator evaluator;
    evaluator.values[region.getArgument(2).getAsOpaquePointer()] = i;
    evaluator.values[region.getArgument(3).getAsOpaquePointer()] = j;
    evaluator.values[region.getArgument(4).getAsOpaquePointer()] = capture;
    return evaluator.get(region.front().getTerminator()->getOperand(0));
  }

  MLIRContext context;
  Region region;
  ImplicitLocOpBuilder b;
  std::mt19937 random;
};

} // namespace

static Value cloneAt(OpBuilder &b, Value value, IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (Value known = mapping.lookupOrNull(value); known || !op)
    return known ? known : value;
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneAt(b, operand, mapping));
  return b.clone(*op, mapping)->getResult(0);
}

/// The value of a term at a row, as the kernel computes it.
static Value materialize(OpBuilder &b, Value value, Value query, Value row) {
  if (!row)
    return value;
  IRMapping mapping;
  mapping.map(query, row);
  return cloneAt(b, value, mapping);
}

TEST_F(MaskAnalysis, AgreesWithBruteForce) {
  int64_t complete = 0, skipped = 0, full = 0, several = 0;
  for (int round = 0; round < 2000; ++round) {
    random.seed(round);
    region.front().clear();
    b.setInsertionPointToEnd(&region.front());
    buildRandomMask();
    MaskRule rule = analyzeMask(region);
    several += rule.intervals.size() > 1;
    int64_t first = draw(0, 20), last = first + draw(0, 15);
    int64_t length = draw(0, 40), capture = draw(-10, 10);

    Block code;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&code);
    SmallVector<KeyRange> ranges = buildKeyRanges(
        b, rule, constant(first), constant(last), constant(length),
        [&](Value value, Value row) {
          return materialize(b, value, region.getArgument(2), row);
        });
    Evaluator evaluator;
    evaluator.values[region.getArgument(4).getAsOpaquePointer()] = capture;
    struct Range {
      int64_t begin, end, fullBegin, fullEnd;
    };
    std::vector<Range> found;
    for (const KeyRange &keys : ranges) {
      found.push_back({evaluator.get(keys.begin), evaluator.get(keys.end),
                       evaluator.get(keys.fullBegin),
                       evaluator.get(keys.fullEnd)});
      if (found.size() > 1)
        ASSERT_LE(found[found.size() - 2].begin, found.back().begin);
    }
    for (const KeyInterval &interval : rule.intervals)
      complete += interval.complete;
    for (int64_t i = first; i <= last; ++i)
      for (int64_t j = 0; j < length; ++j) {
        bool seen = isSeen(i, j, capture), inside = false, whole = false;
        for (const Range &range : found) {
          inside |= range.begin <= j && j < range.end;
          whole |= range.fullBegin <= j && j < range.fullEnd;
        }
        if (seen)
          ASSERT_TRUE(inside) << "round " << round;
        if (whole)
          ASSERT_TRUE(seen) << "round " << round;
        skipped += !inside;
        full += whole;
      }
    code.clear();
  }
  // The analysis is of use: it understands masks, skips and finds whole tiles.
  EXPECT_GT(complete, 400);
  EXPECT_GT(several, 200);
  EXPECT_GT(skipped, 40000);
  EXPECT_GT(full, 4000);
}

/// Of what grows from row to row the first and the last row have the ends;
/// else each row is looked at.
TEST_F(MaskAnalysis, GrowingBoundsNeedNoLoop) {
  Value i = region.getArgument(2), j = region.getArgument(3);
  auto quotient = [&](Value x) -> Value {
    return arith::DivSIOp::create(b, x, constant(8));
  };
  auto natural = [&](Value x) -> Value {
    return arith::DivUIOp::create(b, x, constant(8));
  };
  auto minus = [&](Value x, Value y) -> Value {
    return arith::SubIOp::create(b, x, y);
  };
  auto most = [&](Value x) -> Value {
    return arith::MaxSIOp::create(b, x, constant(2));
  };
  auto times = [&](Value x, int64_t factor) -> Value {
    return arith::MulIOp::create(b, x, constant(factor));
  };
  Value fallen = minus(constant(90), i);
  for (auto [bound, hasLoop] : {
           std::pair(natural(i), false),
           {times(most(natural(i)), 8), false},
           {arith::AddIOp::create(b, i, most(quotient(i))), false},
           {times(quotient(minus(i, constant(6))), -3), false},
           // Below 0 a quotient without a sign is a large number.
           {natural(minus(i, constant(6))), true},
           {quotient(fallen), true},
           {minus(i, most(quotient(i))), true},
           {arith::RemSIOp::create(b, i, constant(8)), true},
       }) {
    OpBuilder::InsertionGuard guard(b);
    auto yield = tile::YieldOp::create(
        b,
        Value(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, j, bound)));
    MaskRule rule = analyzeMask(region);
    ASSERT_TRUE(rule.isIntervals());
    Block code;
    b.setInsertionPointToEnd(&code);
    buildKeyRanges(
        b, rule, constant(3), constant(40), constant(99),
        [&](Value value, Value row) { return materialize(b, value, i, row); });
    EXPECT_EQ(!code.getOps<scf::ForOp>().empty(), hasLoop)
        << bound.getDefiningOp()->getName().getStringRef().str();
    code.clear();
    yield->erase();
  }
}

/// The same masks turned around: the queries that see a tile of keys.
TEST_F(MaskAnalysis, QueriesAgreeWithBruteForce) {
  int64_t skipped = 0, full = 0;
  for (int round = 0; round < 2000; ++round) {
    random.seed(round);
    region.front().clear();
    b.setInsertionPointToEnd(&region.front());
    buildRandomMask();
    MaskRule rule = analyzeMask(region);
    int64_t first = draw(0, 20), last = first + draw(0, 15);
    int64_t numQueries = draw(0, 40), capture = draw(-10, 10);

    Block code;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&code);
    QueryRange range = buildQueryRange(b, rule, constant(first), constant(last),
                                       constant(numQueries),
                                       [](Value value) { return value; });
    Evaluator evaluator;
    evaluator.values[region.getArgument(4).getAsOpaquePointer()] = capture;
    int64_t begin = evaluator.get(range.begin), end = evaluator.get(range.end),
            fullBegin = evaluator.get(range.fullBegin),
            fullEnd = evaluator.get(range.fullEnd);
    ASSERT_GE(begin, 0) << "round " << round;
    ASSERT_LE(end, numQueries) << "round " << round;
    // Where there is no edge nothing is left out, or seen in part, there.
    if (!range.hasLowerEdge)
      ASSERT_EQ(begin, 0) << "round " << round;
    if (!range.hasUpperEdge)
      ASSERT_EQ(end, numQueries) << "round " << round;
    if (range.hasFull && !range.hasLowerEdge)
      ASSERT_EQ(fullBegin, 0) << "round " << round;
    if (range.hasFull && !range.hasUpperEdge)
      ASSERT_EQ(fullEnd, numQueries) << "round " << round;
    for (int64_t i = 0; i < numQueries; ++i) {
      bool inside = begin <= i && i < end;
      bool whole = range.hasFull && fullBegin <= i && i < fullEnd;
      for (int64_t j = first; j <= last; ++j) {
        bool seen = isSeen(i, j, capture);
        if (seen)
          ASSERT_TRUE(inside) << "round " << round;
        if (whole)
          ASSERT_TRUE(seen) << "round " << round;
        skipped += !inside;
        full += whole;
      }
    }
    code.clear();
  }
  // It is of use: queries are left out, and tiles are seen whole.
  EXPECT_GT(skipped, 10000);
  EXPECT_GT(full, 2000);
}

/// An unknown condition bounds nothing, but leaves the others their bounds.
TEST_F(MaskAnalysis, KeepsWhatItKnows) {
  Value j = region.getArgument(3);
  Value even = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq,
      Value(arith::RemSIOp::create(b, j, constant(2))), constant(0));
  Value causal = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, j,
                                       region.getArgument(2));
  tile::YieldOp::create(b, Value(arith::AndIOp::create(b, even, causal)));
  MaskRule rule = analyzeMask(region);
  ASSERT_EQ(rule.intervals.size(), 1u);
  EXPECT_FALSE(rule.intervals[0].complete);
  ASSERT_EQ(rule.intervals[0].bounds.size(), 1u);
  EXPECT_TRUE(rule.intervals[0].bounds[0].upper);
  EXPECT_EQ(rule.intervals[0].bounds[0].forms[0].query, 1);
}

/// A head that differs within a tile cannot be part of its bounds.
TEST_F(MaskAnalysis, VaryingValuesBoundNothing) {
  Value head = region.getArgument(1);
  tile::YieldOp::create(
      b, Value(arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                     region.getArgument(3), head)));
  EXPECT_EQ(analyzeMask(region).intervals[0].bounds.size(), 1u);
  MaskRule varying = analyzeMask(region, {head});
  EXPECT_TRUE(varying.intervals[0].bounds.empty());
  EXPECT_FALSE(varying.intervals[0].complete);
}

/// What is beyond a length in every interval does not exist.
TEST_F(MaskAnalysis, LengthsAreCommonToAllIntervals) {
  using enum arith::CmpIPredicate;
  Value i = region.getArgument(2), j = region.getArgument(3);
  Value length = region.getArgument(4);
  Value within = arith::CmpIOp::create(b, slt, j, length);
  Value causal = arith::CmpIOp::create(b, sle, j, i);
  Value seventh = arith::CmpIOp::create(b, eq, j, constant(7));
  Value either = arith::OrIOp::create(b, causal, seventh);
  tile::YieldOp::create(b, Value(arith::AndIOp::create(b, within, either)));
  MaskRule rule = analyzeMask(region);
  EXPECT_EQ(rule.intervals.size(), 2u);
  ASSERT_EQ(rule.lengths().size(), 1u);
  EXPECT_EQ(rule.lengths()[0].forms[0].terms[0].first, length);
  EXPECT_TRUE(rule.growsWithQuery());
}

/// A window's bounds differ by a constant.
TEST_F(MaskAnalysis, KnowsTheWidthOfWindows) {
  using enum arith::CmpIPredicate;
  Value i = region.getArgument(2), j = region.getArgument(3);
  Value last = arith::AddIOp::create(b, i, region.getArgument(4));
  Value first = arith::SubIOp::create(b, last, constant(9));
  Value before = arith::CmpIOp::create(b, sle, j, last);
  Value after = arith::CmpIOp::create(b, sgt, j, first);
  tile::YieldOp::create(b, Value(arith::AndIOp::create(b, before, after)));
  MaskRule rule = analyzeMask(region);
  ASSERT_EQ(rule.intervals.size(), 1u);
  EXPECT_EQ(rule.intervals[0].width(), 9);
  rule.intervals[0].bounds.pop_back();
  EXPECT_EQ(rule.intervals[0].width(), std::nullopt);
}

/// Intervals that differ in one bound are one, up to the farther of two bounds.
/// Distances and blocks are intervals with two bounds.
TEST_F(MaskAnalysis, DistancesAndBlocksAreIntervals) {
  Value i = region.getArgument(2), j = region.getArgument(3);
  using enum arith::CmpIPredicate;
  auto ruleOf = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    tile::YieldOp::create(b, Value(arith::CmpIOp::create(b, predicate, x, y)));
    MaskRule rule = analyzeMask(region);
    region.front().getTerminator()->erase();
    return rule;
  };
  Value distance = arith::SubIOp::create(b, i, j);
  Value opposite = arith::SubIOp::create(b, constant(0), distance);
  Value size = arith::MaxSIOp::create(b, distance, opposite);
  for (bool swapped : {false, true}) {
    MaskRule near = swapped ? ruleOf(sge, constant(3), size)
                            : ruleOf(sle, size, constant(3));
    ASSERT_EQ(near.intervals.size(), 1u);
    EXPECT_TRUE(near.intervals[0].complete);
    EXPECT_EQ(near.intervals[0].width(), 7);
    EXPECT_FALSE(near.readsRows());
  }
  EXPECT_EQ(ruleOf(sgt, size, constant(3)).intervals.size(), 2u);

  Value block = arith::DivUIOp::create(b, i, constant(8));
  Value blockOfKey = arith::DivUIOp::create(b, j, constant(8));
  for (bool swapped : {false, true}) {
    MaskRule same =
        swapped ? ruleOf(eq, blockOfKey, block) : ruleOf(eq, block, blockOfKey);
    ASSERT_EQ(same.intervals.size(), 1u);
    EXPECT_TRUE(same.intervals[0].complete);
    EXPECT_EQ(same.intervals[0].width(), 8);
    EXPECT_TRUE(same.readsRows());
  }
  // What may be below 0 is not divided as floor does.
  Value before = arith::SubIOp::create(b, j, constant(1));
  Value part = arith::DivSIOp::create(b, before, constant(8));
  EXPECT_FALSE(ruleOf(eq, part, block).intervals[0].complete);
  Value floor = arith::FloorDivSIOp::create(b, before, constant(8));
  EXPECT_TRUE(ruleOf(eq, floor, block).intervals[0].complete);
}

TEST_F(MaskAnalysis, PrefixAndCausalAreOneInterval) {
  using enum arith::CmpIPredicate;
  Value i = region.getArgument(2), j = region.getArgument(3);
  Value within = arith::CmpIOp::create(b, slt, j, region.getArgument(4));
  Value causal = arith::CmpIOp::create(b, sle, j, i);
  Value prefix = arith::CmpIOp::create(b, slt, j, constant(7));
  Value either = arith::OrIOp::create(b, causal, prefix);
  tile::YieldOp::create(b, Value(arith::AndIOp::create(b, within, either)));
  MaskRule rule = analyzeMask(region);
  ASSERT_EQ(rule.intervals.size(), 1u);
  EXPECT_TRUE(rule.intervals[0].complete);
  ASSERT_EQ(rule.intervals[0].bounds.size(), 2u);
  EXPECT_EQ(rule.intervals[0].bounds[0], rule.lengths()[0]);
  EXPECT_EQ(rule.intervals[0].bounds[1].forms.size(), 2u);
  EXPECT_TRUE(rule.growsWithQuery());
}
