//===- LowerRowDot.cpp - matrix products with lanes along rows ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowForm.cpp. A block is kRowBlock rows, or kWideRowBlock so that what is
// read and widened of the right operand serves more of them, by columns (of the
// result) or vectors of them. bf16 in pairs (LowerPairDot.cpp) has its left
// operand as it lies, two steps of the contraction in 32 bits.
//
//===----------------------------------------------------------------------===//

#include "HostDots.h"
#include "HostLowerings.h"
#include "HostMemory.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

namespace {
/// Part of a result with lanes along its columns.
struct Strip {
  Value row, col;
  int64_t rows, columns;
};
} // namespace

int64_t fa::rowBlockColumns(HostContext &ctx, int64_t rows) {
  return llvm::bit_floor(static_cast<uint64_t>(ctx.shape.accumulators / rows));
}

/// Calls `body(row, count)` for each block of `count` rows of the result of
/// `dot`: wide ones where a narrow one would not do.
static void forRowDotBlocks(HostContext &ctx, tile::DotOp dot,
                            llvm::function_ref<void(Value, int64_t)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t rows = dot.getType().getDimSize(0);
  bool wide = rows % kWideRowBlock == 0 && ctx.shape.accumulators >= kWideSums;
  if (!wide)
    return ctx.forLiveRows(rows, kRowBlock,
                           [&](Value row) { body(row, kRowBlock); });
  ctx.forLiveRows(rows, kWideRowBlock, [&](Value row) {
    Value end = ctx.liveRows ? ctx.liveRows : ctx.constantIndex(rows);
    Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                       ctx.addIndex(row, kRowBlock), end);
    auto branch = scf::IfOp::create(b, more, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body(row, kWideRowBlock);
    b.setInsertionPointToStart(branch.elseBlock());
    body(row, kRowBlock);
  });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool fa::canReadRowsInPlace(HostContext &ctx, tile::LoadOp load) {
  auto type = typeOf(load.getResult());
  bool onlyRight = llvm::all_of(load.getResult().getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.get() == dot.getB() && use.get() != dot.getA();
  });
  // See lastVector for masks on 16 bits.
  bool hasTail = type.getRank() == 2 && type.getDimSize(1) % ctx.lanes();
  return onlyRight && load.getInBounds() && isReadOnly(ctx, load) &&
         hasWholeRows(ctx, load) && type.getElementTypeBitWidth() <= 32 &&
         (!hasTail || type.getElementType().isF32() || ctx.shape.pairDots);
}

/// A vector of row `row` of an operand of `dot`, from `column` on: f32, or
/// twice as many bf16 for a pair dot; zeros from `count` on.
static Value readOperandRow(HostContext &ctx, tile::DotOp dot, Value operand,
                            Value row, Value column, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool pairs = isPairDot(ctx, dot);
  int64_t width = pairs ? 2 * ctx.lanes() : ctx.lanes();
  auto &known = pairs ? ctx.pairBuffers : ctx.buffers;
  if (auto it = known.find(operand); it != known.end())
    return loadFirst(b, it->second.memref, ValueRange{row, column}, width,
                     count);
  Value x = loadRow(ctx, operand.getDefiningOp<tile::LoadOp>(), row, column,
                    count, width);
  if (!pairs && !getElementTypeOrSelf(x).isF32())
    x = arith::ExtFOp::create(b, ctx.vectorType(b.getF32Type()), x);
  return x;
}

/// Rows 2 * pair and 2 * pair + 1 of the right operand side by side.
static Value readRowPair(HostContext &ctx, tile::DotOp dot, Value pair,
                         Value column, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = VectorType::get({2 * ctx.lanes()}, b.getBF16Type());
  auto it = ctx.pairBuffers.find(dot.getB());
  if (it != ctx.pairBuffers.end())
    return vector::BitCastOp::create(
        b, type,
        Value(vector::LoadOp::create(b, ctx.vectorType(b.getI32Type()),
                                     it->second.memref,
                                     ValueRange{pair, column})));
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  Value even = arith::MulIOp::create(b, pair, ctx.constantIndex(2));
  auto read = [&](Value row) {
    return loadRow(ctx, load, row, column, count, ctx.lanes());
  };
  return vector::InterleaveOp::create(b, read(even),
                                      read(ctx.addIndex(even, 1)));
}

/// Element `k` of row `row` of the left operand in all lanes, or its pair `k`.
static Value readLeftElement(HostContext &ctx, tile::DotOp dot, Value row,
                             Value k) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!isPairDot(ctx, dot))
    return ctx.toVector(
        ctx.readBuffer(ctx.buffers.lookup(dot.getA()), {{row}, {k}}));
  Value column = arith::MulIOp::create(b, k, ctx.constantIndex(2));
  Value all = ctx.toVector(
      loadPair(ctx, ctx.pairBuffers.lookup(dot.getA()).memref, {row, column}));
  return vector::BitCastOp::create(
      b, VectorType::get({2 * ctx.lanes()}, b.getBF16Type()), all);
}

/// `sum` plus the products of `x` and `y`, as readOperandRow gives them.
static Value emitProduct(HostContext &ctx, Value x, Value y, Value sum) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (getElementTypeOrSelf(x).isBF16())
    return x86vector::DotBF16Op::create(b, sum.getType(), sum, x, y);
  return vector::FMAOp::create(b, x, y, sum);
}

//===----------------------------------------------------------------------===//
// Sums over lanes: Q K^T
//===----------------------------------------------------------------------===//

static void storeSums(HostContext &ctx, ArrayRef<Value> sums, TileBuffer result,
                      Value row, Value col, int64_t columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  for (size_t n = 0; n < sums.size(); n += ctx.lanes()) {
    Value x = emitSumsOfLanes(b, sums.slice(n, ctx.lanes()));
    for (int64_t lane = 0; lane < ctx.lanes(); lane += columns) {
      Value part = vector::ExtractStridedSliceOp::create(
          b, x, ArrayRef<int64_t>{lane}, ArrayRef<int64_t>{columns},
          ArrayRef<int64_t>{1});
      vector::StoreOp::create(
          b, part, result.memref,
          ValueRange{ctx.addIndex(row, (n + lane) / columns), col});
    }
  }
}

/// One step of a block of `rows` rows, at `count` elements from `k` on.
static SmallVector<Value> emitRowStep(HostContext &ctx, tile::DotOp dot,
                                      Value row, int64_t rows, Value col,
                                      Value k, int64_t count, ValueRange sums) {
  int64_t columns = rowBlockColumns(ctx, rows);
  SmallVector<Value> keys, next;
  for (int64_t n = 0; n < columns; ++n)
    keys.push_back(
        readOperandRow(ctx, dot, dot.getB(), ctx.addIndex(col, n), k, count));
  for (int64_t m = 0; m < rows; ++m) {
    Value x =
        readOperandRow(ctx, dot, dot.getA(), ctx.addIndex(row, m), k, count);
    for (int64_t n = 0; n < columns; ++n)
      next.push_back(emitProduct(ctx, x, keys[n], sums[m * columns + n]));
  }
  return next;
}

/// `rows` rows of `dot`, which has transpose_b: each element of its result is
/// a sum of lanes.
static void emitDotOfRows(HostContext &ctx, tile::DotOp dot, TileBuffer result,
                          Value row, int64_t rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t total = dot.getType().getDimSize(1),
          columns = rowBlockColumns(ctx, rows);
  int64_t depth = typeOf(dot.getA()).getDimSize(1);
  int64_t width = isPairDot(ctx, dot) ? 2 * ctx.lanes() : ctx.lanes();
  int64_t main = depth / width * width;
  // A trip is a line of each key, if that leaves no step over.
  int64_t line = elementsOfLine(dot);
  int64_t trip = main % line == 0 ? std::max(line, width) : width;
  auto loop =
      scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(total),
                         ctx.constantIndex(columns));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  auto prefetch = [&](Value k) {
    for (int64_t n = 0; n < columns; ++n)
      prefetchBeside(ctx, dot, ctx.addIndex(col, n), k);
  };
  SmallVector<Value> sums(rows * columns, ctx.constantVector(0.0));
  if (main) {
    auto overDepth =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                           ctx.constantIndex(trip), sums);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overDepth.getBody());
    Value k = overDepth.getInductionVar();
    prefetch(k);
    sums.assign(overDepth.getRegionIterArgs().begin(),
                overDepth.getRegionIterArgs().end());
    for (int64_t u = 0; u < trip; u += width)
      sums = emitRowStep(ctx, dot, row, rows, col, ctx.addIndex(k, u), width,
                         sums);
    scf::YieldOp::create(b, sums);
    sums.assign(overDepth.getResults().begin(), overDepth.getResults().end());
  }
  if (depth > main) {
    prefetch(ctx.constantIndex(main));
    sums = emitRowStep(ctx, dot, row, rows, col, ctx.constantIndex(main),
                       depth - main, sums);
  }
  storeSums(ctx, sums, result, row, col, columns);
}

//===----------------------------------------------------------------------===//
// Lanes along the columns: P V
//===----------------------------------------------------------------------===//

static SmallVector<Value> emitColumnStep(HostContext &ctx, tile::DotOp dot,
                                         const Strip &strip, Value k,
                                         ValueRange sums) {
  ImplicitLocOpBuilder &b = ctx.b;
  SmallVector<Value> right, next;
  int64_t keys = isPairDot(ctx, dot) ? 2 : 1;
  Value key = arith::MulIOp::create(b, k, ctx.constantIndex(keys));
  for (int64_t n = 0; n < strip.columns; n += elementsOfLine(dot))
    for (int64_t r = 0; r < keys; ++r)
      prefetchBeside(ctx, dot, ctx.addIndex(key, r),
                     ctx.addIndex(strip.col, n));
  for (int64_t n = 0; n < strip.columns; n += ctx.lanes()) {
    Value at = ctx.addIndex(strip.col, n);
    int64_t count = std::min(ctx.lanes(), strip.columns - n);
    right.push_back(isPairDot(ctx, dot)
                        ? readRowPair(ctx, dot, k, at, count)
                        : readOperandRow(ctx, dot, dot.getB(), k, at, count));
  }
  for (int64_t m = 0; m < strip.rows; ++m) {
    Value x = readLeftElement(ctx, dot, ctx.addIndex(strip.row, m), k);
    for (Value y : right)
      next.push_back(emitProduct(ctx, x, y, sums[next.size()]));
  }
  return next;
}

static void emitStrip(HostContext &ctx, tile::DotOp dot, TileBuffer result,
                      const Strip &strip) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto forBlock = [&](llvm::function_ref<void(ValueRange)> body) {
    for (int64_t m = 0; m < strip.rows; ++m)
      for (int64_t n = 0; n < strip.columns; n += ctx.lanes())
        body({ctx.addIndex(strip.row, m), ctx.addIndex(strip.col, n)});
  };
  SmallVector<Value> sums;
  forBlock([&](ValueRange at) {
    sums.push_back(dot.getAcc() ? ctx.evaluateVector(dot.getAcc(),
                                                     {{at[0]}, {at[1], true}})
                                : ctx.constantVector(0.0));
  });
  int64_t keys = isPairDot(ctx, dot) ? 2 : 1, unroll = kRowUnroll / keys;
  int64_t depth = typeOf(dot.getA()).getDimSize(1) / keys;
  {
    auto loop =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(depth),
                           ctx.constantIndex(unroll), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    sums.assign(loop.getRegionIterArgs().begin(),
                loop.getRegionIterArgs().end());
    for (int64_t u = 0; u < unroll; ++u)
      sums = emitColumnStep(ctx, dot, strip,
                            ctx.addIndex(loop.getInductionVar(), u), sums);
    scf::YieldOp::create(b, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  const Value *sum = sums.begin();
  forBlock([&](ValueRange at) {
    vector::StoreOp::create(b, *sum++, result.memref, at);
  });
}

/// `dot` has no transpose_b: lanes run along the columns of its result.
static void emitDotOfColumns(HostContext &ctx, tile::DotOp dot,
                             TileBuffer result, Value row, int64_t rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t total = dot.getType().getDimSize(1);
  // Rows of pairs pass through more registers on their way to a product.
  int64_t vectors = isPairDot(ctx, dot) ? rowBlockColumns(ctx, rows)
                                        : ctx.shape.accumulators / rows;
  int64_t width = vectors * ctx.lanes();
  int64_t main = total / width * width;
  if (main == width) {
    // A loop of one trip would be one more to compile.
    emitStrip(ctx, dot, result, {row, ctx.constantIndex(0), rows, width});
  } else if (main) {
    auto loop =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                           ctx.constantIndex(width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value col = loop.getInductionVar();
    emitStrip(ctx, dot, result, {row, col, rows, width});
  }
  if (total > main)
    emitStrip(ctx, dot, result,
              {row, ctx.constantIndex(main), rows, total - main});
}

static void lowerRowDot(HostContext &ctx, tile::DotOp dot) {
  prefetchPages(ctx, dot);
  if (isRowTileDot(ctx, dot)) {
    TileBuffer result = ctx.bufferForResult(dot.getResult());
    if (dot.getTransposeB())
      emitRowTileScores(ctx, dot, result);
    else
      emitRowTileOutput(ctx, dot, result);
    ctx.buffers[dot.getResult()] = result;
    return;
  }
  if (!isPairDot(ctx, dot)) {
    TileBuffer left = ctx.materialize(dot.getA(), TileForm::Natural);
    ctx.buffers[dot.getA()] = left;
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    if (!ctx.buffers.count(dot.getB()) &&
        !(load && canReadRowsInPlace(ctx, load))) {
      TileBuffer right = ctx.materialize(dot.getB(), TileForm::Natural);
      ctx.buffers[dot.getB()] = right;
    }
  }
  TileBuffer result = ctx.bufferForResult(dot.getResult());
  forRowDotBlocks(ctx, dot, [&](Value row, int64_t rows) {
    if (dot.getTransposeB())
      emitDotOfRows(ctx, dot, result, row, rows);
    else
      emitDotOfColumns(ctx, dot, result, row, rows);
  });
  ctx.buffers[dot.getResult()] = result;
}

void fa::addRowDotLowerings(HostContext &ctx) {
  ctx.registry.add(ctx, lowerRowDot);
}
