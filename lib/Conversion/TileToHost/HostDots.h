//===- HostDots.h - products of a host kernel -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dot is computed in one of five ways: in f32 or in pairs of bf16 by the
// vector unit, by the matrix unit; and along rows, by either unit.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTDOTS_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTDOTS_H

#include "HostContext.h"

namespace fa {

//===----------------------------------------------------------------------===//
// Dots that an online softmax computes (PendingDots.cpp)
//===----------------------------------------------------------------------===//

/// The online softmax that `dot` is left to, if any.
tile::OnlineSoftmaxOp findSoftmax(HostContext &ctx, tile::DotOp dot);
bool isPending(HostContext &ctx, tile::DotOp dot);
/// The dot that the scores are computed from: the first one on the way back
/// through elementwise operations.
tile::DotOp findPendingDot(mlir::Value scores);

//===----------------------------------------------------------------------===//
// Dots (LowerDot.cpp)
//===----------------------------------------------------------------------===//

/// Called with the accumulators of one block: acc[n][v] at column `col + n`,
/// rows `row + v * lanes`; takes and returns carried values.
using BlockSink = llvm::function_ref<mlir::SmallVector<mlir::Value>(
    mlir::ArrayRef<mlir::SmallVector<mlir::Value>> acc, mlir::Value row,
    mlir::Value col, mlir::ValueRange carried)>;
/// Brings the operands to where a block reads them many times.
void prepareDot(HostContext &ctx, tile::DotOp dot);
/// Walks the columns of `dot` for the `vectors` registers of rows at `row`,
/// those before `end` if that is given, a multiple of seenStep(vectors).
mlir::SmallVector<mlir::Value> emitDotColumns(HostContext &ctx, tile::DotOp dot,
                                              mlir::Value row, int64_t vectors,
                                              mlir::ValueRange carried,
                                              BlockSink sink,
                                              mlir::Value end = {});
/// What the columns that a block walks are a multiple of.
int64_t seenStep(HostContext &ctx, int64_t vectors);

//===----------------------------------------------------------------------===//
// Columns that rows see (SeenColumns.cpp)
//===----------------------------------------------------------------------===//

/// Upper limits of the columns whose scores are not -inf, where only one dot
/// reads what `op` makes of the others.
ColumnLimits findLimits(HostContext &ctx, tile::OnlineSoftmaxOp op);
/// How many of `columns` a block of rows sees at most; null: all.
mlir::Value emitSeenColumns(HostContext &ctx, const ColumnLimits &limits,
                            mlir::Value row, int64_t vectors, int64_t columns);

//===----------------------------------------------------------------------===//
// Dots of bf16 pairs (LowerPairDot.cpp)
//===----------------------------------------------------------------------===//

bool isPairDot(HostContext &ctx, tile::DotOp dot);
/// Whether the operands of `dot`, bf16 or sums of them, can be in pairs.
bool hasPairs(HostContext &ctx, tile::DotOp dot);
/// Whether a pair dot is what reads `value`.
bool isPairOperand(HostContext &ctx, mlir::Value value);
/// Brings what `load` gives to where `dot`, a pair dot, reads it.
void loadPairOperand(HostContext &ctx, tile::LoadOp load, tile::DotOp dot);
/// The pairs (2n, 2n + 1) of which one number is of `interval`.
TileInterval pairsOf(HostContext &ctx, TileInterval interval);
/// Rows 2r and 2r + 1 of the tile side by side, where one of them is of `rows`.
void loadRowPairs(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                  TileInterval rows);
/// The two bf16 of `memory` from `at` on as one i32.
mlir::Value loadPair(HostContext &ctx, mlir::Value memory, mlir::ValueRange at);
/// One step of a block at columns `col`, ...: `sums` plus the products at
/// 2 * pair and 2 * pair + 1 of the rows `rows`.
mlir::SmallVector<mlir::Value> emitPairStep(HostContext &ctx, tile::DotOp dot,
                                            mlir::ArrayRef<mlir::Value> rows,
                                            mlir::Value col, mlir::Value pair,
                                            mlir::ArrayRef<mlir::Value> sums);
/// Two vectors of f32 as one of bf16, the second behind the first.
mlir::Value narrowBoth(HostContext &ctx, mlir::Value first, mlir::Value second);
/// Two vectors of f32 as one of bf16 pairs.
mlir::Value packPair(HostContext &ctx, mlir::Value even, mlir::Value odd);

//===----------------------------------------------------------------------===//
// Operands of such dots that are computed (ComputedPairs.cpp)
//===----------------------------------------------------------------------===//

/// Whether `value` is f32 that is rounded for dots alone, and can be written in
/// pairs along either dimension.
bool isComputedPairs(HostContext &ctx, mlir::Value value);
/// Writes `value`, of isComputedPairs, as `dot`, a pair dot, reads it.
void writeComputedPairs(HostContext &ctx, mlir::Value value, tile::DotOp dot);

//===----------------------------------------------------------------------===//
// Dots of tiles (LowerTileDot.cpp)
//===----------------------------------------------------------------------===//

/// Rows of a tile of the matrix unit, each of 64 bytes, and steps of the
/// contraction in one product.
inline constexpr int64_t kTileRows = 16, kTileDepth = 32;
/// Registers across the queries in a block, so that what is read of the right
/// operand is read for many rows; columns: two tiles. Where there are tile
/// dots, other dots and softmax have blocks of as many rows: what one of them
/// leaves out of a block (emitSeenColumns) no other reads.
inline constexpr int64_t kTileVectors = 4, kTileBlock = 2 * kTileRows;
/// Part of a result: `vectors` registers of rows, an even number, by `columns`.
struct TileBlock {
  mlir::Value row, col;
  int64_t vectors, columns;
};
bool isTileDot(HostContext &ctx, tile::DotOp dot);
/// Whether there are some, of `element` if that is given.
bool hasTileDots(HostContext &ctx, mlir::Type element = {});
/// One step of a block: `sums` plus the products at `k`.
mlir::SmallVector<mlir::Value> emitTileStep(HostContext &ctx, tile::DotOp dot,
                                            const TileBlock &block,
                                            mlir::Value k,
                                            mlir::ValueRange sums);
/// Writes `block` of `dot` to `resultRow` of `result`, two registers of rows a
/// trip, whose products have the same form.
void emitTileBlock(HostContext &ctx, tile::DotOp dot, const TileBlock &block,
                   TileBuffer result, mlir::Value resultRow);
/// The lowering of a tile dot that no softmax takes.
void lowerTileDot(HostContext &ctx, tile::DotOp dot);

//===----------------------------------------------------------------------===//
// Operands of such dots (LoadTileOperands.cpp)
//===----------------------------------------------------------------------===//

int64_t linesOfPiece(TileBuffer buffer);
/// Line `line` of a piece of what is in pairs.
mlir::Value lineOfPiece(HostContext &ctx, TileBuffer buffer, mlir::Value line,
                        int64_t piece);
/// Where the square of f32 from `column` on lies until it is taken apart.
mlir::Value lineOfSquare(HostContext &ctx, TileBuffer buffer,
                         mlir::Value column);
/// Pairs of elements that `load` has brought to the first lines of `buffer`, in
/// each from `from` to `to`, become their pieces, if it is for such. Of f32,
/// the second ones of pairs are in the lines of the second piece.
void takeApart(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
               int64_t lines, mlir::Value from, mlir::Value to);
/// `rows` of the tile, whole ones, in pieces.
void copyPieces(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                TileInterval rows);
/// Into TileForm::ColumnPairs; zeros for what is none of `rows`.
void loadColumnPairs(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                     TileInterval rows);

//===----------------------------------------------------------------------===//
// Few rows (RowForm.cpp, LowerRowDot.cpp)
//===----------------------------------------------------------------------===//

/// Rows of a block, and of one for more rows than that, where there are
/// registers for kWideSums sums.
inline constexpr int64_t kRowBlock = 4, kWideRowBlock = 8, kWideSums = 24;
/// Keys in one trip of the loop of P V: none are left over. Each has addresses
/// of its own.
inline constexpr int64_t kRowUnroll = 4;
/// Whether the kernel is lowered along rows.
bool suitsRowForm(HostContext &ctx);
/// Sets `liveRows` when `load`, that of the left operand of the dots, is
/// lowered.
void countLiveRows(HostContext &ctx, tile::LoadOp load);
/// Columns of a block of Q K^T that has `rows` rows, a power of two.
int64_t rowBlockColumns(HostContext &ctx, int64_t rows);
bool canReadRowsInPlace(HostContext &ctx, tile::LoadOp load);

//===----------------------------------------------------------------------===//
// Few rows by matrix units (LowerRowTiles.cpp)
//===----------------------------------------------------------------------===//

bool isRowTileDot(HostContext &ctx, tile::DotOp dot);
/// The one of these that is all that reads what `load` brings.
tile::DotOp findRowTileDot(HostContext &ctx, tile::LoadOp load);
void loadRowTileOperand(HostContext &ctx, tile::LoadOp load, tile::DotOp dot);
void emitRowTileScores(HostContext &ctx, tile::DotOp dot, TileBuffer result);
void emitRowTileOutput(HostContext &ctx, tile::DotOp dot, TileBuffer result);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTDOTS_H
