//===- LowerRowSoftmax.cpp - online softmax with lanes along rows ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowForm.cpp, and LowerSoftmax.cpp for the formulas. Scores and their
// exponentials are taken row by row; what there is one of for each row
// (maximum, sum, rescaling) is computed for all rows at once, lanes across
// them.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"
#include "HostSoftmax.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa;
/// Writes the scores and, for each row, their maximum.
static void emitRowScores(HostContext &ctx, tile::OnlineSoftmaxOp op,
                          TileBuffer scores, TileBuffer maxima) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getScores().getType());
  Value none = ctx.constantVector(-std::numeric_limits<double>::infinity());
  ctx.forRowBlocks(type.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, none, maxima.memref,
                              ctx.addIndex(row, v * ctx.lanes()));
  });
  ctx.forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    SmallVector<Value> max = ctx.forVectors(
        type.getDimSize(1), none,
        [&](Value col, ValueRange carried) -> SmallVector<Value> {
          Value score =
              ctx.evaluateVector(op.getScores(), {{row}, {col, true}});
          vector::StoreOp::create(b, score, scores.memref,
                                  ValueRange{row, col});
          return {emitMax(b, score, carried[0])};
        });
    Value largest = emitLaneReduction(
        b, max[0], [&](Value x, Value y) { return emitMax(b, x, y); });
    memref::StoreOp::create(b, largest, maxima.memref, row);
  });
}

/// As emitExponentials, for all rows, whose sums begin at 0.
static void emitRowExponentials(HostContext &ctx, TileBuffer scores,
                                TileBuffer p, RankedTensorType type,
                                TileBuffer maxima, TileBuffer sums,
                                Type narrow) {
  ImplicitLocOpBuilder &b = ctx.b;
  ctx.forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    Value max = emitFinite(ctx, ctx.toVector(memref::LoadOp::create(
                                    b, maxima.memref, ValueRange{row})));
    SmallVector<Value> sum = ctx.forVectors(
        type.getDimSize(1), ctx.constantVector(0.0),
        [&](Value col, ValueRange carried) -> SmallVector<Value> {
          Value x = emitExponential(
              ctx, ctx.readBuffer(scores, {{row}, {col, true}}), max);
          Value total = arith::AddFOp::create(b, carried[0], x);
          if (p.form == TileForm::NaturalPairs)
            x = arith::TruncFOp::create(b, ctx.vectorType(narrow), x);
          else if (narrow)
            x = emitRound(b, x, narrow);
          vector::StoreOp::create(b, x, p.memref, ValueRange{row, col});
          return {total};
        });
    Value total = emitLaneReduction(b, sum[0], [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    });
    memref::StoreOp::create(b, total, sums.memref, row);
  });
  if (!ctx.liveRows)
    return;
  // P V takes whole blocks of rows. What the scratch holds where no row is may
  // be numbers so small that each product with them takes 100 cycles.
  Value blocks =
      arith::CeilDivUIOp::create(b, ctx.liveRows, ctx.constantIndex(kRowBlock));
  Value end = arith::MulIOp::create(b, blocks, ctx.constantIndex(kRowBlock));
  auto loop = scf::ForOp::create(b, ctx.liveRows, end, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  VectorType part =
      ctx.vectorType(cast<MemRefType>(p.memref.getType()).getElementType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(part));
  ctx.forVectors(
      type.getDimSize(1), {}, [&](Value col, ValueRange) -> SmallVector<Value> {
        vector::StoreOp::create(b, zero, p.memref,
                                ValueRange{loop.getInductionVar(), col});
        return {};
      });
}

static void lowerRowSoftmax(HostContext &ctx, tile::OnlineSoftmaxOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getScores().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  int64_t rows = type.getDimSize(0);
  arith::TruncFOp truncation = getOnlyNarrowing(op);
  Type narrow =
      truncation ? getElementTypeOrSelf(truncation.getType()) : Type();
  TileBuffer scores = ctx.allocate(type, TileForm::Natural), p = scores;
  bool pairs = truncation && isPairOperand(ctx, truncation.getOut());
  if (pairs)
    p = ctx.allocate(cast<RankedTensorType>(truncation.getType()),
                     TileForm::NaturalPairs);
  TileBuffer maxima = ctx.allocate(rowType, TileForm::Natural);
  TileBuffer sums = ctx.allocate(rowType, TileForm::Natural);
  TileBuffer alpha = ctx.bufferForResult(op.getAlpha());
  TileBuffer maxOut = ctx.bufferForResult(op.getMaxOut());
  TileBuffer sumOut = ctx.bufferForResult(op.getSumOut());

  emitRowScores(ctx, op, scores, maxima);
  auto forRows = [&](llvm::function_ref<void(Value)> body) {
    ctx.forRowBlocks(rows, [&](Value row, int64_t vectors) {
      for (int64_t v = 0; v < vectors; ++v)
        body(ctx.addIndex(row, v * ctx.lanes()));
    });
  };
  forRows([&](Value at) {
    Value oldMax = ctx.evaluateVector(op.getMax(), {{at, true}});
    Value max = emitMax(b, ctx.readBuffer(maxima, {{at, true}}), oldMax);
    vector::StoreOp::create(b,
                            emitExponential(ctx, oldMax, emitFinite(ctx, max)),
                            alpha.memref, at);
    vector::StoreOp::create(b, max, maxOut.memref, at);
    vector::StoreOp::create(b, max, maxima.memref, at);
  });
  emitRowExponentials(ctx, scores, p, type, maxima, sums, narrow);
  forRows([&](Value at) {
    Value oldSum = ctx.evaluateVector(op.getSum(), {{at, true}});
    Value factor = ctx.readBuffer(alpha, {{at, true}});
    Value sum =
        arith::AddFOp::create(b, ctx.readBuffer(sums, {{at, true}}),
                              Value(arith::MulFOp::create(b, oldSum, factor)));
    vector::StoreOp::create(b, sum, sumOut.memref, at);
  });
  if (pairs)
    ctx.pairBuffers[truncation.getResult()] = p;
  else
    ctx.buffers[op.getP()] = p;
  if (truncation && !pairs)
    ctx.buffers[truncation.getResult()] = p;
  ctx.buffers[op.getAlpha()] = alpha;
  ctx.buffers[op.getMaxOut()] = maxOut;
  ctx.buffers[op.getSumOut()] = sumOut;
}

static LogicalResult lowerRowFinalize(HostContext &ctx,
                                      tile::OnlineFinalizeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  if (failed(verifyMatrix(op, type)))
    return failure();
  TileBuffer output = ctx.allocate(type, TileForm::Natural);
  ctx.forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    auto constant = [&](float value) -> Value {
      return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    };
    Value sum = ctx.evaluate(op.getSum(), {{row}});
    Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum,
                                        constant(0.0f));
    Value inverse = ctx.toVector(arith::DivFOp::create(b, constant(1.0f), sum));
    ctx.forVectors(ctx.paddedRows(type.getDimSize(1)), {},
                   [&](Value col, ValueRange) -> SmallVector<Value> {
                     Value acc =
                         ctx.evaluateVector(op.getAcc(), {{row}, {col, true}});
                     Value scaled = arith::MulFOp::create(b, acc, inverse);
                     // Not a product with 0, see lowerOnlineFinalize.
                     vector::StoreOp::create(
                         b,
                         Value(arith::SelectOp::create(
                             b, empty, ctx.constantVector(0.0), scaled)),
                         output.memref, ValueRange{row, col});
                     return {};
                   });
  });
  ctx.buffers[op.getOutput()] = output;
  if (op.getMaxOut())
    ctx.buffers[op.getMaxOut()] =
        ctx.materialize(op.getMax(), TileForm::Natural);
  if (op.getLse().use_empty())
    return success();
  auto rowType = cast<RankedTensorType>(op.getLse().getType());
  TileBuffer lse = ctx.allocate(rowType, TileForm::Natural);
  ctx.forRowBlocks(rowType.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = ctx.addIndex(row, v * ctx.lanes());
      Value sum = ctx.evaluateVector(op.getSum(), {{at, true}});
      Value max = ctx.evaluateVector(op.getMax(), {{at, true}});
      vector::StoreOp::create(b, emitLogSumExp(ctx, op, max, sum), lse.memref,
                              at);
    }
  });
  ctx.buffers[op.getLse()] = lse;
  return success();
}

static void lowerRowMerge(HostContext &ctx, tile::OnlineMergeOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  auto rowType = cast<RankedTensorType>(op.getMax().getType());
  TileBuffer alphas = ctx.allocate(rowType, TileForm::Natural);
  TileBuffer betas = ctx.allocate(rowType, TileForm::Natural);
  TileBuffer acc = ctx.bufferForResult(op.getAccOut());
  TileBuffer maxOut = ctx.bufferForResult(op.getMaxOut());
  TileBuffer sumOut = ctx.bufferForResult(op.getSumOut());
  ctx.forRowBlocks(rowType.getDimSize(0), [&](Value row, int64_t vectors) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = ctx.addIndex(row, v * ctx.lanes());
      auto [alpha, beta] = emitMergeFactors(ctx, op, at, maxOut, sumOut);
      vector::StoreOp::create(b, alpha, alphas.memref, at);
      vector::StoreOp::create(b, beta, betas.memref, at);
    }
  });
  ctx.forLiveRows(type.getDimSize(0), 1, [&](Value row) {
    auto factor = [&](TileBuffer factors) {
      return ctx.toVector(ctx.readBuffer(factors, {{row}}));
    };
    Value alpha = factor(alphas), beta = factor(betas);
    ctx.forVectors(type.getDimSize(1), {},
                   [&](Value col, ValueRange) -> SmallVector<Value> {
                     SmallVector<TileCoord> at = {{row}, {col, true}};
                     Value before = arith::MulFOp::create(
                         b, ctx.evaluateVector(op.getAcc(), at), alpha);
                     Value output = ctx.evaluateVector(op.getOutput(), at);
                     vector::StoreOp::create(
                         b,
                         Value(vector::FMAOp::create(b, output, beta, before)),
                         acc.memref, ValueRange{row, col});
                     return {};
                   });
  });
  ctx.buffers[op.getAccOut()] = acc;
  ctx.buffers[op.getMaxOut()] = maxOut;
  ctx.buffers[op.getSumOut()] = sumOut;
}

void fa::addRowSoftmaxLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerRowSoftmax);
  ctx.registry.add(ctx, lowerRowFinalize);
  ctx.registry.add(ctx, lowerRowMerge);
}
