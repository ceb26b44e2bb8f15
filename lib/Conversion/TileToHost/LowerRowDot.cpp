//===- LowerRowDot.cpp - matrix products with lanes along rows ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowForm.cpp. A block is kRowBlock rows by rowBlockColumns() columns (of
// the result) or vectors of them. bf16 in pairs (LowerPairDot.cpp) has its left
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

int64_t KernelLowering::rowBlockColumns() const {
  return llvm::bit_floor(static_cast<uint64_t>(shape.accumulators / kRowBlock));
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
                               Value col) {
  int64_t columns = rowBlockColumns();
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

void KernelLowering::lowerDotOfRows(tile::DotOp dot, Buffer result) {
  int64_t total = dot.getType().getDimSize(1), columns = rowBlockColumns();
  int64_t depth = typeOf(dot.getA()).getDimSize(1);
  int64_t width = isPairDot(dot) ? 2 * lanes() : lanes();
  auto step = [&](Value row, Value col, Value k, int64_t count,
                  ValueRange sums) {
    SmallVector<Value> keys, next;
    for (int64_t n = 0; n < columns; ++n)
      keys.push_back(
          readOperandRow(dot, dot.getB(), addIndex(col, n), k, count));
    for (int64_t m = 0; m < kRowBlock; ++m) {
      Value x = readOperandRow(dot, dot.getA(), addIndex(row, m), k, count);
      for (int64_t n = 0; n < columns; ++n)
        next.push_back(emitProduct(x, keys[n], sums[m * columns + n]));
    }
    return next;
  };
  auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(total),
                                 constantIndex(columns));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value col = loop.getInductionVar();
  prefetchBeside(dot, arith::DivUIOp::create(b, col, constantIndex(columns)),
                 total / columns);
  forLiveRows(dot.getType().getDimSize(0), kRowBlock, [&](Value row) {
    SmallVector<Value> sums(kRowBlock * columns, constantVector(0.0));
    int64_t main = depth / width * width;
    if (main) {
      auto overDepth = scf::ForOp::create(
          b, constantIndex(0), constantIndex(main), constantIndex(width), sums);
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(overDepth.getBody());
      scf::YieldOp::create(b, step(row, col, overDepth.getInductionVar(), width,
                                   overDepth.getRegionIterArgs()));
      sums.assign(overDepth.getResults().begin(), overDepth.getResults().end());
    }
    if (depth > main)
      sums = step(row, col, constantIndex(main), depth - main, sums);
    storeSums(sums, result, row, col);
  });
}

//===----------------------------------------------------------------------===//
// Lanes along the columns: P V
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLowering::emitColumnStep(tile::DotOp dot, Value row,
                                                  Value col, Value k,
                                                  int64_t columns,
                                                  ValueRange sums) {
  SmallVector<Value> right, next;
  for (int64_t n = 0; n < columns; n += lanes()) {
    Value at = addIndex(col, n);
    int64_t count = std::min(lanes(), columns - n);
    right.push_back(isPairDot(dot)
                        ? readRowPair(dot, k, at, count)
                        : readOperandRow(dot, dot.getB(), k, at, count));
  }
  for (int64_t m = 0; m < kRowBlock; ++m) {
    Value x = readLeftElement(dot, addIndex(row, m), k);
    for (Value y : right)
      next.push_back(emitProduct(x, y, sums[next.size()]));
  }
  return next;
}

void KernelLowering::emitStrip(tile::DotOp dot, Buffer result, Value row,
                               Value col, int64_t columns,
                               llvm::function_ref<void(Value)> beside) {
  auto forBlock = [&](llvm::function_ref<void(ValueRange)> body) {
    for (int64_t m = 0; m < kRowBlock; ++m)
      for (int64_t n = 0; n < columns; n += lanes())
        body({addIndex(row, m), addIndex(col, n)});
  };
  SmallVector<Value> sums;
  forBlock([&](ValueRange at) {
    sums.push_back(dot.getAcc()
                       ? evaluateVector(dot.getAcc(), {{at[0]}, {at[1], true}})
                       : constantVector(0.0));
  });
  int64_t depth = typeOf(dot.getA()).getDimSize(1) / (isPairDot(dot) ? 2 : 1);
  {
    auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(depth),
                                   constantIndex(kRowUnroll), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    beside(k);
    sums.assign(loop.getRegionIterArgs().begin(),
                loop.getRegionIterArgs().end());
    for (int64_t u = 0; u < kRowUnroll; ++u)
      sums = emitColumnStep(dot, row, col, addIndex(k, u), columns, sums);
    scf::YieldOp::create(b, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  const Value *sum = sums.begin();
  forBlock([&](ValueRange at) {
    vector::StoreOp::create(b, *sum++, result.memref, at);
  });
}

void KernelLowering::lowerDotOfColumns(tile::DotOp dot, Buffer result) {
  RankedTensorType type = dot.getType();
  int64_t depth = typeOf(dot.getA()).getDimSize(1) / (isPairDot(dot) ? 2 : 1);
  int64_t total = type.getDimSize(1);
  // Rows of pairs pass through more registers on their way to a product.
  int64_t vectors =
      isPairDot(dot) ? rowBlockColumns() : shape.accumulators / kRowBlock;
  int64_t width = vectors * lanes();
  int64_t trips = depth / kRowUnroll, strips = llvm::divideCeil(total, width);
  auto strip = [&](Value col, int64_t columns) {
    Value number = arith::DivUIOp::create(b, col, constantIndex(width));
    Value before = arith::MulIOp::create(b, number, constantIndex(trips));
    forLiveRows(type.getDimSize(0), kRowBlock, [&](Value row) {
      emitStrip(dot, result, row, col, columns, [&](Value k) {
        Value trip = arith::DivUIOp::create(b, k, constantIndex(kRowUnroll));
        prefetchBeside(dot, arith::AddIOp::create(b, before, trip),
                       strips * trips);
      });
    });
  };
  int64_t main = total / width * width;
  if (main) {
    auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(main),
                                   constantIndex(width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    strip(loop.getInductionVar(), width);
  }
  if (total > main)
    strip(constantIndex(main), total - main);
}

LogicalResult KernelLowering::lowerRowDot(tile::DotOp dot) {
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
  if (dot.getTransposeB())
    lowerDotOfRows(dot, result);
  else
    lowerDotOfColumns(dot, result);
  buffers[dot.getResult()] = result;
  return success();
}
