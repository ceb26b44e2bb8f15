//===- LowerTileSoftmax.cpp - softmax of what matrix units multiply -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of tiles (LowerTileDot.cpp) leave their registers through memory
// only. So the scores of a block of rows lie there, for all keys of the tile:
// products, then modification, mask and maxima, then the exponentials, and the
// next block of rows in the same place.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

SmallVector<Value> KernelLowering::emitTileScores(tile::OnlineSoftmaxOp op,
                                                  tile::DotOp dot,
                                                  Buffer buffer, Value row,
                                                  ArrayRef<Value> max,
                                                  Value end) {
  int64_t vectors = max.size();
  Value zero = constantIndex(0);
  {
    auto loop = scf::ForOp::create(b, zero, end, constantIndex(kTileBlock));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitTileBlock(dot, {row, loop.getInductionVar(), vectors, kTileBlock},
                  buffer, zero);
  }
  auto loop = scf::ForOp::create(b, zero, end, constantIndex(1), max);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  SmallVector<Value> next;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = constantIndex(v * lanes());
    dotElement[dot.getResult()] = readBuffer(buffer, {{at, true}, {col}});
    Value score = evaluateVector(op.getScores(),
                                 {{addIndex(row, v * lanes()), true}, {col}});
    vector::StoreOp::create(b, score, buffer.memref, ValueRange{col, at});
    next.push_back(emitMax(b, score, loop.getRegionIterArg(v)));
  }
  dotElement.erase(dot.getResult());
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

LogicalResult KernelLowering::lowerTileSoftmax(tile::OnlineSoftmaxOp op,
                                               tile::DotOp dot) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  int64_t columns = type.getDimSize(1);
  Limits limits = findLimits(op);
  Buffer scores =
      allocate(type.clone({kTileVectors * lanes(), columns}), Form::Lanes);
  SoftmaxResults results = allocateResults(op, allocate(type, Form::LanePairs));
  forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        RowState old = readState(op, row, vectors);
        Value seen = emitSeenColumns(limits, row, vectors, columns);
        Value end = seen ? seen : constantIndex(columns);
        SmallVector<Value> max =
            emitTileScores(op, dot, scores, row, old.max, end);
        RowState scaled = emitRescale(old, max, results, row);
        Value zero = constantIndex(0);
        storeState(emitExponentials(scores, zero, results.p, end, row,
                                    scaled.max, scaled.sum, Type()),
                   results, row);
      },
      liveRows);
  keepResults(op, results, std::move(limits));
  return success();
}
