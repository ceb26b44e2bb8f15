//===- LowerMerge.cpp - the end of online softmax, merges -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLowerings.h"
#include "HostSoftmax.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

//===----------------------------------------------------------------------===//
// OnlineFinalizeOp
//===----------------------------------------------------------------------===//

Value fa::emitLogSumExp(HostContext &ctx, tile::OnlineFinalizeOp op, Value max,
                        Value sum) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value log = math::LogOp::create(b, sum);
  return op.getMaxOut() ? log : Value(arith::AddFOp::create(b, max, log));
}

static LogicalResult lowerOnlineFinalize(HostContext &ctx,
                                         tile::OnlineFinalizeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  if (failed(verifyMatrix(op, type)))
    return failure();
  // In place of what nobody reads later: that is in the caches.
  auto held = ctx.buffers.find(op.getAcc());
  TileBuffer output = held != ctx.buffers.end() && op.getAcc().hasOneUse() &&
                              held->second.form == TileForm::Lanes
                          ? held->second
                          : ctx.allocate(type, TileForm::Lanes);
  TileBuffer lse = ctx.allocate(cast<RankedTensorType>(op.getLse().getType()),
                                TileForm::Lanes);
  ctx.forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = ctx.addIndex(row, v * ctx.lanes());
      Value sum = ctx.evaluateVector(op.getSum(), {{at, true}});
      Value max = ctx.evaluateVector(op.getMax(), {{at, true}});
      Value zero = ctx.constantVector(0.0);
      // Not a product with 0: the accumulator of an empty row may hold a NaN
      // from a masked V.
      Value empty =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
      Value inverse = arith::DivFOp::create(b, ctx.constantVector(1.0), sum);
      if (!op.getLse().use_empty())
        vector::StoreOp::create(b, emitLogSumExp(ctx, op, max, sum), lse.memref,
                                at);
      auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                     ctx.constantIndex(type.getDimSize(1)),
                                     ctx.constantIndex(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar();
      Value acc = ctx.evaluateVector(op.getAcc(), {{at, true}, {col}});
      Value scaled = arith::MulFOp::create(b, acc, inverse);
      vector::StoreOp::create(
          b, Value(arith::SelectOp::create(b, empty, zero, scaled)),
          output.memref, ValueRange{col, at});
    }
  });
  ctx.buffers[op.getOutput()] = output;
  ctx.buffers[op.getLse()] = lse;
  if (op.getMaxOut())
    ctx.buffers[op.getMaxOut()] = ctx.materialize(op.getMax(), TileForm::Lanes);
  return success();
}

//===----------------------------------------------------------------------===//
// OnlineMergeOp
//===----------------------------------------------------------------------===//

std::pair<Value, Value> fa::emitMergeFactors(HostContext &ctx,
                                             tile::OnlineMergeOp op, Value at,
                                             TileBuffer maxOut,
                                             TileBuffer sumOut) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value oldMax = ctx.evaluateVector(op.getMax(), {{at, true}});
  Value otherMax = ctx.evaluateVector(op.getOtherMax(), {{at, true}});
  Value logSum = ctx.evaluateVector(op.getLogSum(), {{at, true}});
  Value max = emitMax(b, otherMax, oldMax);
  Value finite = emitFinite(ctx, max);
  Value alpha = emitExponential(ctx, oldMax, finite);
  // One exponential: of log_sum alone it may be too large. exp(89) is inf.
  Value size = arith::AddFOp::create(
      b, Value(arith::SubFOp::create(b, otherMax, finite)), logSum);
  Value beta =
      emitExp(b, arith::MinimumFOp::create(b, size, ctx.constantVector(89.0)));
  Value sum = ctx.evaluateVector(op.getSum(), {{at, true}});
  vector::StoreOp::create(b, max, maxOut.memref, at);
  vector::StoreOp::create(b, Value(vector::FMAOp::create(b, sum, alpha, beta)),
                          sumOut.memref, at);
  return {alpha, beta};
}

static LogicalResult lowerOnlineMerge(HostContext &ctx,
                                      tile::OnlineMergeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  if (failed(verifyMatrix(op, type)))
    return failure();
  TileBuffer acc = ctx.allocate(type, TileForm::Lanes);
  TileBuffer maxOut = ctx.allocate(rowType, TileForm::Lanes);
  TileBuffer sumOut = ctx.allocate(rowType, TileForm::Lanes);
  ctx.forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = ctx.addIndex(row, v * ctx.lanes());
      auto [alpha, beta] = emitMergeFactors(ctx, op, at, maxOut, sumOut);
      auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                     ctx.constantIndex(type.getDimSize(1)),
                                     ctx.constantIndex(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value col = loop.getInductionVar();
      Value before = arith::MulFOp::create(
          b, ctx.evaluateVector(op.getAcc(), {{at, true}, {col}}), alpha);
      Value output = ctx.evaluateVector(op.getOutput(), {{at, true}, {col}});
      vector::StoreOp::create(
          b, Value(vector::FMAOp::create(b, output, beta, before)), acc.memref,
          ValueRange{col, at});
    }
  });
  ctx.buffers[op.getAccOut()] = acc;
  ctx.buffers[op.getMaxOut()] = maxOut;
  ctx.buffers[op.getSumOut()] = sumOut;
  return success();
}

void fa::addMergeLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerOnlineFinalize);
  ctx.registry.add(ctx, lowerOnlineMerge);
}
