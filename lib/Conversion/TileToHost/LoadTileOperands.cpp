//===- LoadTileOperands.cpp - what matrix units read ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// V transposed, K in rows, Q with lanes along its rows: see LowerTileDot.cpp.
// What is the sum of several bf16 (Pieces.h) is taken apart once, where it is
// loaded.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

Value KernelLowering::lineOfPiece(Buffer buffer, Value line, int64_t piece) {
  int64_t lines = cast<MemRefType>(buffer.memref.getType()).getDimSize(0);
  return addIndex(line, piece * (lines / buffer.pieces));
}

void KernelLowering::storePieces(Value pairs, Type element, Buffer buffer,
                                 Value line, Value at) {
  auto [even, odd] = emitWidePairs(b, pairs, element);
  // Rows of K are of bf16, other buffers of pairs.
  Type held = cast<MemRefType>(buffer.memref.getType()).getElementType();
  for (auto [n, piece] :
       llvm::enumerate(emitPieces(b, even, odd, buffer.pieces))) {
    Value x = piece;
    if (held.isBF16())
      x = vector::BitCastOp::create(b, VectorType::get({2 * lanes()}, held), x);
    vector::StoreOp::create(b, x, buffer.memref,
                            ValueRange{lineOfPiece(buffer, line, n), at});
  }
}

/// A loop of its own is less to compile than pieces of each register there.
void KernelLowering::takeApart(tile::LoadOp load, Buffer buffer, int64_t lines,
                               Value from, Value to) {
  if (buffer.pieces == 1)
    return;
  auto overLines = scf::ForOp::create(b, constantIndex(0), constantIndex(lines),
                                      constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overLines.getBody());
  auto loop = scf::ForOp::create(b, from, to, constantIndex(lanes()));
  b.setInsertionPointToStart(loop.getBody());
  Value line = overLines.getInductionVar(), at = loop.getInductionVar();
  Value pairs = vector::LoadOp::create(b, vectorType(b.getI32Type()),
                                       buffer.memref, ValueRange{line, at});
  storePieces(pairs, load.getType().getElementType(), buffer, line, at);
}

/// Zeros behind the last column fill a tile.
void KernelLowering::copyPieces(tile::LoadOp load, Buffer buffer,
                                Interval rows) {
  RankedTensorType type = load.getType();
  int64_t columns = type.getDimSize(1),
          main = columns / kTileDepth * kTileDepth;
  auto loop = scf::ForOp::create(b, rows.first, rows.second, constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  auto copy = [&](Value column, int64_t count) {
    Value x = loadRow(load, row, column, count, kTileDepth);
    storePieces(vector::BitCastOp::create(b, vectorType(b.getI32Type()), x),
                type.getElementType(), buffer, row, column);
  };
  auto overColumns = scf::ForOp::create(
      b, constantIndex(0), constantIndex(main), constantIndex(kTileDepth));
  if (columns > main)
    copy(constantIndex(main), columns - main);
  b.setInsertionPointToStart(overColumns.getBody());
  copy(overColumns.getInductionVar(), kTileDepth);
}

/// kTileDepth rows at `row` by `count` columns at `column`. Each register has a
/// group of columns of every eighth row; they are transposed within the groups.
/// What shares rows is read together: rows have addresses of their own.
void KernelLowering::loadColumnGroups(tile::LoadOp load, Buffer buffer,
                                      Value row, Value column, int64_t count,
                                      std::optional<Interval> rows) {
  auto words = [&](int64_t length) {
    return VectorType::get({length}, b.getI16Type());
  };
  auto ints = vectorType(b.getI32Type());
  SmallVector<SmallVector<Value>> groups(llvm::divideCeil(count, kGroup));
  for (int64_t r = 0; r < kGroup; ++r) {
    SmallVector<SmallVector<Value>> parts(groups.size());
    for (int64_t at = r; at < kTileDepth; at += kGroup)
      for (auto [g, part] : llvm::enumerate(parts))
        part.push_back(vector::BitCastOp::create(
            b, words(kGroup),
            loadRow(load, addIndex(row, at), addIndex(column, g * kGroup),
                    std::min<int64_t>(kGroup, count - g * kGroup), kGroup,
                    rows)));
    for (auto [group, part] : llvm::zip(groups, parts))
      group.push_back(emitConcat(b, part));
  }
  for (SmallVector<Value> &group : groups)
    emitTransposeGroups(b, group);
  Value pair = arith::DivUIOp::create(b, row, constantIndex(2));
  for (int64_t c = 0; c < count; ++c)
    vector::StoreOp::create(b,
                            Value(vector::BitCastOp::create(
                                b, ints, groups[c / kGroup][c % kGroup])),
                            buffer.memref,
                            ValueRange{addIndex(column, c), pair});
}

void KernelLowering::loadColumnPairs(tile::LoadOp load, Buffer buffer,
                                     Interval rows) {
  auto type = cast<RankedTensorType>(load.getType());
  int64_t columns = type.getDimSize(1), step = 2 * kGroup;
  int64_t main = columns / step * step;
  Value all = constantIndex(type.getDimSize(0));
  using Body = llvm::function_ref<void(Value, Value, int64_t)>;
  auto forGroups = [&](Value from, Value to, Body body) {
    auto overRows = scf::ForOp::create(b, from, to, constantIndex(kTileDepth));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(overRows.getBody());
    Value row = overRows.getInductionVar();
    auto overColumns = scf::ForOp::create(
        b, constantIndex(0), constantIndex(main), constantIndex(step));
    if (columns > main)
      body(row, constantIndex(main), columns - main);
    Value pair = arith::DivUIOp::create(b, row, constantIndex(2));
    takeApart(load, buffer, columns, pair, addIndex(pair, kTileDepth / 2));
    b.setInsertionPointToStart(overColumns.getBody());
    body(row, overColumns.getInductionVar(), step);
  };
  auto copy = [&](std::optional<Interval> rows) {
    return [=, this](Value row, Value column, int64_t count) {
      loadColumnGroups(load, buffer, row, column, count, rows);
    };
  };
  Value zero = constantIndex(0);
  if (load.getInBounds())
    return forGroups(zero, all, copy(std::nullopt));
  // Whole blocks of rows that are there, one that ends among its rows, zeros.
  Value depth = constantIndex(kTileDepth);
  Value end = arith::MaxSIOp::create(b, rows.second, zero);
  Value whole = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, end, depth)), depth);
  Value atStart =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rows.first, zero);
  whole = arith::SelectOp::create(b, atStart, whole, zero);
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rows.first,
                                     rows.second);
  Value edge = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, addIndex(end, kTileDepth - 1), depth)),
      depth);
  edge = arith::SelectOp::create(b, some, edge, whole);
  forGroups(zero, whole, copy(std::nullopt));
  forGroups(whole, edge, copy(rows));
  forGroups(edge, all, [&](Value row, Value column, int64_t count) {
    Value none =
        arith::ConstantOp::create(b, b.getZeroAttr(vectorType(b.getI32Type())));
    Value pair = arith::DivUIOp::create(b, row, constantIndex(2));
    for (int64_t c = 0; c < count; ++c)
      vector::StoreOp::create(b, none, buffer.memref,
                              ValueRange{addIndex(column, c), pair});
  });
}
