//===- LowerExpected.cpp - online softmax by the old maxima ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = exp2(s c − m c) with the maxima m that the rows have
// (tgpu-expect-maxima). No p is above the sum of those that its thread holds of
// its row; where such a sum is too large, infinite or NaN, a score has risen.
//
//===----------------------------------------------------------------------===//

#include "../TileGPUToSimt/OddTanh.h"
#include "../TileGPUToSimt/SimtSoftmax.h"
#include "NvidiaLowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// What caps the scores of `op`, below their masks; null: nothing does.
static math::TanhOp cappedOf(ExpectedSoftmaxOp op) {
  Value scores = belowMasks(op.getScores());
  return scores && scores.hasOneUse() ? scores.getDefiningOp<math::TanhOp>()
                                      : math::TanhOp();
}

bool NvidiaContext::expectsMaxima() {
  return kernel.walk([](ExpectedSoftmaxOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether a step lowers `op` with its scores.
template <typename OpT> static bool isPartOfExpected(NvidiaContext &, OpT op) {
  OpOperand *use = useOfCapped(op);
  auto expected =
      use ? dyn_cast<ExpectedSoftmaxOp>(use->getOwner()) : ExpectedSoftmaxOp();
  return expected && cappedOf(expected) && use->get() == expected.getScores();
}

/// The error of a capped score that no output shows: P is rounded to 2^-9 or
/// 2^-12 of each p, which leaves 2^5 and 2^4 times as much, a log-sum-exp to
/// 1e-5.
static double scoreError(tile::KernelOp kernel) {
  double error = 0x1p-14;
  kernel.walk([&](Operation *op) {
    if (isa<arith::TruncFOp>(op) &&
        getElementTypeOrSelf(op->getResult(0)).isF16())
      error = std::min(error, 0x1p-16);
    auto end = dyn_cast<tile::OnlineFinalizeOp>(op);
    if (end && !end.getLse().use_empty())
      error = std::min(error, 5e-6);
  });
  return error;
}

/// The shorter polynomial of two that does up to such scores, or the longer:
/// what one more term takes was measured as 5 %, scores that are beyond as 30 %
/// (bench/results/schedule-notes.md, "Softcaps"), and those of models reach
/// further than normally distributed ones.
static constexpr double kFar = 12;

static OddTanh tanhUpTo(NvidiaContext &ctx, ExpectedSoftmaxOp op) {
  APFloat constant(0.0f);
  [[maybe_unused]] bool isConstant =
      matchPattern(op.getScale(), m_ConstantFloat(&constant));
  assert(isConstant && "tgpu-expect-maxima takes constant caps");
  double cap = constant.convertToFloat(), error = scoreError(ctx.kernel) / cap;
  OddTanh form = oddTanhWithin(3, error);
  return form.bound * cap < kFar ? oddTanhWithin(4, error) : form;
}

/// i1: whether one of these, none of which is negative, is above `limit`. As
/// integers, which are in the same order and of which one instruction takes
/// three; NaN is above all.
static Value squareAbove(NvidiaContext &ctx, ArrayRef<Value> squares,
                         Value limit) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto bits = [&](Value x) -> Value {
    return arith::BitcastOp::create(b, b.getI32Type(), x);
  };
  auto larger = [&](Value x, Value y) -> Value {
    return arith::MaxSIOp::create(b, x, y);
  };
  SmallVector<Value, 4> chains;
  for (auto [n, square] : llvm::enumerate(squares)) {
    size_t chain = n / 2 % 4;
    if (n >= 8 && n % 2)
      chains[chain] =
          larger(larger(bits(squares[n - 1]), bits(square)), chains[chain]);
    else if (n < 8 && n % 2)
      chains.push_back(larger(bits(squares[n - 1]), bits(square)));
  }
  Value largest =
      llvm::accumulate(ArrayRef(chains).drop_front(), chains[0], larger);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, largest,
                               bits(limit));
}

/// The exponents of such scores, c tanh(f s) + the offset of each register, by
/// a short polynomial, and whether a score of this thread is beyond what that
/// is for.
static std::pair<SmallVector<Value>, Value>
cappedExponents(NvidiaContext &ctx, ExpectedSoftmaxOp op, Value c,
                llvm::function_ref<Value(size_t)> offsetOf) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  OddTanh form = tanhUpTo(ctx, op);
  auto [scores, factor] = takeFactor(ctx, cappedOf(op));
  ScoreMasks masks = masksOf(ctx, op.getScores());
  SmallVector<Value> coefficients, squares, exponents;
  Value power = times(factor, c), square = times(factor, factor);
  for (double coefficient : form.coefficients) {
    coefficients.push_back(times(power, constant(coefficient)));
    power = times(power, square);
  }
  for (auto [reg, score] : llvm::enumerate(scores)) {
    squares.push_back(times(score, score));
    Value sum = evaluate(ctx, coefficients, squares.back());
    Value exponent =
        LLVM::FMAOp::create(b, b.getF32Type(), score, sum, offsetOf(reg));
    exponents.push_back(masked(ctx, exponent, masks, reg));
  }
  Value bound = arith::DivFOp::create(b, constant(form.bound), factor);
  Value isFar =
      arith::OrIOp::create(b, isOutOfRange(ctx, factor),
                           squareAbove(ctx, squares, times(bound, bound)));
  return {exponents, isFar};
}

static LogicalResult lowerExpectedSoftmax(NvidiaContext &ctx,
                                          ExpectedSoftmaxOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value c = constant(kLog2e);
  if (op.getScale())
    c = arith::MulFOp::create(b, ctx.mapped(op.getScale()), c);
  Value shift = ctx.firstOfRamp(op.getScores());
  Exponent exponent = exponentOf(ctx, c, /*limited=*/!shift);

  // A maximum whose product with c is not what exponents are taken of, or that
  // is infinite, is none to expect.
  Value rises;
  auto risesIf = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    Value is = arith::CmpFOp::create(b, predicate, x, y);
    rises = rises ? arith::OrIOp::create(b, rises, is) : is;
  };
  SmallVector<Value> offsets, p;
  for (Value m : SmallVector<Value>(ctx.elementsOf(op.getMax()))) {
    auto productOf = [&](Value max) -> Value {
      return arith::MulFOp::create(b, max, exponent.c);
    };
    auto risesFrom = [&](Value value, Value limit) {
      risesIf(arith::CmpFPredicate::UGE, LLVM::FAbsOp::create(b, f32, value),
              limit);
    };
    Value product = productOf(m);
    if (shift) {
      Value most = constant(exponent.mostProduct);
      risesFrom(product, most);
      product = productOf(arith::SubFOp::create(b, m, shift));
      risesFrom(product, most);
    } else {
      risesFrom(m, exponent.limit);
    }
    offsets.push_back(arith::NegFOp::create(b, product));
  }
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  auto offsetOf = [&](size_t reg) {
    return offsets[rowTable.at(Coord{coordOf(layout, reg)[0]})];
  };
  if (cappedOf(op)) {
    auto [exponents, isFar] = cappedExponents(ctx, op, exponent.c, offsetOf);
    rises = arith::OrIOp::create(b, rises, isFar);
    for (Value capped : exponents)
      p.push_back(ctx.exp2(capped));
  } else {
    for (auto [reg, score] : llvm::enumerate(ctx.elementsOf(op.getScores())))
      p.push_back(ctx.exp2(
          LLVM::FMAOp::create(b, f32, score, exponent.c, offsetOf(reg))));
  }
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto sums =
      reduceAlong(ctx, op, p, layout, 1, rows, plus, /*overLanes=*/false);
  if (failed(sums))
    return failure();
  // What `holdMax` keeps p below, but that f16 holds 2^11 as well as 2^7: sums
  // of a tile that is as large as the largest score reach 2^5.
  for (Value sum : *sums)
    risesIf(arith::CmpFPredicate::UGT, sum,
            constant(exponent.startsAbove > 0 ? 1.0f : 0x1p11f));
  ctx.setElements(op.getP(), p);
  ctx.setElements(op.getSum(), *sums);
  ctx.mapping.map(op.getRises(), meetConsumer(ctx, rises));
  return success();
}

void fa::addExpectedLowerings(NvidiaContext &ctx) {
  ctx.registry.add(ctx, lowerExpectedSoftmax);
  ctx.registry.addForm(ctx, isPartOfExpected<math::TanhOp>);
  ctx.registry.addForm(ctx, isPartOfExpected<arith::SelectOp>);
}
