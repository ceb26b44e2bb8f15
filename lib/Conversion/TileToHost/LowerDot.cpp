//===- LowerDot.cpp - matrix products in registers ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace fa;
using tile::typeOf;

/// Steps of the contraction in one trip of the loop, at most. More only costs
/// compile time.
static constexpr int64_t kMostUnroll = 4;
/// Rows of a block that are few registers wide: enough to hide the latency of
/// a fused multiply-add.
static constexpr int64_t kMaxColumns = 8;

/// Steps in one trip of the loop of `dot`. Where the right operand is read
/// along its columns, each step has an address of its own and general registers
/// run out.
static int64_t getUnroll(tile::DotOp dot) {
  return dot.getTransposeB() ? kMostUnroll : kMostUnroll / 2;
}

Value KernelLowering::readRightOperand(tile::DotOp dot, Value k, Value n) {
  SmallVector<TileCoord, 2> coords = {{k}, {n}};
  if (dot.getTransposeB())
    std::swap(coords[0], coords[1]);
  return evaluate(dot.getB(), coords);
}

SmallVector<Value> KernelLowering::emitStep(tile::DotOp dot,
                                            ArrayRef<Value> rows, Value col,
                                            Value k, ArrayRef<Value> sums) {
  Buffer left = buffers.lookup(dot.getA());
  SmallVector<Value> a, next;
  for (Value row : rows)
    a.push_back(readBuffer(left, {{row, true}, {k}}));
  for (size_t n = 0; n < sums.size() / rows.size(); ++n) {
    Value x = toVector(readRightOperand(dot, k, addIndex(col, n)));
    for (size_t v = 0; v < rows.size(); ++v)
      next.push_back(
          vector::FMAOp::create(b, x, a[v], sums[n * rows.size() + v]));
  }
  return next;
}

SmallVector<Value> KernelLowering::emitDotBlock(tile::DotOp dot, Value row,
                                                Value col, int64_t vectors,
                                                int64_t columns,
                                                ValueRange carried,
                                                BlockSink sink) {
  SmallVector<Value> rows;
  for (int64_t v = 0; v < vectors; ++v)
    rows.push_back(addIndex(row, v * lanes()));
  SmallVector<Value> acc;
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(dot.getAcc()
                        ? evaluateVector(dot.getAcc(),
                                         {{rows[v], true}, {addIndex(col, n)}})
                        : constantVector(0.0));
  int64_t depth = typeOf(dot.getA()).getDimSize(1);
  Value seen =
      emitSeenColumns(limitsOf.lookup(dot.getA()), row, vectors, depth);
  bool pairs = isPairDot(dot);
  if (pairs)
    depth = llvm::divideCeil(depth, 2);
  if (pairs && seen)
    seen = arith::DivUIOp::create(b, seen, constantIndex(2));
  auto step = [&](Value k, ArrayRef<Value> sums) {
    return pairs ? emitPairStep(dot, rows, col, k, sums)
                 : emitStep(dot, rows, col, k, sums);
  };
  int64_t unroll = getUnroll(dot);
  int64_t main = depth / unroll * unroll;
  if (main) {
    auto loop = scf::ForOp::create(b, constantIndex(0),
                                   seen ? seen : constantIndex(main),
                                   constantIndex(unroll), acc);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t u = 0; u < unroll; ++u)
      sums = step(addIndex(loop.getInductionVar(), u), sums);
    // Behind the reads: LLVM moves none of them across a request.
    prefetchNextKeys(dot, loop.getInductionVar(), unroll, col, columns);
    scf::YieldOp::create(b, sums);
    acc.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (int64_t k = main; k < depth; ++k)
    acc = step(constantIndex(k), acc);

  SmallVector<SmallVector<Value>> block;
  for (int64_t n = 0; n < columns; ++n)
    block.emplace_back(ArrayRef(acc).slice(n * vectors, vectors));
  return sink(block, row, col, carried);
}

int64_t KernelLowering::blockColumns(int64_t vectors) const {
  return std::min(kMaxColumns, shape.accumulators / vectors);
}

int64_t KernelLowering::seenStep(int64_t vectors) const {
  // Pairs, too, and tiles.
  return std::lcm(blockColumns(vectors), tiles ? kTileBlock : 2 * kMostUnroll);
}

SmallVector<Value> KernelLowering::emitDotColumns(tile::DotOp dot, Value row,
                                                  int64_t vectors,
                                                  ValueRange carried,
                                                  BlockSink sink, Value end) {
  int64_t total = typeOf(dot.getResult()).getDimSize(1);
  int64_t columns = std::min(blockColumns(vectors), total);
  int64_t main = total / columns * columns;
  auto loop =
      scf::ForOp::create(b, constantIndex(0), end ? end : constantIndex(main),
                         constantIndex(columns), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        emitDotBlock(dot, row, loop.getInductionVar(), vectors, columns,
                     loop.getRegionIterArgs(), sink);
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  SmallVector<Value> result(loop.getResults());
  if (total > main)
    result = emitDotBlock(dot, row, constantIndex(main), vectors, total - main,
                          result, sink);
  return result;
}

/// Whether single elements of `value` come straight from memory.
static bool isElementRead(Value value) {
  while (auto transpose = value.getDefiningOp<tile::TransposeOp>())
    value = transpose.getInput();
  return value.getDefiningOp<tile::LoadOp>();
}

/// Brings the operands to where a block reads them many times.
void KernelLowering::prepareDot(tile::DotOp dot) {
  if (isPairDot(dot))
    return; // its operands were brought where they were computed
  Buffer left = materialize(dot.getA(), Form::Lanes);
  buffers[dot.getA()] = left;
  if (buffers.count(dot.getB()) || isElementRead(dot.getB()))
    return;
  Buffer right = materialize(dot.getB(), Form::Lanes);
  buffers[dot.getB()] = right;
}

LogicalResult KernelLowering::lowerDot(tile::DotOp dot) {
  RankedTensorType type = dot.getType();
  if (type.getRank() != 2)
    return dot.emitOpError("expects tiles of rank 2 in a kernel, found ")
           << type;
  if (!computeType(type.getElementType()).isF32())
    return dot.emitOpError("has a lowering for the host that accumulates in "
                           "f32, found ")
           << type;
  if (alongRows)
    return lowerRowDot(dot);
  if (isTileDot(dot))
    return lowerTileDot(dot);
  prepareDot(dot);
  Buffer result = bufferForResult(dot.getResult());
  Type narrow = type.getElementType().isF32() ? Type() : type.getElementType();
  auto store = [&](ArrayRef<SmallVector<Value>> acc, Value row, Value col,
                   ValueRange) -> SmallVector<Value> {
    for (auto [n, values] : llvm::enumerate(acc))
      for (auto [v, value] : llvm::enumerate(values))
        vector::StoreOp::create(
            b, narrow ? emitRound(b, value, narrow) : value, result.memref,
            ValueRange{addIndex(col, n), addIndex(row, v * lanes())});
    return {};
  };
  forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        emitDotColumns(dot, row, vectors, {}, store);
      },
      liveRows);
  buffers[dot.getResult()] = result;
  return success();
}
