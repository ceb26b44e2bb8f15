//===- LowerTanh.cpp - tanh of a tile -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Whether all elements of the tile are one number.
static bool isUniform(Value tile) {
  auto spread = tile.getDefiningOp<tile::BroadcastOp>();
  return matchPattern(tile, m_Constant()) ||
         (spread && !isa<RankedTensorType>(spread.getInput().getType()));
}

std::pair<SmallVector<Value>, Value> fa::takeFactor(SimtContext &ctx,
                                                    math::TanhOp tanh) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value tile = tanh.getOperand(), spread;
  if (auto product = tile.getDefiningOp<arith::MulFOp>())
    if (isUniform(product.getRhs())) {
      tile = product.getLhs();
      spread = product.getRhs();
    }
  SmallVector<Value> elements(ctx.elementsOf(tile));
  if (spread)
    return {elements, ctx.elementsOf(spread).front()};
  return {elements, arith::ConstantOp::create(b, b.getF32FloatAttr(1))};
}

/// The largest |x|, by four chains as reduceAlong's.
static Value largestOf(SimtContext &ctx, ArrayRef<Value> elements) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type f32 = b.getF32Type();
  SmallVector<Value, 4> chains;
  auto larger = [&](Value x, Value y) -> Value {
    return LLVM::MaxNumOp::create(b, f32, x, y);
  };
  for (auto [n, element] : llvm::enumerate(elements)) {
    Value size = LLVM::FAbsOp::create(b, f32, element);
    if (n < 4)
      chains.push_back(size);
    else
      chains[n % 4] = larger(chains[n % 4], size);
  }
  return llvm::accumulate(ArrayRef(chains).drop_front(), chains[0], larger);
}

/// The polynomial with these coefficients, by Horner's rule.
Value fa::evaluate(SimtContext &ctx, ArrayRef<Value> coefficients,
                   Value argument) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value sum = coefficients.back();
  for (Value coefficient : llvm::reverse(coefficients.drop_back()))
    sum = LLVM::FMAOp::create(b, b.getF32Type(), sum, argument, coefficient);
  return sum;
}

/// The coefficients of tanh(factor · s) as a polynomial of s².
SmallVector<Value> fa::scaleCoefficients(SimtContext &ctx,
                                         const SmallTanh &form, Value factor) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  SmallVector<Value> coefficients;
  Value power = factor, square = times(factor, factor);
  for (float coefficient : form.coefficients) {
    Value constant =
        arith::ConstantOp::create(b, b.getF32FloatAttr(coefficient));
    coefficients.push_back(times(power, constant));
    power = times(power, square);
  }
  return coefficients;
}

/// i1: comparison with a constant.
static Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate,
                     Value x, float y) {
  Value constant = arith::ConstantOp::create(b, b.getF32FloatAttr(y));
  return arith::CmpFOp::create(b, predicate, x, constant);
}

Value fa::isOutOfRange(SimtContext &ctx, Value factor) {
  ImplicitLocOpBuilder &b = ctx.b;
  return arith::OrIOp::create(
      b, compare(b, arith::CmpFPredicate::ULT, factor, 0x1p-13f),
      compare(b, arith::CmpFPredicate::UGT, factor, 0x1p13f));
}

Value fa::isBeyond(SimtContext &ctx, ArrayRef<Value> scores, Value factor,
                   float bound) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value largest = arith::MulFOp::create(b, largestOf(ctx, scores), factor);
  return arith::OrIOp::create(
      b, isOutOfRange(ctx, factor),
      compare(b, arith::CmpFPredicate::OGT, largest, bound));
}

/// Softcaps are chosen so that most scores are far below them. Where all of a
/// warp's are, a polynomial does, a third or a quarter of the instructions of
/// tanh in general. It takes scores before they are scaled: factor^9 is in its
/// last coefficient, so that factors near 2^±13 and beyond do without it. NaN
/// comes out of all forms. The shortest form has one branch before it.
SmallVector<Value> fa::tanhOf(SimtContext &ctx, ArrayRef<Value> scores,
                              Value factor, ArrayRef<SmallTanh> forms) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  SmallVector<Value> results;
  if (forms.empty()) {
    for (Value score : scores)
      results.push_back(math::TanhOp::create(b, times(score, factor)));
    return results;
  }
  auto branch = scf::IfOp::create(
      b, ctx.anyLane(isBeyond(ctx, scores, factor, forms.front().bound)),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b,
                             tanhOf(ctx, scores, factor, forms.drop_front()));
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> coefficients =
            scaleCoefficients(ctx, forms.front(), factor);
        for (Value score : scores)
          results.push_back(
              times(score, evaluate(ctx, coefficients, times(score, score))));
        scf::YieldOp::create(b, results);
      });
  return branch.getResults();
}

static bool lowerTanh(SimtContext &ctx, math::TanhOp tanh) {
  if (!getElementTypeOrSelf(tanh.getType()).isF32())
    return false;
  auto [scores, factor] = takeFactor(ctx, tanh);
  // Beside expected maxima it is what is done where a short form does not do.
  ctx.setElements(
      tanh.getResult(),
      tanhOf(ctx, scores, factor,
             ArrayRef(kSmallTanhs).drop_front(ctx.expectsMaxima())));
  return true;
}

void fa::addTanhLowerings(SimtContext &ctx) {
  ctx.registry.addForm(ctx, lowerTanh);
}
