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

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

Value KernelLowering::emitTileScore(tile::OnlineSoftmaxOp op, tile::DotOp dot,
                                    Buffer buffer, Value row, int64_t v,
                                    Value col) {
  dotElement[dot.getResult()] =
      readBuffer(buffer, {{constantIndex(v * lanes()), true}, {col}});
  Value score = evaluateVector(op.getScores(),
                               {{addIndex(row, v * lanes()), true}, {col}});
  dotElement.erase(dot.getResult());
  return score;
}

/// Maxima of a few keys beside the products of the next ones: the matrix unit
/// leaves the vector unit idle, and the products are still near.
SmallVector<Value> KernelLowering::emitTileScores(tile::OnlineSoftmaxOp op,
                                                  tile::DotOp dot,
                                                  Buffer buffer, Value row,
                                                  ArrayRef<Value> max,
                                                  Value end, bool keep) {
  int64_t vectors = max.size();
  OpBuilder::InsertionGuard guard(b);
  auto blocks = scf::ForOp::create(b, constantIndex(0), end,
                                   constantIndex(kTileBlock), max);
  b.setInsertionPointToStart(blocks.getBody());
  Value first = blocks.getInductionVar();
  emitTileBlock(dot, {row, first, vectors, kTileBlock}, buffer,
                constantIndex(0));
  auto loop = scf::ForOp::create(b, first, addIndex(first, kTileBlock),
                                 constantIndex(1), blocks.getRegionIterArgs());
  scf::YieldOp::create(b, loop.getResults());
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  SmallVector<Value> next;
  for (int64_t v = 0; v < vectors; ++v) {
    Value score = emitTileScore(op, dot, buffer, row, v, col);
    if (keep)
      vector::StoreOp::create(b, score, buffer.memref,
                              ValueRange{col, constantIndex(v * lanes())});
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

LogicalResult KernelLowering::lowerTileSoftmax(tile::OnlineSoftmaxOp op,
                                               tile::DotOp dot) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  int64_t columns = type.getDimSize(1);
  Limits limits = findLimits(op);
  bool again = isScaledDot(op.getScores(), dot);
  Buffer scores =
      allocate(type.clone({kTileVectors * lanes(), columns}), Form::Lanes);
  SoftmaxResults results =
      allocateResults(op, allocate(typeOf(getReadP(op)), Form::LanePairs));
  auto reader = cast<tile::DotOp>(*getReadP(op).getUsers().begin());
  forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        RowState old = readState(op, row, vectors);
        Value seen = emitSeenColumns(limits, row, vectors, columns);
        Value end = seen ? seen : constantIndex(columns);
        SmallVector<Value> max =
            emitTileScores(op, dot, scores, row, old.max, end, !again);
        RowState scaled = emitRescale(old, max, results, row);
        auto scoreAt = [&](int64_t v, Value col) {
          return again ? emitTileScore(op, dot, scores, row, v, col)
                       : readBuffer(scores, {{constantIndex(v * lanes()), true},
                                             {col}});
        };
        Value block =
            arith::DivUIOp::create(b, row, constantIndex(vectors * lanes()));
        auto prefetch = [&](Value index) {
          Trip trip{index, block, columns / 2,
                    type.getDimSize(0) / (vectors * lanes())};
          prefetchBeside(reader, /*later=*/false, trip);
          prefetchBeside(dot, /*later=*/true, trip);
        };
        storeState(emitExponentials(scoreAt, results.p, end, row, scaled.max,
                                    scaled.sum, Type(), prefetch),
                   results, row);
      },
      liveRows);
  keepResults(op, results, std::move(limits));
  return success();
}
