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

int64_t KernelLowering::linesOfPiece(Buffer buffer) {
  return cast<MemRefType>(buffer.memref.getType()).getDimSize(0) /
         buffer.pieces;
}

Value KernelLowering::lineOfPiece(Buffer buffer, Value line, int64_t piece) {
  return addIndex(line, piece * linesOfPiece(buffer));
}

Value KernelLowering::lineOfSquare(Buffer buffer, Value column) {
  Value depth = constantIndex(kTileDepth), size = constantIndex(lanes());
  Value side = arith::DivUIOp::create(
      b, Value(arith::RemUIOp::create(b, column, depth)), size);
  Value line = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, column, depth)), size);
  Value ofSide =
      arith::MulIOp::create(b, side, constantIndex(linesOfPiece(buffer)));
  return arith::AddIOp::create(b, line, ofSide);
}

void KernelLowering::storePieces(Value even, Value odd, Buffer buffer,
                                 Value line, Value at) {
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
  auto read = [&](int64_t piece) -> Value {
    return vector::LoadOp::create(
        b, vectorType(b.getI32Type()), buffer.memref,
        ValueRange{lineOfPiece(buffer, line, piece), at});
  };
  Type element = load.getType().getElementType();
  auto floats = [&](Value bits) -> Value {
    return vector::BitCastOp::create(b, vectorType(element), bits);
  };
  auto [even, odd] = element.isF32()
                         ? std::pair(floats(read(0)), floats(read(1)))
                         : emitWidePairs(b, read(0), element);
  storePieces(even, odd, buffer, line, at);
}

/// Zeros behind the last column fill a tile. A pair of f32 is of two columns
/// that are as far apart as a register is long, as in Q (loadSquares).
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
    if (type.getElementType().isF32()) {
      Value first =
          loadRow(load, row, column, std::min(count, lanes()), lanes());
      Value second = count > lanes()
                         ? loadRow(load, row, addIndex(column, lanes()),
                                   count - lanes(), lanes())
                         : constantVector(0.0);
      storePieces(first, second, buffer, row, column);
      return;
    }
    Value x = loadRow(load, row, column, count, kTileDepth);
    auto [even, odd] = emitWidePairs(
        b, vector::BitCastOp::create(b, vectorType(b.getI32Type()), x),
        type.getElementType());
    storePieces(even, odd, buffer, row, column);
  };
  auto overColumns = scf::ForOp::create(
      b, constantIndex(0), constantIndex(main), constantIndex(kTileDepth));
  if (columns > main)
    copy(constantIndex(main), columns - main);
  b.setInsertionPointToStart(overColumns.getBody());
  copy(overColumns.getInductionVar(), kTileDepth);
}

/// Each register has a group of columns of every eighth row; they are
/// transposed within the groups. Two groups of a row are read at once and
/// parted in registers: a row costs an address.
void KernelLowering::loadColumnGroups(Value rows, Buffer buffer, Value pair,
                                      Value column, int64_t count) {
  bool two = count > kGroup;
  int64_t width = two ? 2 * kGroup : kGroup;
  auto words = VectorType::get({width}, b.getI16Type());
  auto ints = vectorType(b.getI32Type());
  SmallVector<SmallVector<Value>> groups(two ? 2 : 1);
  for (int64_t r = 0; r < kGroup; ++r) {
    SmallVector<Value> parts;
    for (int64_t at = r; at < kTileDepth; at += kGroup)
      parts.push_back(vector::BitCastOp::create(
          b, words,
          loadFirst(b, rows, ValueRange{constantIndex(at), column}, width,
                    count)));
    if (!two) {
      groups[0].push_back(emitConcat(b, parts));
      continue;
    }
    MutableArrayRef<Value> all = parts;
    Value first = emitConcat(b, all.take_front(2));
    Value last = emitConcat(b, all.take_back(2));
    for (bool odd : {false, true})
      groups[odd].push_back(emitParts(b, first, last, kGroup, odd));
  }
  for (SmallVector<Value> &group : groups)
    emitTransposeGroups(b, group);
  for (int64_t c = 0; c < count; ++c)
    vector::StoreOp::create(b,
                            Value(vector::BitCastOp::create(
                                b, ints, groups[c / kGroup][c % kGroup])),
                            buffer.memref,
                            ValueRange{addIndex(column, c), pair});
}

/// Rows 2r and 2r + 1 are a pair: a square of the even ones, one of the others.
void KernelLowering::loadColumnSquares(Value rows, Buffer buffer, Value pair,
                                       Value column, int64_t count) {
  auto overSides = scf::ForOp::create(b, constantIndex(0), constantIndex(2),
                                      constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overSides.getBody());
  Value side = overSides.getInductionVar();
  SmallVector<Value> square;
  for (int64_t r = 0; r < lanes(); ++r)
    square.push_back(loadFirst(
        b, rows, ValueRange{addIndex(side, 2 * r), column}, lanes(), count));
  emitTranspose(b, square);
  Value ofSide =
      arith::MulIOp::create(b, side, constantIndex(linesOfPiece(buffer)));
  Value line = arith::AddIOp::create(b, column, ofSide);
  for (int64_t c = 0; c < count; ++c) {
    Value bits =
        vector::BitCastOp::create(b, vectorType(b.getI32Type()), square[c]);
    vector::StoreOp::create(b, bits, buffer.memref,
                            ValueRange{addIndex(line, c), pair});
  }
}

/// Rows of a block that are not there are zeros in a copy of it, so there is
/// one form of the transposition. Blocks behind the last row are only zeroed.
void KernelLowering::loadColumnPairs(tile::LoadOp load, Buffer buffer,
                                     Interval rows) {
  auto type = cast<RankedTensorType>(load.getType());
  int64_t columns = type.getDimSize(1), step = 2 * kGroup;
  int64_t main = columns / step * step;
  assert(step == lanes());
  Value all = constantIndex(type.getDimSize(0));
  Value end = all;
  if (!load.getInBounds()) {
    Value there = arith::MaxSIOp::create(b, rows.second, constantIndex(0));
    Value depth = constantIndex(kTileDepth);
    end = arith::MulIOp::create(b,
                                Value(arith::DivUIOp::create(
                                    b, addIndex(there, kTileDepth - 1), depth)),
                                depth);
  }
  auto overBlocks = [&](Value from, Value to,
                        llvm::function_ref<void(Value, Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, constantIndex(kTileDepth));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    body(row, arith::DivUIOp::create(b, row, constantIndex(2)));
  };
  overBlocks(constantIndex(0), end, [&](Value row, Value pair) {
    Value block = load.getInBounds() ? viewRows(load, row, kTileDepth)
                                     : viewOrCopyRows(load, row, kTileDepth);
    auto overColumns = scf::ForOp::create(
        b, constantIndex(0), constantIndex(main), constantIndex(step));
    auto transpose = [&](Value column, int64_t count) {
      if (type.getElementType().isF32())
        loadColumnSquares(block, buffer, pair, column, count);
      else
        loadColumnGroups(block, buffer, pair, column, count);
    };
    if (columns > main)
      transpose(constantIndex(main), columns - main);
    takeApart(load, buffer, columns, pair, addIndex(pair, kTileDepth / 2));
    b.setInsertionPointToStart(overColumns.getBody());
    transpose(overColumns.getInductionVar(), step);
  });
  if (load.getInBounds())
    return;
  Value none =
      arith::ConstantOp::create(b, b.getZeroAttr(vectorType(b.getI32Type())));
  overBlocks(end, all, [&](Value, Value pair) {
    int64_t lines = cast<MemRefType>(buffer.memref.getType()).getDimSize(0);
    auto loop = scf::ForOp::create(b, constantIndex(0), constantIndex(lines),
                                   constantIndex(1));
    b.setInsertionPointToStart(loop.getBody());
    vector::StoreOp::create(b, none, buffer.memref,
                            ValueRange{loop.getInductionVar(), pair});
  });
}
