//===- MaskAnalysisTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random masks, their intervals against every single element.
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
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
      return constant.getSExtValue();
    Operation *op = value.getDefiningOp();
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
    if (isa<arith::RemSIOp>(op))
      return y ? x % y : 0;
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
    default:
      ADD_FAILURE() << "a predicate that the test does not build";
      return 0;
    }
  }
};

class MaskAnalysis : public testing::Test {
protected:
  MaskAnalysis() : b(UnknownLoc::get(&context), &context) {
    context.loadDialect<arith::ArithDialect, tile::TileDialect>();
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
      if (draw(0, 3) == 0)
        term = arith::MulIOp::create(b, constant(draw(-2, 2)), term);
      if (draw(0, 1))
        sum = arith::AddIOp::create(b, sum, term);
      else
        sum = arith::SubIOp::create(b, term, sum);
    }
    return sum;
  }

  Value randomTerm() {
    using enum arith::CmpIPredicate;
    arith::CmpIPredicate predicates[] = {sle, slt, sge, sgt, eq};
    if (draw(0, 9) == 0) // not affine
      return arith::CmpIOp::create(
          b, eq,
          Value(arith::RemSIOp::create(b, region.getArgument(3), constant(3))),
          constant(0));
    Value lhs = draw(0, 1) ? Value(region.getArgument(3)) : randomForm();
    return arith::CmpIOp::create(b, predicates[draw(0, 4)], lhs, randomForm());
  }

  void buildRandomMask() {
    Value mask = randomTerm();
    for (int64_t n = draw(0, 2); n > 0; --n)
      mask = arith::AndIOp::create(b, mask, randomTerm());
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

TEST_F(MaskAnalysis, AgreesWithBruteForce) {
  int64_t complete = 0, skipped = 0, full = 0;
  for (int round = 0; round < 500; ++round) {
    random.seed(round);
    region.front().clear();
    b.setInsertionPointToEnd(&region.front());
    buildRandomMask();
    MaskBounds bounds = analyzeMask(region);
    complete += bounds.complete;
    int64_t first = draw(0, 20), last = first + draw(0, 15);
    int64_t length = draw(0, 40), capture = draw(-10, 10);

    Block code;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&code);
    KeyIntervals keys =
        buildKeyIntervals(b, bounds, constant(first), constant(last),
                          constant(length), [](Value value) { return value; });
    Evaluator evaluator;
    evaluator.values[region.getArgument(4).getAsOpaquePointer()] = capture;
    int64_t begin = evaluator.get(keys.begin), end = evaluator.get(keys.end);
    int64_t fullBegin = evaluator.get(keys.fullBegin);
    int64_t fullEnd = evaluator.get(keys.fullEnd);
    for (int64_t i = first; i <= last; ++i)
      for (int64_t j = 0; j < length; ++j) {
        bool seen = isSeen(i, j, capture);
        if (seen)
          ASSERT_TRUE(begin <= j && j < end) << "round " << round;
        if (fullBegin <= j && j < fullEnd)
          ASSERT_TRUE(seen) << "round " << round;
        skipped += j < begin || j >= end;
        full += fullBegin <= j && j < fullEnd;
      }
    code.clear();
  }
  // The analysis is of use: it understands masks, skips and finds whole tiles.
  EXPECT_GT(complete, 50);
  EXPECT_GT(skipped, 10000);
  EXPECT_GT(full, 1000);
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
  MaskBounds bounds = analyzeMask(region);
  EXPECT_FALSE(bounds.complete);
  ASSERT_EQ(bounds.bounds.size(), 1u);
  EXPECT_TRUE(bounds.bounds[0].upper);
  EXPECT_EQ(bounds.bounds[0].form.query, 1);
}

/// A head that differs within a tile cannot be part of its bounds.
TEST_F(MaskAnalysis, VaryingValuesBoundNothing) {
  Value head = region.getArgument(1);
  tile::YieldOp::create(
      b, Value(arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                     region.getArgument(3), head)));
  EXPECT_EQ(analyzeMask(region).bounds.size(), 1u);
  MaskBounds varying = analyzeMask(region, {head});
  EXPECT_TRUE(varying.bounds.empty());
  EXPECT_FALSE(varying.complete);
}
