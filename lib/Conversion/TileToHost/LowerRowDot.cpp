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

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using tile::typeOf;

int64_t KernelLowering::rowBlockColumns(int64_t rows) const {
  return llvm::bit_floor(static_cast<uint64_t>(shape.accumulators / rows));
}

/// Calls `body(row, count)` for each block of `count` rows of the result of
/// `dot`: wide ones where a narrow one would not do.
void KernelLowering::forRowDotBlocks(
    tile::DotOp dot, llvm::function_ref<void(Value, int64_t)> body) {
  int64_t rows = dot.getType().getDimSize(0);
  bool wide = rows % kWideRowBlock == 0 && shape.accumulators >= kWideSums;
  if (!wide)
    return forLiveRows(rows, kRowBlock,
                       [&](Value row) { body(row, kRowBlock); });
  forLiveRows(rows, kWideRowBlock, [&](Value row) {
    Value end = liveRows ? liveRows : constantIndex(rows);
    Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                       addIndex(row, kRowBlock), end);
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

bool KernelLowering::canReadRowsInPlace(tile::LoadOp load) {
  auto type = typeOf(load.getResult());
  bool onlyRight = llvm::all_of(load.getResult().getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.get() == dot.getB() && use.get() != dot.getA();
  });
  // See lastVector for masks on 16 bits.
  bool hasTail = type.getRank() == 2 && type.getDimSize(1) % lanes();
  return onlyRight && load.getInBounds() && isReadOnly(load) &&
         hasWholeRows(load) && type.getElementTypeBitWidth() <= 32 &&
         (!hasTail || type.getElementType().isF32() || shape.pairDots);
}

Value KernelLowering::readOperandRow(tile::DotOp dot, Value operand, Value row,
                                     Value column, int64_t count) {
  bool pairs = isPairDot(dot);
  int64_t width = pairs ? 2 * lanes() : lanes();
  auto &known = pairs ? pairBuffers : buffers;
  if (auto it = known.find(operand); it != known.end())
    return loadFirst(b, it->second.memref, ValueRange{row, column}, width,
                     count);
  Value x =
      loadRow(operand.getDefiningOp<tile::LoadOp>(), row, column, count, width);
  if (!pairs && !getElementTypeOrSelf(x).isF32())
    x = arith::ExtFOp::create(b, vectorType(b.getF32Type()), x);
  return x;
}

Value KernelLowering::readRowPair(tile::DotOp dot, Value pair, Value column,
                                  int64_t count) {
  auto type = VectorType::get({2 * lanes()}, b.getBF16Type());
  auto it = pairBuffers.find(dot.getB());
  if (it != pairBuffers.end())
    return vector::BitCastOp::create(
        b, type,
        Value(vector::LoadOp::create(b, vectorType(b.getI32Type()),
                                     it->second.memref,
                                     ValueRange{pair, column})));
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  Value even = arith::MulIOp::create(b, pair, constantIndex(2));
  auto read = [&](Value row) {
    return loadRow(load, row, column, count, lanes());
  };
  return vector::InterleaveOp::create(b, read(even), read(addIndex(even, 1)));
}

/// Element `k` of row `row` of the left operand in all lanes, or its pair `k`.
Value KernelLowering::readLeftElement(tile::DotOp dot, Value row, Value k) {
  if (!isPairDot(dot))
    return toVector(readBuffer(buffers.lookup(dot.getA()), {{row}, {k}}));
  Value column = arith::MulIOp::create(b, k, constantIndex(2));
  Value all =
      toVector(loadPair(pairBuffers.lookup(dot.getA()).memref, {row, column}));
  return vector::BitCastOp::create(
      b, VectorType::get({2 * lanes()}, b.getBF16Type()), all);
}

/// `sum` plus the products of `x` and `y`, as readOperandRow gives them.
Value KernelLowering::emitProduct(Value x, Value y, Value sum) {
  if (getElementTypeOrSelf(x).isBF16())
    return x86vector::DotBF16Op::create(b, sum.getType(), sum, x, y);
  return vector::FMAOp::create(b, x, y, sum);
}

//===----------------------------------------------------------------------===//
// Sums over lanes: Q K^T
//===----------------------------------------------------------------------===//

void KernelLowering::storeSums(ArrayRef<Value> sums, Buffer result, Value row,
                               Value col, int64_t columns) {
  for (size_t n = 0; n < sums.size(); n += lanes()) {
    Value x = emitSumsOfLanes(b, sums.slice(n, lanes()));
    for (int64_t lane = 0; lane < lanes(); lane += columns) {
      Value part = vector::ExtractStridedSliceOp::create(
          b, x, ArrayRef<int64_t>{lane}, ArrayRef<int64_t>{columns},
          ArrayRef<int64_t>{1});
      vector::StoreOp::create(
          b, part, result.memref,
          ValueRange{addIndex(row, (n + lane) / columns), col});
    }
  }
}

/// One step of a block of `rows` rows, at `count` elements from `k` on.
SmallVector<Value> KernelLowering::emitRowStep(tile::DotOp dot, Value row,
                                               int64_t rows, Value col, Value k,
                                               int64_t count, ValueRange sums) {
  int64_t columns = rowBlockColumns(rows);
  SmallVector<Value> keys, next;
  for (int64_t n = 0; n < columns; ++n)
    keys.push_back(readOperandRow(dot, dot.getB(), addIndex(col, n), k, count));
  for (int64_t m = 0; m < rows; ++m) {
    Value x = readOperandRow(dot, dot.getA(), addIndex(row, m), k, count);
    for (int64_t n = 0; n < columns; ++n)
      next.push_back(emitProduct(x, keys[n], sums[m * columns + n]));
  }
  return next;
}

void KernelLowering::emitDotOfRows(tile::DotOp dot, Buffer result, Value row,
                                   int64_t rows) {
  int64_t total = dot.getType().getDimSize(1), columns = rowBlockColumns(rows);
  int64_t depth = typeOf(dot.getA()).getDimSize(1);
  int64_t width = isPairDot(dot) ? 2 * lanes() : lanes();
  int64_t main = depth / width * width;
  // A trip is a line of each key, if that leaves no step over.
  int64_t line = elementsOfLine(dot);
  int64_t trip = main % line == 0 ? std::max(line, width) : width;
  auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(total),
                                 constantIndex(columns));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  auto prefetch = [&](Value k) {
    for (int64_t n = 0; n < columns; ++n)
      prefetchBeside(dot, addIndex(col, n), k);
  };
  SmallVector<Value> sums(rows * columns, constantVector(0.0));
  if (main) {
    auto overDepth = scf::ForOp::create(
        b, constantIndex(0), constantIndex(main), constantIndex(trip), sums);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(overDepth.getBody());
    Value k = overDepth.getInductionVar();
    prefetch(k);
    sums.assign(overDepth.getRegionIterArgs().begin(),
                overDepth.getRegionIterArgs().end());
    for (int64_t u = 0; u < trip; u += width)
      sums = emitRowStep(dot, row, rows, col, addIndex(k, u), width, sums);
    scf::YieldOp::create(b, sums);
    sums.assign(overDepth.getResults().begin(), overDepth.getResults().end());
  }
  if (depth > main) {
    prefetch(constantIndex(main));
    sums = emitRowStep(dot, row, rows, col, constantIndex(main), depth - main,
                       sums);
  }
  storeSums(sums, result, row, col, columns);
}

//===----------------------------------------------------------------------===//
// Lanes along the columns: P V
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLowering::emitColumnStep(tile::DotOp dot,
                                                  const Strip &strip, Value k,
                                                  ValueRange sums) {
  SmallVector<Value> right, next;
  int64_t keys = isPairDot(dot) ? 2 : 1;
  Value key = arith::MulIOp::create(b, k, constantIndex(keys));
  for (int64_t n = 0; n < strip.columns; n += elementsOfLine(dot))
    for (int64_t r = 0; r < keys; ++r)
      prefetchBeside(dot, addIndex(key, r), addIndex(strip.col, n));
  for (int64_t n = 0; n < strip.columns; n += lanes()) {
    Value at = addIndex(strip.col, n);
    int64_t count = std::min(lanes(), strip.columns - n);
    right.push_back(isPairDot(dot)
                        ? readRowPair(dot, k, at, count)
                        : readOperandRow(dot, dot.getB(), k, at, count));
  }
  for (int64_t m = 0; m < strip.rows; ++m) {
    Value x = readLeftElement(dot, addIndex(strip.row, m), k);
    for (Value y : right)
      next.push_back(emitProduct(x, y, sums[next.size()]));
  }
  return next;
}

void KernelLowering::emitStrip(tile::DotOp dot, Buffer result,
                               const Strip &strip) {
  auto forBlock = [&](llvm::function_ref<void(ValueRange)> body) {
    for (int64_t m = 0; m < strip.rows; ++m)
      for (int64_t n = 0; n < strip.columns; n += lanes())
        body({addIndex(strip.row, m), addIndex(strip.col, n)});
  };
  SmallVector<Value> sums;
  forBlock([&](ValueRange at) {
    sums.push_back(dot.getAcc()
                       ? evaluateVector(dot.getAcc(), {{at[0]}, {at[1], true}})
                       : constantVector(0.0));
  });
  int64_t keys = isPairDot(dot) ? 2 : 1, unroll = kRowUnroll / keys;
  int64_t depth = typeOf(dot.getA()).getDimSize(1) / keys;
  {
    auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(depth),
                                   constantIndex(unroll), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    sums.assign(loop.getRegionIterArgs().begin(),
                loop.getRegionIterArgs().end());
    for (int64_t u = 0; u < unroll; ++u)
      sums =
          emitColumnStep(dot, strip, addIndex(loop.getInductionVar(), u), sums);
    scf::YieldOp::create(b, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  const Value *sum = sums.begin();
  forBlock([&](ValueRange at) {
    vector::StoreOp::create(b, *sum++, result.memref, at);
  });
}

void KernelLowering::emitDotOfColumns(tile::DotOp dot, Buffer result, Value row,
                                      int64_t rows) {
  int64_t total = dot.getType().getDimSize(1);
  // Rows of pairs pass through more registers on their way to a product.
  int64_t vectors =
      isPairDot(dot) ? rowBlockColumns(rows) : shape.accumulators / rows;
  int64_t width = vectors * lanes();
  int64_t main = total / width * width;
  if (main == width) {
    // A loop of one trip would be one more to compile.
    emitStrip(dot, result, {row, constantIndex(0), rows, width});
  } else if (main) {
    auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(main),
                                   constantIndex(width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value col = loop.getInductionVar();
    emitStrip(dot, result, {row, col, rows, width});
  }
  if (total > main)
    emitStrip(dot, result, {row, constantIndex(main), rows, total - main});
}

LogicalResult KernelLowering::lowerRowDot(tile::DotOp dot) {
  prefetchPages(dot);
  if (isRowTileDot(dot)) {
    Buffer result = bufferForResult(dot.getResult());
    if (dot.getTransposeB())
      emitRowTileScores(dot, result);
    else
      emitRowTileOutput(dot, result);
    buffers[dot.getResult()] = result;
    return success();
  }
  if (!isPairDot(dot)) {
    Buffer left = materialize(dot.getA(), Form::Natural);
    buffers[dot.getA()] = left;
    auto load = dot.getB().getDefiningOp<tile::LoadOp>();
    if (!buffers.count(dot.getB()) && !(load && canReadRowsInPlace(load))) {
      Buffer right = materialize(dot.getB(), Form::Natural);
      buffers[dot.getB()] = right;
    }
  }
  Buffer result = bufferForResult(dot.getResult());
  forRowDotBlocks(dot, [&](Value row, int64_t rows) {
    if (dot.getTransposeB())
      emitDotOfRows(dot, result, row, rows);
    else
      emitDotOfColumns(dot, result, row, rows);
  });
  buffers[dot.getResult()] = result;
  return success();
}
