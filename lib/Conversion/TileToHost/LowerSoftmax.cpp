//===- LowerSoftmax.cpp - one step of online softmax ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp(s - m) is taken of the difference, which is exact where s is near m
// however large both are (sentinels of -FLT_MAX, say). So p is 1 where s is m,
// and stays 1 when it is rounded to 16 bits. exp2(s * c - m * c), c = log2 e,
// with m * c rounded would save nothing, since c is part of the range reduction
// (VectorMath.cpp; one multiplication of the short form), and make p a little
// more or less than 1 there: rounded, that is an error of the whole row, whose
// sum is not rounded. A maximum of
// -inf (no key seen yet) is replaced by the lowest number: all of the row's
// exponentials are exp(-inf) = 0.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"
#include "HostSoftmax.h"
#include "Pieces.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa;
using tile::typeOf;

/// Writes the scores of `vectors` registers of rows, up to column `end` if
/// that is given, to `buffer` and returns the running maximum, which starts
/// at `max`.
static SmallVector<Value> emitScores(HostContext &ctx, tile::OnlineSoftmaxOp op,
                                     tile::DotOp dot, TileBuffer buffer,
                                     Value row, ArrayRef<Value> max,
                                     Value end) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t vectors = max.size();
  auto store = [&](Value score, Value col, int64_t v, Value running) {
    vector::StoreOp::create(
        b, score, buffer.memref,
        ValueRange{col, ctx.addIndex(row, v * ctx.lanes())});
    return emitMax(b, score, running);
  };
  if (dot)
    return emitDotColumns(
        ctx, dot, row, vectors, max,
        [&](ArrayRef<SmallVector<Value>> acc, Value row, Value col,
            ValueRange carried) {
          SmallVector<Value> next(carried);
          for (auto [n, values] : llvm::enumerate(acc))
            for (auto [v, value] : llvm::enumerate(values)) {
              ctx.dotElement[dot.getResult()] = value;
              Value at = ctx.addIndex(col, n);
              Value score = ctx.evaluateVector(
                  op.getScores(),
                  {{ctx.addIndex(row, v * ctx.lanes()), true}, {at}});
              next[v] = store(score, at, v, next[v]);
            }
          ctx.dotElement.erase(dot.getResult());
          return next;
        },
        end);
  int64_t columns =
      cast<RankedTensorType>(op.getScores().getType()).getDimSize(1);
  auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                 end ? end : ctx.constantIndex(columns),
                                 ctx.constantIndex(1), max);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next(loop.getRegionIterArgs());
  Value col = loop.getInductionVar();
  for (int64_t v = 0; v < vectors; ++v) {
    Value score = ctx.evaluateVector(
        op.getScores(), {{ctx.addIndex(row, v * ctx.lanes()), true}, {col}});
    next[v] = store(score, col, v, next[v]);
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

Value fa::emitFinite(HostContext &ctx, Value max) {
  ImplicitLocOpBuilder &b = ctx.b;
  return emitMax(b, max,
                 ctx.constantVector(std::numeric_limits<float>::lowest()));
}

Value fa::emitExponential(HostContext &ctx, Value score, Value max) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value x = arith::SubFOp::create(b, score, max);
  // Tile dots come with AVX512DQ.
  return ctx.shape.tileDots ? emitShortExp(b, x, ctx.narrowExp) : emitExp(b, x);
}

SmallVector<Value> fa::emitExponentials(HostContext &ctx, ScoreSource scoreAt,
                                        TileBuffer p, Value columns, Value row,
                                        ArrayRef<Value> maxima,
                                        ArrayRef<Value> sum, Type narrow,
                                        BesideTrip beside) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool pairs = p.form == TileForm::LanePairs;
  if (pairs)
    columns = b.createOrFold<arith::DivUIOp>(columns, ctx.constantIndex(2));
  auto loop = scf::ForOp::create(b, ctx.constantIndex(0), columns,
                                 ctx.constantIndex(1), sum);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  Value at = loop.getInductionVar();
  if (beside)
    beside(at);
  Value col =
      pairs ? Value(arith::MulIOp::create(b, at, ctx.constantIndex(2))) : at;
  for (auto [index, max] : llvm::enumerate(maxima)) {
    int64_t v = index;
    auto exponential = [&](Value col) {
      return emitExponential(ctx, scoreAt(v, col), max);
    };
    Value x = exponential(col);
    Value total = arith::AddFOp::create(b, loop.getRegionIterArg(v), x);
    SmallVector<Value> kept = {x};
    if (pairs) {
      Value odd = exponential(ctx.addIndex(col, 1));
      total = arith::AddFOp::create(b, total, odd);
      // The sum keeps the NaN of a row.
      if (ctx.tiles)
        kept = emitRoundedPieces(b, x, odd, p.pieces);
      else
        kept = {packPair(ctx, x, odd)};
    } else if (narrow) {
      kept = {emitRound(b, x, narrow)};
    }
    next.push_back(total);
    for (auto [n, piece] : llvm::enumerate(kept))
      vector::StoreOp::create(b, piece, p.memref,
                              ValueRange{lineOfPiece(ctx, p, at, n),
                                         ctx.addIndex(row, v * ctx.lanes())});
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

SoftmaxResults fa::allocateResults(HostContext &ctx, tile::OnlineSoftmaxOp op,
                                   TileBuffer p) {
  return {p, ctx.bufferForResult(op.getAlpha()),
          ctx.bufferForResult(op.getMaxOut()),
          ctx.bufferForResult(op.getSumOut())};
}

RowState fa::readState(HostContext &ctx, tile::OnlineSoftmaxOp op, Value row,
                       int64_t vectors) {
  RowState state;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = ctx.addIndex(row, v * ctx.lanes());
    state.max.push_back(ctx.evaluateVector(op.getMax(), {{at, true}}));
    state.sum.push_back(ctx.evaluateVector(op.getSum(), {{at, true}}));
  }
  return state;
}

RowState fa::emitRescale(HostContext &ctx, const RowState &old,
                         ArrayRef<Value> max, const SoftmaxResults &results,
                         Value row) {
  ImplicitLocOpBuilder &b = ctx.b;
  RowState scaled;
  for (auto [v, newMax] : llvm::enumerate(max)) {
    Value at = ctx.addIndex(row, v * ctx.lanes());
    scaled.max.push_back(emitFinite(ctx, newMax));
    Value rescale = emitExponential(ctx, old.max[v], scaled.max.back());
    scaled.sum.push_back(arith::MulFOp::create(b, old.sum[v], rescale));
    vector::StoreOp::create(b, rescale, results.alpha.memref, at);
    vector::StoreOp::create(b, newMax, results.max.memref, at);
  }
  return scaled;
}

void fa::storeState(HostContext &ctx, ArrayRef<Value> sum,
                    const SoftmaxResults &results, Value row) {
  ImplicitLocOpBuilder &b = ctx.b;
  for (auto [v, value] : llvm::enumerate(sum))
    vector::StoreOp::create(b, value, results.sum.memref,
                            ctx.addIndex(row, v * ctx.lanes()));
}

void fa::keepResults(HostContext &ctx, tile::OnlineSoftmaxOp op,
                     const SoftmaxResults &results, ColumnLimits limits) {
  Value p = getReadP(op);
  if (results.p.form == TileForm::LanePairs)
    ctx.pairBuffers[p] = results.p;
  else
    ctx.buffers[op.getP()] = ctx.buffers[p] = results.p;
  ctx.limitsOf[p] = std::move(limits);
  ctx.buffers[op.getAlpha()] = results.alpha;
  ctx.buffers[op.getMaxOut()] = results.max;
  ctx.buffers[op.getSumOut()] = results.sum;
}

static LogicalResult lowerOnlineSoftmax(HostContext &ctx,
                                        tile::OnlineSoftmaxOp op) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  if (failed(verifyMatrix(op, type)))
    return failure();
  tile::DotOp dot = findPendingDot(op.getScores());
  if (dot && (ctx.buffers.count(dot.getResult()) || !isPending(ctx, dot)))
    dot = {};
  if (dot && isTileDot(ctx, dot)) {
    lowerTileSoftmax(ctx, op, dot);
    return success();
  }
  if (dot)
    prepareDot(ctx, dot);
  arith::TruncFOp truncation = getOnlyNarrowing(op);
  Type narrow =
      truncation ? getElementTypeOrSelf(truncation.getType()) : Type();

  TileBuffer scores = ctx.allocate(type, TileForm::Lanes);
  Value p = getReadP(op);
  SoftmaxResults results = allocateResults(
      ctx, op,
      isPairOperand(ctx, p) ? ctx.allocate(typeOf(p), TileForm::LanePairs)
                            : scores);
  int64_t columns = type.getDimSize(1);
  ColumnLimits limits = findLimits(ctx, op);
  ctx.forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        RowState old = readState(ctx, op, row, vectors);
        Value end = emitSeenColumns(ctx, limits, row, vectors, columns);
        SmallVector<Value> max =
            emitScores(ctx, op, dot, scores, row, old.max, end);
        RowState scaled = emitRescale(ctx, old, max, results, row);
        auto scoreAt = [&](int64_t v, Value col) {
          return ctx.readBuffer(
              scores, {{ctx.addIndex(row, v * ctx.lanes()), true}, {col}});
        };
        storeState(ctx,
                   emitExponentials(ctx, scoreAt, results.p,
                                    end ? end : ctx.constantIndex(columns), row,
                                    scaled.max, scaled.sum, narrow),
                   results, row);
      },
      ctx.liveRows);
  keepResults(ctx, op, results, std::move(limits));
  return success();
}

void fa::addSoftmaxLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerOnlineSoftmax);
}
