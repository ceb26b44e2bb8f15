//===- LowerExpected.cpp - online softmax by the old maxima ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = exp2(s c − m c) with the maxima m that the rows have
// (tgpu-expect-maxima). No p is above the sum of those that its thread holds of
// its row; where such a sum is too large, infinite or NaN, the scores are
// computed again – there are no registers to keep them in – and the step is
// that with maxima.
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

SmallVector<Value> SimtLowering::repeatDot(DotStartOp) {
  llvm_unreachable("dots of slots are of targets that can repeat them");
}

Value SimtLowering::anyOfDot(Value) {
  llvm_unreachable("dots of slots are of targets that can repeat them");
}

FailureOr<SimtLowering::SoftmaxStep>
SimtLowering::expectedStep(tile::OnlineSoftmaxOp op) {
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto sumOf = [&](ArrayRef<Value> p) {
    auto plus = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    };
    return reduceAlong(op, p, layoutOf(op.getScores()), 1,
                       layoutOf(op.getMax()), plus, /*overLanes=*/false);
  };
  auto wait = belowMasks(op.getScores()).getDefiningOp<DotWaitOp>();
  ScoreMasks masks = masksOf(op.getScores());
  Value c = constant(kLog2e);
  if (op.getScale())
    c = arith::MulFOp::create(b, mapped(op.getScale()), c);
  Exponent exponent = exponentOf(c);

  // A maximum whose product with c is not what exponents are taken of, or that
  // is infinite, is none to expect.
  Value isSlow;
  auto slowIf = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    Value is = arith::CmpFOp::create(b, predicate, x, y);
    isSlow = isSlow ? arith::OrIOp::create(b, isSlow, is) : is;
  };
  SmallVector<Value> max(elementsOf(op.getMax())), offsets;
  for (Value m : max) {
    slowIf(arith::CmpFPredicate::UGE, LLVM::FAbsOp::create(b, f32, m),
           exponent.limit);
    offsets.push_back(
        arith::NegFOp::create(b, arith::MulFOp::create(b, m, exponent.c)));
  }
  TileLayout layout = layoutOf(op.getScores());
  std::map<Coord, unsigned> rowTable = registerTable(layoutOf(op.getMax()));
  SoftmaxStep fast = {{}, max, SmallVector<Value>(max.size(), constant(1))};
  for (auto [reg, score] : llvm::enumerate(elementsOf(wait.getResult()))) {
    Value offset = offsets[rowTable.at(Coord{coordOf(layout, reg)[0]})];
    Value x = LLVM::FMAOp::create(b, f32, score, exponent.c, offset);
    fast.p.push_back(exp2(masked(x, masks, reg)));
  }
  auto sums = sumOf(fast.p);
  if (failed(sums))
    return failure();
  fast.sum = *sums;
  // What `holdMax` keeps p below, but that f16 holds 2^11 as well as 2^7: sums
  // of a tile that is as large as the largest score reach 2^5.
  for (Value sum : fast.sum)
    slowIf(arith::CmpFPredicate::UGT, sum,
           constant(exponent.startsAbove ? 1.0f : 0x1p11f));

  auto yield = [&](const SoftmaxStep &step) {
    SmallVector<Value> all;
    for (ArrayRef<Value> part : {step.p, step.max, step.alpha, step.sum})
      llvm::append_range(all, part);
    scf::YieldOp::create(b, all);
  };
  bool isSound = true;
  auto again = [&](OpBuilder &, Location) {
    SmallVector<Value> scores =
        repeatDot(wait.getRunning().getDefiningOp<DotStartOp>());
    for (auto [reg, score] : llvm::enumerate(scores))
      score = masked(score, masks, reg);
    FailureOr<SoftmaxStep> slow = softmaxStep(op, scores);
    isSound = succeeded(slow);
    if (!isSound)
      return yield(fast);
    slow->sum = *sumOf(slow->p);
    yield(*slow);
  };
  auto branch = scf::IfOp::create(b, anyOfDot(isSlow), again,
                                  [&](OpBuilder &, Location) { yield(fast); });
  if (!isSound)
    return failure();
  ValueRange results = branch.getResults();
  size_t count = fast.p.size(), rowCount = max.size();
  return SoftmaxStep{results.take_front(count), results.slice(count, rowCount),
                     results.slice(count + rowCount, rowCount),
                     results.take_back(rowCount)};
}
