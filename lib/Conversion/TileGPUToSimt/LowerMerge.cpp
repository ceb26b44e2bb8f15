//===- LowerMerge.cpp - merges of splits of the keys ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merges one behind the other are one: a single maximum of all, one factor for
// the state before and one for each split, and sums of products. None waits for
// the one before it, and the state is scaled once.
//
//===----------------------------------------------------------------------===//

#include "SimtLowerings.h"
#include "SimtSoftmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

using tile::OnlineMergeOp;

/// The merge that alone reads the state that `op` leaves, or null.
static OnlineMergeOp nextOf(OnlineMergeOp op) {
  if (!llvm::all_of(op->getResults(), [](Value v) { return v.hasOneUse(); }))
    return {};
  auto next = dyn_cast<OnlineMergeOp>(*op.getAccOut().user_begin());
  bool continues = next && next->getBlock() == op->getBlock() &&
                   next.getAcc() == op.getAccOut() &&
                   next.getMax() == op.getMaxOut() &&
                   next.getSum() == op.getSumOut();
  return continues ? next : OnlineMergeOp();
}

/// The merges that `last` ends, in order.
static SmallVector<OnlineMergeOp> chainOf(OnlineMergeOp last) {
  SmallVector<OnlineMergeOp> chain = {last};
  for (;;) {
    auto before = chain.back().getAcc().getDefiningOp<OnlineMergeOp>();
    if (!before || nextOf(before) != chain.back())
      break;
    chain.push_back(before);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// Layouts are assigned so that a row's numbers are where its elements are.
static void lowerOnlineMerge(SimtContext &ctx, OnlineMergeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (nextOf(op))
    return;
  SmallVector<OnlineMergeOp> chain = chainOf(op);
  OnlineMergeOp first = chain.front();
  TileLayout layout = layoutOf(op.getAcc()), rows = layoutOf(op.getMax());
  SmallVector<Value> acc(ctx.elementsOf(first.getAcc())),
      oldMax(ctx.elementsOf(first.getMax())),
      sum(ctx.elementsOf(first.getSum()));
  Type f32 = b.getF32Type();
  Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(kLog2e));
  Exponent exponent = exponentOf(ctx, log2e);
  SmallVector<Value> max = oldMax, alphas;
  std::map<Coord, unsigned> rowTable = registerTable(rows);
  SmallVector<SmallVector<Value>> betas(chain.size());
  for (size_t row = 0; row < max.size(); ++row) {
    // Of a NaN and a number the number: the NaN reaches its own factor.
    for (OnlineMergeOp merge : chain)
      max[row] = LLVM::MaxNumOp::create(
          b, f32, max[row], ctx.elementsOf(merge.getOtherMax())[row]);
    auto [factor, offset, alpha] =
        rowExponent(ctx, exponent, oldMax[row], max[row]);
    sum[row] = arith::MulFOp::create(b, sum[row], alpha);
    alphas.push_back(alpha);
    for (auto [merge, beta] : llvm::zip(chain, betas)) {
      // As online_softmax rescales: the rounding of its m c is in the other
      // sum.
      Value scaled = arith::MulFOp::create(
          b, ctx.elementsOf(merge.getOtherMax())[row], factor);
      Value rescale = arith::AddFOp::create(b, scaled, offset);
      // One exponential: that of log_sum alone may be too large for f32.
      beta.push_back(ctx.exp2(LLVM::FMAOp::create(
          b, f32, ctx.elementsOf(merge.getLogSum())[row], log2e, rescale)));
      sum[row] = arith::AddFOp::create(b, sum[row], beta.back());
    }
  }
  for (auto [reg, value] : llvm::enumerate(acc)) {
    unsigned row = rowTable.at(Coord{coordOf(layout, reg)[0]});
    value = arith::MulFOp::create(b, value, alphas[row]);
    for (auto [merge, beta] : llvm::zip(chain, betas))
      value = LLVM::FMAOp::create(
          b, f32, ctx.elementsOf(merge.getOutput())[reg], beta[row], value);
  }
  ctx.setElements(op.getAccOut(), acc);
  ctx.setElements(op.getMaxOut(), max);
  ctx.setElements(op.getSumOut(), sum);
}

void fa::addMergeLowerings(SimtContext &ctx) {
  ctx.registry.add(ctx, lowerOnlineMerge);
}
