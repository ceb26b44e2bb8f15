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

#include "SimtLowerings.h"
#include "SimtSoftmax.h"
#include "SmallTanh.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

bool fa::hasShortForm(SimtContext &ctx, tile::OnlineSoftmaxOp op) {
  return op->hasAttr(TileGPUDialect::cappedScoresAttrName) &&
         !ctx.expectsMaxima();
}

OpOperand *fa::useOfCapped(Operation *op) {
  while (op->hasOneUse()) {
    OpOperand &use = *op->use_begin();
    op = use.getOwner();
    if (!isa<math::TanhOp, arith::SelectOp>(op))
      return &use;
  }
  return nullptr;
}

/// Whether a step lowers `op` with its scores.
template <typename OpT> static bool isPartOfCapped(SimtContext &ctx, OpT op) {
  OpOperand *use = useOfCapped(op);
  auto softmax = use ? dyn_cast<tile::OnlineSoftmaxOp>(use->getOwner())
                     : tile::OnlineSoftmaxOp();
  return softmax && hasShortForm(ctx, softmax) &&
         use->get() == softmax.getScores();
}

FailureOr<SoftmaxStep> fa::cappedStep(SimtContext &ctx,
                                      tile::OnlineSoftmaxOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  Value capped = belowMasks(op.getScores());
  ScoreMasks masks = masksOf(ctx, op.getScores());
  std::pair<SmallVector<Value>, Value> input =
      takeFactor(ctx, capped.getDefiningOp<math::TanhOp>());
  SmallVector<Value> &scores = input.first;
  Value factor = input.second;
  Value c = times(ctx.mapped(op.getScale()), constant(kLog2e));
  TileLayout layout = layoutOf(op.getScores()), rows = layoutOf(op.getMax());
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  SmallVector<Value> max(ctx.elementsOf(op.getMax())), offsets;
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
    SmallVector<Value> tanhs = tanhOf(ctx, scores, factor, kSmallTanhs);
    for (auto [reg, tanh] : llvm::enumerate(tanhs))
      tanh = masked(ctx, tanh, masks, reg);
    FailureOr<SoftmaxStep> general = softmaxStep(ctx, op, tanhs);
    isSound = succeeded(general);
    if (isSound)
      step = *general;
    yield();
  };
  const SmallTanh &form = kSmallTanhs[0];
  auto inShort = [&](OpBuilder &, Location) {
    SmallVector<Value> coefficients = scaleCoefficients(ctx, form, factor);
    for (Value &coefficient : coefficients)
      coefficient = times(coefficient, c);
    step = {{}, max, SmallVector<Value>(max.size(), constant(1))};
    for (auto [reg, score] : llvm::enumerate(scores)) {
      Value sum = evaluate(ctx, coefficients, times(score, score));
      Value offset = offsets[rowTable.at(Coord{coordOf(layout, reg)[0]})];
      Value exponent = LLVM::FMAOp::create(b, f32, score, sum, offset);
      step.p.push_back(ctx.exp2(masked(ctx, exponent, masks, reg)));
    }
    yield();
  };
  float share =
      op->getAttrOfType<FloatAttr>(TileGPUDialect::cappedScoresAttrName)
          .getValue()
          .convertToFloat();
  Value isSlow = isBeyond(ctx, scores, factor, std::min(share, form.bound));
  for (Value m : max)
    isSlow =
        arith::OrIOp::create(b, isSlow,
                             arith::CmpFOp::create(b, arith::CmpFPredicate::ULT,
                                                   m, constant(share)));
  auto branch = scf::IfOp::create(b, ctx.anyLane(isSlow), inGeneral, inShort);
  if (!isSound)
    return failure();
  ValueRange results = branch.getResults();
  size_t count = scores.size(), rowCount = max.size();
  return SoftmaxStep{results.take_front(count), results.slice(count, rowCount),
                     results.take_back(rowCount)};
}

void fa::addCappedLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, isPartOfCapped<math::TanhOp>);
  ctx.registry.addForm(ctx, isPartOfCapped<arith::SelectOp>);
}
