//===- LowerCapped.cpp - online softmax of capped scores ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = exp2(c tanh(f s) − m c). Where tanh has a short form, s (c0 + c1 s² +
// ...), c is in its coefficients and its last product is the multiply-add of
// the exponent; and maxima m that are above all such scores (tgpu-cap-maxima)
// stay as they are, so that nobody asks for theirs.
//
//===----------------------------------------------------------------------===//

#include "OddTanh.h"
#include "SimtLowering.h"
#include "SmallTanh.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

math::TanhOp SimtLowering::cappedOf(ExpectedSoftmaxOp op) {
  Value scores = belowMasks(op.getScores());
  return scores && scores.hasOneUse() ? scores.getDefiningOp<math::TanhOp>()
                                      : math::TanhOp();
}

bool SimtLowering::expectsMaxima() {
  return kernel.walk([](ExpectedSoftmaxOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool SimtLowering::hasShortForm(tile::OnlineSoftmaxOp op) {
  return op->hasAttr(TileGPUDialect::cappedScoresAttrName) && !expectsMaxima();
}

bool SimtLowering::isPartOfCapped(Operation *op) {
  while (isa<math::TanhOp, arith::SelectOp>(op) && op->hasOneUse()) {
    OpOperand &use = *op->use_begin();
    if (auto expected = dyn_cast<ExpectedSoftmaxOp>(use.getOwner()))
      return cappedOf(expected) && use.get() == expected.getScores();
    if (auto softmax = dyn_cast<tile::OnlineSoftmaxOp>(use.getOwner()))
      return hasShortForm(softmax) && use.get() == softmax.getScores();
    op = use.getOwner();
  }
  return false;
}

FailureOr<SimtLowering::SoftmaxStep>
SimtLowering::cappedStep(tile::OnlineSoftmaxOp op) {
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  Value capped = belowMasks(op.getScores());
  ScoreMasks masks = masksOf(op.getScores());
  std::pair<SmallVector<Value>, Value> input =
      takeFactor(capped.getDefiningOp<math::TanhOp>());
  SmallVector<Value> &scores = input.first;
  Value factor = input.second;
  Value c = times(mapped(op.getScale()), constant(kLog2e));
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  SmallVector<Value> max(elementsOf(op.getMax())), offsets;
  for (Value m : max)
    offsets.push_back(arith::NegFOp::create(b, times(m, c)));

  SoftmaxStep step;
  auto yield = [&] {
    SmallVector<Value> all;
    for (ArrayRef<Value> part : {step.p, step.max, step.alpha})
      llvm::append_range(all, part);
    scf::YieldOp::create(b, all);
  };
  bool isSound = true;
  auto inGeneral = [&](OpBuilder &, Location) {
    SmallVector<Value> tanhs = tanhOf(scores, factor, kSmallTanhs);
    for (auto [reg, tanh] : llvm::enumerate(tanhs))
      tanh = masked(tanh, masks, reg);
    FailureOr<SoftmaxStep> general = softmaxStep(op, tanhs);
    isSound = succeeded(general);
    if (isSound)
      step = *general;
    yield();
  };
  const SmallTanh &form = kSmallTanhs[0];
  auto inShort = [&](OpBuilder &, Location) {
    SmallVector<Value> coefficients = scaleCoefficients(form, factor);
    for (Value &coefficient : coefficients)
      coefficient = times(coefficient, c);
    step = {{}, max, SmallVector<Value>(max.size(), constant(1))};
    for (auto [reg, score] : llvm::enumerate(scores)) {
      Value sum = evaluate(coefficients, times(score, score));
      Value offset = offsets[rowTable.at(Coord{coordOf(layout, reg)[0]})];
      Value exponent = LLVM::FMAOp::create(b, f32, score, sum, offset);
      step.p.push_back(exp2(masked(exponent, masks, reg)));
    }
    yield();
  };
  float share =
      op->getAttrOfType<FloatAttr>(TileGPUDialect::cappedScoresAttrName)
          .getValue()
          .convertToFloat();
  Value isSlow = isBeyond(scores, factor, std::min(share, form.bound));
  for (Value m : max)
    isSlow =
        arith::OrIOp::create(b, isSlow,
                             arith::CmpFOp::create(b, arith::CmpFPredicate::ULT,
                                                   m, constant(share)));
  auto branch = scf::IfOp::create(b, anyLane(isSlow), inGeneral, inShort);
  if (!isSound)
    return failure();
  ValueRange results = branch.getResults();
  size_t count = scores.size(), rowCount = max.size();
  return SoftmaxStep{results.take_front(count), results.slice(count, rowCount),
                     results.take_back(rowCount)};
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

OddTanh SimtLowering::tanhUpTo(ExpectedSoftmaxOp op) {
  APFloat constant(0.0f);
  [[maybe_unused]] bool isConstant =
      matchPattern(op.getScale(), m_ConstantFloat(&constant));
  assert(isConstant && "tgpu-expect-maxima takes constant caps");
  double cap = constant.convertToFloat(), error = scoreError(kernel) / cap;
  OddTanh form = oddTanhWithin(3, error);
  return form.bound * cap < kFar ? oddTanhWithin(4, error) : form;
}

/// i1: whether one of these, none of which is negative, is above `limit`. As
/// integers, which are in the same order and of which one instruction takes
/// three; NaN is above all.
Value SimtLowering::squareAbove(ArrayRef<Value> squares, Value limit) {
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

std::pair<SmallVector<Value>, Value>
SimtLowering::cappedExponents(ExpectedSoftmaxOp op, Value c,
                              llvm::function_ref<Value(size_t)> offsetOf) {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  OddTanh form = tanhUpTo(op);
  auto [scores, factor] = takeFactor(cappedOf(op));
  ScoreMasks masks = masksOf(op.getScores());
  SmallVector<Value> coefficients, squares, exponents;
  Value power = times(factor, c), square = times(factor, factor);
  for (double coefficient : form.coefficients) {
    coefficients.push_back(times(power, constant(coefficient)));
    power = times(power, square);
  }
  for (auto [reg, score] : llvm::enumerate(scores)) {
    squares.push_back(times(score, score));
    Value sum = evaluate(coefficients, squares.back());
    Value exponent =
        LLVM::FMAOp::create(b, b.getF32Type(), score, sum, offsetOf(reg));
    exponents.push_back(masked(exponent, masks, reg));
  }
  Value bound = arith::DivFOp::create(b, constant(form.bound), factor);
  Value isFar = arith::OrIOp::create(b, isOutOfRange(factor),
                                     squareAbove(squares, times(bound, bound)));
  return {exponents, isFar};
}
