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

#include "HostDots.h"
#include "HostMemory.h"
#include "Pieces.h"
#include "VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa;

/// Elements of bf16 in 128 bits, within which exchanges of neighbours are one
/// instruction each.
static constexpr int64_t kGroup = 8;

int64_t fa::linesOfPiece(TileBuffer buffer) {
  return cast<MemRefType>(buffer.memref.getType()).getDimSize(0) /
         buffer.pieces;
}

Value fa::lineOfPiece(HostContext &ctx, TileBuffer buffer, Value line,
                      int64_t piece) {
  return ctx.addIndex(line, piece * linesOfPiece(buffer));
}

Value fa::lineOfSquare(HostContext &ctx, TileBuffer buffer, Value column) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value depth = ctx.constantIndex(kTileDepth),
        size = ctx.constantIndex(ctx.lanes());
  Value side = arith::DivUIOp::create(
      b, Value(arith::RemUIOp::create(b, column, depth)), size);
  Value line = arith::MulIOp::create(
      b, Value(arith::DivUIOp::create(b, column, depth)), size);
  Value ofSide =
      arith::MulIOp::create(b, side, ctx.constantIndex(linesOfPiece(buffer)));
  return arith::AddIOp::create(b, line, ofSide);
}

/// Stores the pieces of a vector of pairs in f32.
static void storePieces(HostContext &ctx, Value even, Value odd,
                        TileBuffer buffer, Value line, Value at) {
  ImplicitLocOpBuilder &b = ctx.b;
  // Rows of K are of bf16, other buffers of pairs.
  Type held = cast<MemRefType>(buffer.memref.getType()).getElementType();
  for (auto [n, piece] :
       llvm::enumerate(emitPieces(b, even, odd, buffer.pieces))) {
    Value x = piece;
    if (held.isBF16())
      x = vector::BitCastOp::create(b, VectorType::get({2 * ctx.lanes()}, held),
                                    x);
    vector::StoreOp::create(b, x, buffer.memref,
                            ValueRange{lineOfPiece(ctx, buffer, line, n), at});
  }
}

/// A loop of its own is less to compile than pieces of each register there.
void fa::takeApart(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                   int64_t lines, Value from, Value to) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (buffer.pieces == 1)
    return;
  auto overLines = scf::ForOp::create(
      b, ctx.constantIndex(0), ctx.constantIndex(lines), ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overLines.getBody());
  auto loop = scf::ForOp::create(b, from, to, ctx.constantIndex(ctx.lanes()));
  b.setInsertionPointToStart(loop.getBody());
  Value line = overLines.getInductionVar(), at = loop.getInductionVar();
  auto read = [&](int64_t piece) -> Value {
    return vector::LoadOp::create(
        b, ctx.vectorType(b.getI32Type()), buffer.memref,
        ValueRange{lineOfPiece(ctx, buffer, line, piece), at});
  };
  Type element = load.getType().getElementType();
  auto floats = [&](Value bits) -> Value {
    return vector::BitCastOp::create(b, ctx.vectorType(element), bits);
  };
  auto [even, odd] = element.isF32()
                         ? std::pair(floats(read(0)), floats(read(1)))
                         : emitWidePairs(b, read(0), element);
  storePieces(ctx, even, odd, buffer, line, at);
}

/// Zeros behind the last column fill a tile. A pair of f32 is of two columns
/// that are as far apart as a register is long, as in Q (loadSquares).
void fa::copyPieces(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                    TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  RankedTensorType type = load.getType();
  int64_t columns = type.getDimSize(1),
          main = columns / kTileDepth * kTileDepth;
  auto loop =
      scf::ForOp::create(b, rows.first, rows.second, ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  auto copy = [&](Value column, int64_t count) {
    if (type.getElementType().isF32()) {
      Value first = loadRow(ctx, load, row, column,
                            std::min(count, ctx.lanes()), ctx.lanes());
      Value second =
          count > ctx.lanes()
              ? loadRow(ctx, load, row, ctx.addIndex(column, ctx.lanes()),
                        count - ctx.lanes(), ctx.lanes())
              : ctx.constantVector(0.0);
      storePieces(ctx, first, second, buffer, row, column);
      return;
    }
    Value x = loadRow(ctx, load, row, column, count, kTileDepth);
    auto [even, odd] = emitWidePairs(
        b, vector::BitCastOp::create(b, ctx.vectorType(b.getI32Type()), x),
        type.getElementType());
    storePieces(ctx, even, odd, buffer, row, column);
  };
  auto overColumns =
      scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                         ctx.constantIndex(kTileDepth));
  if (columns > main)
    copy(ctx.constantIndex(main), columns - main);
  b.setInsertionPointToStart(overColumns.getBody());
  copy(overColumns.getInductionVar(), kTileDepth);
}

/// The first kTileDepth of `rows` by `count` columns at `column`, to `pair`.
///
/// Each register has a group of columns of every eighth row; they are
/// transposed within the groups. Two groups of a row are read at once and
/// parted in registers: a row costs an address.
static void loadColumnGroups(HostContext &ctx, Value rows, TileBuffer buffer,
                             Value pair, Value column, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool two = count > kGroup;
  int64_t width = two ? 2 * kGroup : kGroup;
  auto words = VectorType::get({width}, b.getI16Type());
  auto ints = ctx.vectorType(b.getI32Type());
  SmallVector<SmallVector<Value>> groups(two ? 2 : 1);
  for (int64_t r = 0; r < kGroup; ++r) {
    SmallVector<Value> parts;
    for (int64_t at = r; at < kTileDepth; at += kGroup)
      parts.push_back(vector::BitCastOp::create(
          b, words,
          loadFirst(b, rows, ValueRange{ctx.constantIndex(at), column}, width,
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
                            ValueRange{ctx.addIndex(column, c), pair});
}

/// The same of f32: rows 2r and 2r + 1 are a pair, so there is a square of the
/// even ones, and one of the others.
static void loadColumnSquares(HostContext &ctx, Value rows, TileBuffer buffer,
                              Value pair, Value column, int64_t count) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto overSides = scf::ForOp::create(
      b, ctx.constantIndex(0), ctx.constantIndex(2), ctx.constantIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(overSides.getBody());
  Value side = overSides.getInductionVar();
  SmallVector<Value> square;
  for (int64_t r = 0; r < ctx.lanes(); ++r)
    square.push_back(loadFirst(b, rows,
                               ValueRange{ctx.addIndex(side, 2 * r), column},
                               ctx.lanes(), count));
  emitTranspose(b, square);
  Value ofSide =
      arith::MulIOp::create(b, side, ctx.constantIndex(linesOfPiece(buffer)));
  Value line = arith::AddIOp::create(b, column, ofSide);
  for (int64_t c = 0; c < count; ++c) {
    Value bits =
        vector::BitCastOp::create(b, ctx.vectorType(b.getI32Type()), square[c]);
    vector::StoreOp::create(b, bits, buffer.memref,
                            ValueRange{ctx.addIndex(line, c), pair});
  }
}

/// Rows of a block that are not there are zeros in a copy of it, so there is
/// one form of the transposition. Blocks behind the last row are only zeroed.
void fa::loadColumnPairs(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                         TileInterval rows) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto type = cast<RankedTensorType>(load.getType());
  int64_t columns = type.getDimSize(1), step = 2 * kGroup;
  int64_t main = columns / step * step;
  assert(step == ctx.lanes());
  Value all = ctx.constantIndex(type.getDimSize(0));
  Value end = all;
  if (!load.getInBounds()) {
    Value there = arith::MaxSIOp::create(b, rows.second, ctx.constantIndex(0));
    Value depth = ctx.constantIndex(kTileDepth);
    end = arith::MulIOp::create(
        b,
        Value(arith::DivUIOp::create(b, ctx.addIndex(there, kTileDepth - 1),
                                     depth)),
        depth);
  }
  auto overBlocks = [&](Value from, Value to,
                        llvm::function_ref<void(Value, Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, ctx.constantIndex(kTileDepth));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    body(row, arith::DivUIOp::create(b, row, ctx.constantIndex(2)));
  };
  overBlocks(ctx.constantIndex(0), end, [&](Value row, Value pair) {
    Value block = load.getInBounds()
                      ? viewRows(ctx, load, row, kTileDepth)
                      : viewOrCopyRows(ctx, load, row, kTileDepth);
    auto overColumns =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(main),
                           ctx.constantIndex(step));
    auto transpose = [&](Value column, int64_t count) {
      if (type.getElementType().isF32())
        loadColumnSquares(ctx, block, buffer, pair, column, count);
      else
        loadColumnGroups(ctx, block, buffer, pair, column, count);
    };
    if (columns > main)
      transpose(ctx.constantIndex(main), columns - main);
    takeApart(ctx, load, buffer, columns, pair,
              ctx.addIndex(pair, kTileDepth / 2));
    b.setInsertionPointToStart(overColumns.getBody());
    transpose(overColumns.getInductionVar(), step);
  });
  if (load.getInBounds())
    return;
  Value none = arith::ConstantOp::create(
      b, b.getZeroAttr(ctx.vectorType(b.getI32Type())));
  overBlocks(end, all, [&](Value, Value pair) {
    int64_t lines = cast<MemRefType>(buffer.memref.getType()).getDimSize(0);
    auto loop =
        scf::ForOp::create(b, ctx.constantIndex(0), ctx.constantIndex(lines),
                           ctx.constantIndex(1));
    b.setInsertionPointToStart(loop.getBody());
    vector::StoreOp::create(b, none, buffer.memref,
                            ValueRange{loop.getInductionVar(), pair});
  });
}
