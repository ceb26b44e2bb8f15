//===- LowerDot.cpp - matrix products in registers ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"
#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// A scalar of the right operand of `dot` at (k, n), in f32.
static Value readRightOperand(HostContext &ctx, tile::DotOp dot, Value k,
                              Value n) {
  SmallVector<TileCoord, 2> coords = {{k}, {n}};
  if (dot.getTransposeB())
    std::swap(coords[0], coords[1]);
  return ctx.evaluate(dot.getB(), coords);
}

/// One step of a block at columns `col`, ...: `sums` plus the products at
/// `k` of the rows `rows`.
static SmallVector<Value> emitStep(HostContext &ctx, tile::DotOp dot,
                                   ArrayRef<Value> rows, Value col, Value k,
                                   ArrayRef<Value> sums) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileBuffer left = ctx.buffers.lookup(dot.getA());
  SmallVector<Value> a, next;
  for (Value row : rows)
    a.push_back(ctx.readBuffer(left, {{row, true}, {k}}));
  for (size_t n = 0; n < sums.size() / rows.size(); ++n) {
    Value x = ctx.toVector(readRightOperand(ctx, dot, k, ctx.addIndex(col, n)));
    for (size_t v = 0; v < rows.size(); ++v)
      next.push_back(
          vector::FMAOp::create(b, x, a[v], sums[n * rows.size() + v]));
  }
  return next;
}

static SmallVector<Value> emitDotBlock(HostContext &ctx, tile::DotOp dot,
                                       Value row, Value col, int64_t vectors,
                                       int64_t columns, ValueRange carried,
                                       BlockSink sink) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> rows;
  for (int64_t v = 0; v < vectors; ++v)
    rows.push_back(ctx.addIndex(row, v * ctx.lanes()));
  SmallVector<Value> acc;
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(dot.getAcc() ? ctx.evaluateVector(dot.getAcc(),
                                                      {{rows[v], true},
                                                       {ctx.addIndex(col, n)}})
                                 : ctx.constantVector(0.0));
  int64_t depth = typeOf(dot.getA()).getDimSize(1);
  Value seen = emitSeenColumns(ctx, ctx.limitsOf.lookup(dot.getA()), row,
                               vectors, depth);
  bool pairs = isPairDot(ctx, dot);
  if (pairs)
    depth = llvm::divideCeil(depth, 2);
  if (pairs && seen)
    seen = arith::DivUIOp::create(b, seen, ctx.constantIndex(2));
  auto step = [&](Value k, ArrayRef<Value> sums) {
    return pairs ? emitPairStep(ctx, dot, rows, col, k, sums)
                 : emitStep(ctx, dot, rows, col, k, sums);
  };
  int64_t unroll = getUnroll(dot);
  int64_t main = depth / unroll * unroll;
  if (main) {
    auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                   seen ? seen : ctx.constantIndex(main),
                                   ctx.constantIndex(unroll), acc);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t u = 0; u < unroll; ++u)
      sums = step(ctx.addIndex(loop.getInductionVar(), u), sums);
    // Behind the reads: LLVM moves none of them across a request.
    prefetchNextKeys(ctx, dot, loop.getInductionVar(), unroll, col, columns);
    scf::YieldOp::create(b, sums);
    acc.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (int64_t k = main; k < depth; ++k)
    acc = step(ctx.constantIndex(k), acc);

  SmallVector<SmallVector<Value>> block;
  for (int64_t n = 0; n < columns; ++n)
    block.emplace_back(ArrayRef(acc).slice(n * vectors, vectors));
  return sink(block, row, col, carried);
}

/// How many columns a block has that is `vectors` registers wide.
static int64_t blockColumns(HostContext &ctx, int64_t vectors) {
  return std::min(kMaxColumns, ctx.shape.accumulators / vectors);
}

int64_t fa::seenStep(HostContext &ctx, int64_t vectors) {
  // Pairs, too, and tiles.
  return std::lcm(blockColumns(ctx, vectors),
                  ctx.tiles ? kTileBlock : 2 * kMostUnroll);
}

SmallVector<Value> fa::emitDotColumns(HostContext &ctx, tile::DotOp dot,
                                      Value row, int64_t vectors,
                                      ValueRange carried, BlockSink sink,
                                      Value end) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t total = typeOf(dot.getResult()).getDimSize(1);
  int64_t columns = std::min(blockColumns(ctx, vectors), total);
  int64_t main = total / columns * columns;
  auto loop = scf::ForOp::create(b, ctx.constantIndex(0),
                                 end ? end : ctx.constantIndex(main),
                                 ctx.constantIndex(columns), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        emitDotBlock(ctx, dot, row, loop.getInductionVar(), vectors, columns,
                     loop.getRegionIterArgs(), sink);
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  SmallVector<Value> result(loop.getResults());
  if (total > main)
    result = emitDotBlock(ctx, dot, row, ctx.constantIndex(main), vectors,
                          total - main, result, sink);
  return result;
}

/// Whether single elements of `value` come straight from memory.
static bool isElementRead(Value value) {
  while (auto transpose = value.getDefiningOp<tile::TransposeOp>())
    value = transpose.getInput();
  return value.getDefiningOp<tile::LoadOp>();
}

/// Brings the operands to where a block reads them many times.
void fa::prepareDot(HostContext &ctx, tile::DotOp dot) {
  if (isPairDot(ctx, dot))
    return; // its operands were brought where they were computed
  TileBuffer left = ctx.materialize(dot.getA(), TileForm::Lanes);
  ctx.buffers[dot.getA()] = left;
  if (ctx.buffers.count(dot.getB()) || isElementRead(dot.getB()))
    return;
  TileBuffer right = ctx.materialize(dot.getB(), TileForm::Lanes);
  ctx.buffers[dot.getB()] = right;
}

static LogicalResult lowerDot(HostContext &ctx, tile::DotOp dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isPending(ctx, dot))
    return success();
  RankedTensorType type = dot.getType();
  if (failed(verifyMatrix(dot, type)))
    return failure();
  if (!ctx.computeType(type.getElementType()).isF32())
    return dot.emitOpError("has a lowering for the host that accumulates in "
                           "f32, found ")
           << type;
  if (isTileDot(ctx, dot)) {
    lowerTileDot(ctx, dot);
    return success();
  }
  prepareDot(ctx, dot);
  TileBuffer result = ctx.bufferForResult(dot.getResult());
  Type narrow = type.getElementType().isF32() ? Type() : type.getElementType();
  auto store = [&](ArrayRef<SmallVector<Value>> acc, Value row, Value col,
                   ValueRange) -> SmallVector<Value> {
    for (auto [n, values] : llvm::enumerate(acc))
      for (auto [v, value] : llvm::enumerate(values))
        vector::StoreOp::create(b, narrow ? emitRound(b, value, narrow) : value,
                                result.memref,
                                ValueRange{ctx.addIndex(col, n),
                                           ctx.addIndex(row, v * ctx.lanes())});
    return {};
  };
  ctx.forRowBlocks(
      type.getDimSize(0),
      [&](Value row, int64_t vectors) {
        emitDotColumns(ctx, dot, row, vectors, {}, store);
      },
      ctx.liveRows);
  ctx.buffers[dot.getResult()] = result;
  return success();
}

void fa::addDotLowerings(HostContext &ctx) { ctx.registry.add(ctx, lowerDot); }
