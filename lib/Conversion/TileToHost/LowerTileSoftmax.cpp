//===- LowerTileSoftmax.cpp - softmax of what matrix units multiply -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of tiles (LowerTileDot.cpp) leave their registers through memory
// only. So the scores of a block of rows lie there, for all keys of the tile:
// products with modification, mask and maxima, then the exponentials, and the
// next block of rows in the same place. Products that are only scaled stay as
// they are and are scaled again, to the same numbers: a multiplication costs
// less than a store to the second cache.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostMemory.h"
#include "HostSoftmax.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;
/// What the modification makes of the product of register v at `col` of row
/// 0 of `buffer`.
static Value emitTileScore(HostContext &ctx, tile::OnlineSoftmaxOp op,
                           tile::DotOp dot, TileBuffer buffer, Value row,
                           int64_t v, Value col) {
  ctx.dotElement[dot.getResult()] = ctx.readBuffer(
      buffer, {{ctx.constantIndex(v * ctx.lanes()), true}, {col}});
  Value score = ctx.evaluateVector(
      op.getScores(), {{ctx.addIndex(row, v * ctx.lanes()), true}, {col}});
  ctx.dotElement.erase(dot.getResult());
  return score;
}

/// As emitScores, to row 0 of `buffer`: the scores if `keep`, else the
/// products that they are computed from.
///
/// Maxima of a few keys beside the products of the next ones: the matrix unit
/// leaves the vector unit idle, and the products are still near.
static SmallVector<Value> emitTileScores(HostContext &ctx,
                                         tile::OnlineSoftmaxOp op,
                                         tile::DotOp dot, TileBuffer buffer,
                                         Value row, ArrayRef<Value> max,
                                         Value end, bool keep) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t vectors = max.size();
  OpBuilder::InsertionGuard guard(b);
  auto blocks = scf::ForOp::create(b, ctx.constantIndex(0), end,
                                   ctx.constantIndex(kTileBlock), max);
  b.setInsertionPointToStart(blocks.getBody());
  Value first = blocks.getInductionVar();
  emitTileBlock(ctx, dot, {row, first, vectors, kTileBlock}, buffer,
                ctx.constantIndex(0));
  auto loop =
      scf::ForOp::create(b, first, ctx.addIndex(first, kTileBlock),
                         ctx.constantIndex(1), blocks.getRegionIterArgs());
  scf::YieldOp::create(b, loop.getResults());
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  SmallVector<Value> next;
  for (int64_t v = 0; v < vectors; ++v) {
    Value score = emitTileScore(ctx, op, dot, buffer, row, v, col);
    if (keep)
      vector::StoreOp::create(
          b, score, buffer.memref,
          ValueRange{col, ctx.constantIndex(v * ctx.lanes())});
    next.push_back(emitMax(b, score, loop.getRegionIterArg(v)));
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(blocks.getResults());
}

/// Whether the scores are the products, or these times one number: less to
/// compute twice than to store.
static bool isScaledDot(Value scores, tile::DotOp dot) {
  if (scores == dot.getResult())
    return true;
  auto product = scores.getDefiningOp<arith::MulFOp>();
  return product && product.getLhs() == dot.getResult() &&
         product.getRhs().getDefiningOp<tile::BroadcastOp>();
}

void fa::lowerTileSoftmax(HostContext &ctx, tile::OnlineSoftmaxOp op,
                          tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(op.getScores().getType());
  int64_t columns = type.getDimSize(1);
  ColumnLimits limits = findLimits(ctx, op);
  bool again = isScaledDot(op.getScores(), dot);
  TileBuffer scores = ctx.allocate(
      type.clone({kTileVectors * ctx.lanes(), columns}), TileForm::Lanes);
  SoftmaxResults results = allocateResults(
      ctx, op, ctx.allocate(typeOf(getReadP(op)), TileForm::LanePairs));
  auto reader = cast<tile::DotOp>(*getReadP(op).getUsers().begin());
  ctx.forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        RowState old = readState(ctx, op, row, vectors);
        Value seen = emitSeenColumns(ctx, limits, row, vectors, columns);
        Value end = seen ? seen : ctx.constantIndex(columns);
        SmallVector<Value> max =
            emitTileScores(ctx, op, dot, scores, row, old.max, end, !again);
        RowState scaled = emitRescale(ctx, old, max, results, row);
        auto scoreAt = [&](int64_t v, Value col) {
          return again
                     ? emitTileScore(ctx, op, dot, scores, row, v, col)
                     : ctx.readBuffer(
                           scores,
                           {{ctx.constantIndex(v * ctx.lanes()), true}, {col}});
        };
        Value block = arith::DivUIOp::create(
            b, row, ctx.constantIndex(vectors * ctx.lanes()));
        auto prefetch = [&](Value index) {
          Trip trip{index, block, columns / 2,
                    type.getDimSize(0) / (vectors * ctx.lanes())};
          prefetchBeside(ctx, reader, /*later=*/false, trip);
          prefetchBeside(ctx, dot, /*later=*/true, trip);
        };
        storeState(ctx,
                   emitExponentials(ctx, scoreAt, results.p, end, row,
                                    scaled.max, scaled.sum, Type(), prefetch),
                   results, row);
      },
      ctx.liveRows);
  keepResults(ctx, op, results, std::move(limits));
}
