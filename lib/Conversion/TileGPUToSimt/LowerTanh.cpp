//===- LowerTanh.cpp - tanh of a tile -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"
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

std::pair<SmallVector<Value>, Value>
SimtLowering::takeFactor(math::TanhOp tanh) {
  Value tile = tanh.getOperand(), spread;
  if (auto product = tile.getDefiningOp<arith::MulFOp>())
    if (isUniform(product.getRhs())) {
      tile = product.getLhs();
      spread = product.getRhs();
    }
  SmallVector<Value> elements(elementsOf(tile));
  if (spread)
    return {elements, elementsOf(spread).front()};
  return {elements, arith::ConstantOp::create(b, b.getF32FloatAttr(1))};
}

/// The largest |x|, by four chains as reduceAlong's.
Value SimtLowering::largestOf(ArrayRef<Value> elements) {
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
Value SimtLowering::evaluate(ArrayRef<Value> coefficients, Value argument) {
  Value sum = coefficients.back();
  for (Value coefficient : llvm::reverse(coefficients.drop_back()))
    sum = LLVM::FMAOp::create(b, b.getF32Type(), sum, argument, coefficient);
  return sum;
}

/// The coefficients of tanh(factor · s) as a polynomial of s².
SmallVector<Value> SimtLowering::scaleCoefficients(const SmallTanh &form,
                                                   Value factor) {
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

Value SimtLowering::isOutOfRange(Value factor) {
  return arith::OrIOp::create(
      b, compare(b, arith::CmpFPredicate::ULT, factor, 0x1p-13f),
      compare(b, arith::CmpFPredicate::UGT, factor, 0x1p13f));
}

Value SimtLowering::isBeyond(ArrayRef<Value> scores, Value factor,
                             float bound) {
  Value largest = arith::MulFOp::create(b, largestOf(scores), factor);
  return arith::OrIOp::create(
      b, isOutOfRange(factor),
      compare(b, arith::CmpFPredicate::OGT, largest, bound));
}

/// Softcaps are chosen so that most scores are far below them. Where all of a
/// warp's are, a polynomial does, a third or a quarter of the instructions of
/// tanh in general. It takes scores before they are scaled: factor^9 is in its
/// last coefficient, so that factors near 2^±13 and beyond do without it. NaN
/// comes out of all forms. The shortest form has one branch before it.
SmallVector<Value> SimtLowering::tanhOf(ArrayRef<Value> scores, Value factor,
                                        ArrayRef<SmallTanh> forms) {
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
      b, anyLane(isBeyond(scores, factor, forms.front().bound)),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, tanhOf(scores, factor, forms.drop_front()));
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> coefficients =
            scaleCoefficients(forms.front(), factor);
        for (Value score : scores)
          results.push_back(
              times(score, evaluate(coefficients, times(score, score))));
        scf::YieldOp::create(b, results);
      });
  return branch.getResults();
}

bool SimtLowering::lowerTanh(Operation *op) {
  auto tanh = dyn_cast<math::TanhOp>(op);
  if (!tanh || !getElementTypeOrSelf(tanh.getType()).isF32())
    return false;
  auto [scores, factor] = takeFactor(tanh);
  // Beside expected maxima it is what is done where a short form does not do.
  setElements(tanh.getResult(),
              tanhOf(scores, factor,
                     ArrayRef(kSmallTanhs).drop_front(expectsMaxima())));
  return true;
}
