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

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

Value SimtLowering::anyOfDot(Value) {
  llvm_unreachable("dots of slots are of targets that can repeat them");
}

LogicalResult SimtLowering::lowerExpectedSoftmax(ExpectedSoftmaxOp op) {
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value c = constant(kLog2e);
  if (op.getScale())
    c = arith::MulFOp::create(b, mapped(op.getScale()), c);
  Value shift = firstOfRamp(op.getScores());
  Exponent exponent = exponentOf(c, /*limited=*/!shift);

  // A maximum whose product with c is not what exponents are taken of, or that
  // is infinite, is none to expect.
  Value rises;
  auto risesIf = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    Value is = arith::CmpFOp::create(b, predicate, x, y);
    rises = rises ? arith::OrIOp::create(b, rises, is) : is;
  };
  SmallVector<Value> offsets, p;
  for (Value m : SmallVector<Value>(elementsOf(op.getMax()))) {
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
    auto [exponents, isFar] = cappedExponents(op, exponent.c, offsetOf);
    rises = arith::OrIOp::create(b, rises, isFar);
    for (Value capped : exponents)
      p.push_back(exp2(capped));
  } else {
    for (auto [reg, score] : llvm::enumerate(elementsOf(op.getScores())))
      p.push_back(
          exp2(LLVM::FMAOp::create(b, f32, score, exponent.c, offsetOf(reg))));
  }
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto sums = reduceAlong(op, p, layout, 1, rows, plus, /*overLanes=*/false);
  if (failed(sums))
    return failure();
  // What `holdMax` keeps p below, but that f16 holds 2^11 as well as 2^7: sums
  // of a tile that is as large as the largest score reach 2^5.
  for (Value sum : *sums)
    risesIf(arith::CmpFPredicate::UGT, sum,
            constant(exponent.startsAbove > 0 ? 1.0f : 0x1p11f));
  setElements(op.getP(), p);
  setElements(op.getSum(), *sums);
  mapping.map(op.getRises(), anyOfDot(rises));
  return success();
}
