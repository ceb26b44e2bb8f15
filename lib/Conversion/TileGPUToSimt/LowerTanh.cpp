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

/// `operand` as a tile and what all of its elements are multiplied with, a
/// uniform tile or null.
static std::pair<Value, Value> takeFactor(Value operand) {
  if (auto product = operand.getDefiningOp<arith::MulFOp>())
    if (isUniform(product.getRhs()))
      return {product.getLhs(), product.getRhs()};
  return {operand, Value()};
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

/// Softcaps are chosen so that most scores are far below them. Where all of a
/// warp's are, a polynomial does, a third of the instructions of tanh in
/// general. It takes scores before they are scaled: factor^9 is in its last
/// coefficient, so that factors near 2^±13 and beyond do without it. NaN comes
/// out of both forms.
bool SimtLowering::lowerTanh(Operation *op) {
  auto tanh = dyn_cast<math::TanhOp>(op);
  if (!tanh || !getElementTypeOrSelf(tanh.getType()).isF32())
    return false;
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpFOp::create(b, predicate, x, y);
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto [tile, spread] = takeFactor(tanh.getOperand());
  SmallVector<Value> scores(elementsOf(tile));
  Value factor = spread ? elementsOf(spread).front() : constant(1);

  auto coefficientsOf = [&] {
    SmallVector<Value> coefficients;
    Value power = factor, square = times(factor, factor);
    for (float coefficient : kSmallTanh) {
      coefficients.push_back(times(power, constant(coefficient)));
      power = times(power, square);
    }
    return coefficients;
  };
  auto small = [&](ArrayRef<Value> coefficients, Value score) -> Value {
    Value argument = times(score, score), sum = coefficients.back();
    for (Value coefficient : llvm::reverse(coefficients.drop_back()))
      sum = LLVM::FMAOp::create(b, b.getF32Type(), sum, argument, coefficient);
    return times(score, sum);
  };
  Value outOfRange = arith::OrIOp::create(
      b, compare(arith::CmpFPredicate::ULT, factor, constant(0x1p-13f)),
      compare(arith::CmpFPredicate::UGT, factor, constant(0x1p13f)));
  Value isLarge = anyLane(arith::OrIOp::create(
      b, outOfRange,
      compare(arith::CmpFPredicate::OGT, times(largestOf(scores), factor),
              constant(kSmallTanhBound))));
  auto branch = scf::IfOp::create(
      b, isLarge,
      [&](OpBuilder &, Location) {
        SmallVector<Value> results;
        for (Value score : scores)
          results.push_back(math::TanhOp::create(b, times(score, factor)));
        scf::YieldOp::create(b, results);
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> coefficients = coefficientsOf(), results;
        for (Value score : scores)
          results.push_back(small(coefficients, score));
        scf::YieldOp::create(b, results);
      });
  setElements(tanh.getResult(), SmallVector<Value>(branch.getResults()));
  return true;
}
