//===- KernelLowering.h - one tile.kernel as a host function ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a tile program becomes vector code.
//
// Vector lanes run along dimension 0 of every tile: the queries. A tile of
// M x N is kept transposed, N rows of M contiguous elements, so that a dot is
// `acc[n][lanes of m] += b[k, n] * a[k][lanes of m]` with scalar broadcasts of
// b read where it lies, and a row reduction needs no horizontal operation.
// 16-bit floats are held as f32 and rounded where the program rounds.
//
// A tile value is in one of three states:
//  - lazy: an elementwise operation, broadcast, iota, ... is evaluated where it
//    is needed, at one coordinate at a time (`evaluate`);
//  - buffered: dots, reductions, loads and what a loop carries have memory of
//    the kernel's scratch;
//    products of bf16 pairs take their operands in pairs (LowerPairDot.cpp);
//  - pending: a dot whose only user is an online softmax is computed by that,
//    so that scores go through their modification and mask in registers.
//
// Blocks whose rows no store keeps are not computed.
//
// A kernel of few rows (decode) is lowered along rows instead: tiles lie as in
// memory, and lanes run along dimension 1 (RowForm.cpp).
//
// Files: KernelLowering (the walk, loops), TileBuffer, Scratch, Evaluate (lazy
// values), LowerDot, LowerPairDot, LowerTileDot, LoadTileOperands, Pieces,
// SeenColumns, Prefetch, LowerSoftmax, LowerTileSoftmax, LowerMemory,
// TransposeTiles, VectorMath, VectorShuffles, KernelAbi; RowForm, LowerRowDot,
// LowerRowTiles, LowerRowSoftmax.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_KERNELLOWERING_H
#define FA_LIB_CONVERSION_TILETOHOST_KERNELLOWERING_H

#include "HostKernel.h"
#include "TileBuffer.h"
#include "VectorMath.h"

#include "Tile/ColumnLimit.h"
#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

class KernelLowering {
public:
  using Value = mlir::Value;

  KernelLowering(tile::KernelOp kernel, const VectorShape &shape);

  /// Builds the function before the kernel. The kernel is left in place.
  /// Emits an error at the operation that has no lowering.
  mlir::FailureOr<mlir::func::FuncOp> run();

private:
  using Form = TileForm;
  using Buffer = TileBuffer;
  using Interval = TileInterval;

  //===--- The walk (KernelLowering.cpp) ---===//
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  void cloneScalarOp(mlir::Operation *op);
  bool isReadManyTimes(mlir::Operation *op);
  /// The online softmax that `dot` is left to, if any.
  tile::OnlineSoftmaxOp findSoftmax(tile::DotOp dot);
  bool isPending(tile::DotOp dot);

  //===--- Scratch (Scratch.cpp) ---===//
  Buffer allocate(mlir::RankedTensorType type, Form form);
  /// `count` rows of `type`, not widened.
  Buffer allocateRows(int64_t count, mlir::RankedTensorType type);
  Value allocate(mlir::MemRefType type);
  /// The buffer that `result` of the current op shall be written to: that of
  /// the loop-carried value it becomes if nobody reads the old value later.
  Buffer bufferForResult(Value result);
  bool isReadAfter(Value value, mlir::Operation *op);
  /// `value` in memory in the given form, evaluated there if need be.
  Buffer materialize(Value value, Form form);
  void copyInto(Value value, Buffer buffer);

  //===--- Lazy values (Evaluate.cpp) ---===//
  /// `value` at `coords`: a vector if one coordinate has lanes and the value
  /// depends on it, else a scalar. Null after an error.
  Value evaluate(Value value, mlir::ArrayRef<TileCoord> coords);
  Value evaluateVector(Value value, mlir::ArrayRef<TileCoord> coords);
  Value evaluateElementwise(mlir::Operation *op,
                            mlir::ArrayRef<TileCoord> coords);
  /// The same, without a look at what was evaluated.
  Value evaluateNewElementwise(mlir::Operation *op,
                               mlir::ArrayRef<TileCoord> coords);
  Value readBuffer(Buffer buffer, mlir::ArrayRef<TileCoord> coords);
  Value toVector(Value scalarOrVector);
  bool isLazy(mlir::Operation *op);

  //===--- Dots (LowerDot.cpp) ---===//
  /// Called with the accumulators of one block: acc[n][v] at column
  /// `col + n`, rows `row + v * lanes`; takes and returns carried values.
  using BlockSink = llvm::function_ref<mlir::SmallVector<Value>(
      mlir::ArrayRef<mlir::SmallVector<Value>> acc, Value row, Value col,
      mlir::ValueRange carried)>;
  /// Walks the columns of `dot` for the `vectors` registers of rows at `row`,
  /// those before `end` if that is given, a multiple of seenStep(vectors).
  mlir::SmallVector<Value> emitDotColumns(tile::DotOp dot, Value row,
                                          int64_t vectors,
                                          mlir::ValueRange carried,
                                          BlockSink sink, Value end = {});
  /// How many columns a block has that is `vectors` registers wide.
  int64_t blockColumns(int64_t vectors) const;
  mlir::SmallVector<Value> emitDotBlock(tile::DotOp dot, Value row, Value col,
                                        int64_t vectors, int64_t columns,
                                        mlir::ValueRange carried,
                                        BlockSink sink);
  mlir::LogicalResult lowerDot(tile::DotOp dot);
  void prepareDot(tile::DotOp dot);
  /// A scalar of the right operand of `dot` at (k, n), in f32.
  Value readRightOperand(tile::DotOp dot, Value k, Value n);

  /// One step of a block at columns `col`, ...: `sums` plus the products at
  /// `k` of the rows `rows`.
  mlir::SmallVector<Value> emitStep(tile::DotOp dot, mlir::ArrayRef<Value> rows,
                                    Value col, Value k,
                                    mlir::ArrayRef<Value> sums);

  //===--- Columns that rows see (SeenColumns.cpp) ---===//
  using Limits = mlir::SmallVector<tile::ColumnLimit, 0>;
  /// Upper limits of the columns whose scores are not -inf, where only one dot
  /// reads what `op` makes of the others.
  Limits findLimits(tile::OnlineSoftmaxOp op);
  /// What the columns that a block walks are a multiple of.
  int64_t seenStep(int64_t vectors) const;
  /// How many of `columns` a block of rows sees at most; null: all.
  Value emitSeenColumns(const Limits &limits, Value row, int64_t vectors,
                        int64_t columns);

  //===--- Dots of bf16 pairs (LowerPairDot.cpp) ---===//
  bool isPairDot(tile::DotOp dot);
  /// Whether the operands of `dot`, bf16 or sums of them, can be in pairs.
  bool hasPairs(tile::DotOp dot);
  /// Whether a pair dot is what reads `value`.
  bool isPairOperand(Value value);
  /// Brings what `load` gives to where `dot`, a pair dot, reads it.
  void loadPairOperand(tile::LoadOp load, tile::DotOp dot);
  void loadRowPairs(tile::LoadOp load, Buffer buffer, Interval rows);
  Value readRightPair(tile::DotOp dot, Value pair, Value n);
  /// The two bf16 of `memory` from `at` on as one i32.
  Value loadPair(Value memory, mlir::ValueRange at);
  /// As emitStep, at 2 * pair and 2 * pair + 1.
  mlir::SmallVector<Value> emitPairStep(tile::DotOp dot,
                                        mlir::ArrayRef<Value> rows, Value col,
                                        Value pair, mlir::ArrayRef<Value> sums);
  /// Two vectors of f32 as one of bf16, the second behind the first.
  Value narrowBoth(Value first, Value second);
  /// Two vectors of f32 as one of bf16 pairs.
  Value packPair(Value even, Value odd);

  //===--- Dots of tiles (LowerTileDot.cpp) ---===//
  /// Rows of a tile of the matrix unit, each of 64 bytes, and steps of the
  /// contraction in one product.
  static constexpr int64_t kTileRows = 16, kTileDepth = 32;
  /// Registers across the queries in a block, so that what is read of the
  /// right operand is read for many rows; columns: two tiles. Where there are
  /// tile dots, other dots and softmax have blocks of as many rows: what one of
  /// them leaves out of a block (emitSeenColumns) no other reads.
  static constexpr int64_t kTileVectors = 4, kTileBlock = 2 * kTileRows;
  /// Part of a result: `vectors` registers of rows, an even number, by
  /// `columns`.
  struct TileBlock {
    Value row, col;
    int64_t vectors, columns;
  };
  bool isTileDot(tile::DotOp dot);
  /// Whether there are some, of `element` if that is given.
  bool hasTileDots(mlir::Type element = {});
  Value loadRightTile(tile::DotOp dot, Value n, Value k, int64_t piece);
  mlir::SmallVector<Value> emitTileStep(tile::DotOp dot, const TileBlock &block,
                                        Value k, mlir::ValueRange sums);
  /// Writes a block of two registers of rows, after `depth` steps, to
  /// `resultRow` of `result`, plus what is there if `dot` has an accumulator.
  void emitTiles(tile::DotOp dot, const TileBlock &block, Value depth,
                 Buffer result, Value resultRow);
  void emitTileBlock(tile::DotOp dot, const TileBlock &block, Buffer result,
                     Value resultRow);
  mlir::LogicalResult lowerTileDot(tile::DotOp dot);
  void evaluateColumns(Value value, Buffer buffer, Value row, int64_t vectors,
                       Value from, Value to);

  //===--- Operands of such dots (LoadTileOperands.cpp) ---===//
  static int64_t linesOfPiece(Buffer buffer);
  /// Line `line` of a piece of what is in pairs.
  Value lineOfPiece(Buffer buffer, Value line, int64_t piece);
  /// Where the square of f32 from `column` on lies until it is taken apart.
  Value lineOfSquare(Buffer buffer, Value column);
  /// Stores the pieces of a vector of pairs in f32.
  void storePieces(Value even, Value odd, Buffer buffer, Value line, Value at);
  /// Pairs of elements that `load` has brought to the first lines of `buffer`,
  /// in each from `from` to `to`, become their pieces, if it is for such. Of
  /// f32, the second ones of pairs are in the lines of the second piece.
  void takeApart(tile::LoadOp load, Buffer buffer, int64_t lines, Value from,
                 Value to);
  /// As copyWholeRows, in pieces.
  void copyPieces(tile::LoadOp load, Buffer buffer, Interval rows);
  /// Elements of bf16 in 128 bits, within which exchanges of neighbours are one
  /// instruction each.
  static constexpr int64_t kGroup = 8;
  /// Into Form::ColumnPairs; zeros for what is none of `rows`.
  void loadColumnPairs(tile::LoadOp load, Buffer buffer, Interval rows);
  /// The first kTileDepth of `rows` by `count` columns at `column`, to `pair`.
  void loadColumnGroups(Value rows, Buffer buffer, Value pair, Value column,
                        int64_t count);
  /// The same of f32.
  void loadColumnSquares(Value rows, Buffer buffer, Value pair, Value column,
                         int64_t count);

  //===--- Softmax of such dots (LowerTileSoftmax.cpp) ---===//
  /// What the modification makes of the product of register v at `col` of row
  /// 0 of `buffer`.
  Value emitTileScore(tile::OnlineSoftmaxOp op, tile::DotOp dot, Buffer buffer,
                      Value row, int64_t v, Value col);
  /// As emitScores, to row 0 of `buffer`: the scores if `keep`, else the
  /// products that they are computed from.
  mlir::SmallVector<Value> emitTileScores(tile::OnlineSoftmaxOp op,
                                          tile::DotOp dot, Buffer buffer,
                                          Value row, mlir::ArrayRef<Value> max,
                                          Value end, bool keep);
  mlir::LogicalResult lowerTileSoftmax(tile::OnlineSoftmaxOp op,
                                       tile::DotOp dot);

  //===--- Few rows (RowForm.cpp) ---===//
  /// Whether the kernel is lowered along rows.
  bool suitsRowForm();
  /// Whether a row of a tile that is stored comes from the same row of tiles
  /// alone, and from what was loaded.
  bool keepsRowsApart();
  /// Sets `liveRows` when `load`, that of the left operand of the dots, is
  /// lowered.
  void countLiveRows(tile::LoadOp load);
  /// Calls `body(row)` for every `step`-th of the `rows` of a tile, up to the
  /// last that is kept.
  void forLiveRows(int64_t rows, int64_t step,
                   llvm::function_ref<void(Value)> body);
  /// Calls `body(column, carried)`, which gives what is carried on, for every
  /// vector of `columns`, a multiple of lanes.
  mlir::SmallVector<Value> forVectors(
      int64_t columns, mlir::ValueRange carried,
      llvm::function_ref<mlir::SmallVector<Value>(Value, mlir::ValueRange)>
          body);
  void storeRows(tile::StoreOp store, Interval rows);

  //===--- Dots along rows (LowerRowDot.cpp) ---===//
  /// Rows of a block, and of one for more rows than that, where there are
  /// registers for kWideSums sums.
  static constexpr int64_t kRowBlock = 4, kWideRowBlock = 8, kWideSums = 24;
  /// Keys in one trip of the loop of P V: none are left over. Each has
  /// addresses of its own.
  static constexpr int64_t kRowUnroll = 4;
  /// Columns of a block of Q K^T that has `rows` rows, a power of two.
  int64_t rowBlockColumns(int64_t rows) const;
  mlir::LogicalResult lowerRowDot(tile::DotOp dot);
  void forRowDotBlocks(tile::DotOp dot,
                       llvm::function_ref<void(Value, int64_t)> body);
  /// Part of a result with lanes along its columns.
  struct Strip {
    Value row, col;
    int64_t rows, columns;
  };
  /// `rows` rows of `dot`, which has transpose_b: each element of its result is
  /// a sum of lanes.
  void emitDotOfRows(tile::DotOp dot, Buffer result, Value row, int64_t rows);
  mlir::SmallVector<Value> emitRowStep(tile::DotOp dot, Value row, int64_t rows,
                                       Value col, Value k, int64_t count,
                                       mlir::ValueRange sums);
  void storeSums(mlir::ArrayRef<Value> sums, Buffer result, Value row,
                 Value col, int64_t columns);
  /// `dot` has no transpose_b: lanes run along the columns of its result.
  void emitDotOfColumns(tile::DotOp dot, Buffer result, Value row,
                        int64_t rows);
  void emitStrip(tile::DotOp dot, Buffer result, const Strip &strip);
  mlir::SmallVector<Value> emitColumnStep(tile::DotOp dot, const Strip &strip,
                                          Value k, mlir::ValueRange sums);
  bool canReadRowsInPlace(tile::LoadOp load);
  /// A vector of row `row` of an operand of `dot`, from `column` on: f32, or
  /// twice as many bf16 for a pair dot; zeros from `count` on.
  Value readOperandRow(tile::DotOp dot, Value operand, Value row, Value column,
                       int64_t count);
  /// Rows 2 * pair and 2 * pair + 1 of the right operand side by side.
  Value readRowPair(tile::DotOp dot, Value pair, Value column, int64_t count);
  Value readLeftElement(tile::DotOp dot, Value row, Value k);
  Value emitProduct(Value x, Value y, Value sum);

  //===--- Few rows by matrix units (LowerRowTiles.cpp) ---===//
  bool isWholeTileLoad(Value operand, int64_t rows);
  bool isRowTileDot(tile::DotOp dot);
  /// The one of these that is all that reads what `load` brings.
  tile::DotOp findRowTileDot(tile::LoadOp load);
  void loadRowTileOperand(tile::LoadOp load, tile::DotOp dot);
  void emitRowTileScores(tile::DotOp dot, Buffer result);
  void emitRowTileOutput(tile::DotOp dot, Buffer result);
  void emitRowTileStrip(tile::DotOp dot, Buffer result, Value col,
                        int64_t columns);

  //===--- Softmax along rows (LowerRowSoftmax.cpp) ---===//
  mlir::LogicalResult lowerRowSoftmax(tile::OnlineSoftmaxOp op);
  mlir::LogicalResult lowerRowFinalize(tile::OnlineFinalizeOp op);
  mlir::LogicalResult lowerRowMerge(tile::OnlineMergeOp op);
  /// Writes the scores and, for each row, their maximum.
  void emitRowScores(tile::OnlineSoftmaxOp op, Buffer scores, Buffer maxima);
  /// As emitExponentials, for all rows, whose sums begin at 0.
  void emitRowExponentials(Buffer scores, Buffer p, mlir::RankedTensorType type,
                           Buffer negated, Buffer sums, mlir::Type narrow);

  //===--- Softmax (LowerSoftmax.cpp) ---===//
  using SoftmaxResults = fa::SoftmaxResults;
  using RowState = fa::RowState;
  mlir::LogicalResult lowerOnlineSoftmax(tile::OnlineSoftmaxOp op);
  SoftmaxResults allocateResults(tile::OnlineSoftmaxOp op, Buffer p);
  RowState readState(tile::OnlineSoftmaxOp op, Value row, int64_t vectors);
  /// Stores the new maxima and the factors of what was summed up to now, and
  /// returns finite maxima and scaled sums.
  RowState emitRescale(const RowState &old, mlir::ArrayRef<Value> max,
                       const SoftmaxResults &results, Value row);
  void storeState(mlir::ArrayRef<Value> sum, const SoftmaxResults &results,
                  Value row);
  void keepResults(tile::OnlineSoftmaxOp op, const SoftmaxResults &results,
                   Limits limits);
  mlir::LogicalResult lowerOnlineFinalize(tile::OnlineFinalizeOp op);
  /// Of one vector of rows.
  Value emitLogSumExp(tile::OnlineFinalizeOp op, Value max, Value sum);
  mlir::LogicalResult lowerOnlineMerge(tile::OnlineMergeOp op);
  /// Of the vector of rows at `at`: stores their maxima and sums, and returns
  /// what the accumulator and the merged output are multiplied with.
  std::pair<Value, Value> emitMergeFactors(tile::OnlineMergeOp op, Value at,
                                           Buffer maxOut, Buffer sumOut);
  tile::DotOp findPendingDot(Value scores);
  /// Writes the scores of `vectors` registers of rows, up to column `end` if
  /// that is given, to `buffer` and returns the running maximum, which starts
  /// at `max`.
  mlir::SmallVector<Value> emitScores(tile::OnlineSoftmaxOp op, tile::DotOp dot,
                                      Buffer buffer, Value row,
                                      mlir::ArrayRef<Value> max, Value end);
  /// `max`, the lowest number where it is -inf.
  Value emitFinite(Value max);
  /// exp(score - max) of vectors; `max` is not -inf.
  Value emitExponential(Value score, Value max);
  /// The scores of register v of a block of rows at a column.
  using ScoreSource = llvm::function_ref<Value(int64_t v, Value col)>;
  /// Called in each trip of the loop over columns, with its number.
  using BesideTrip = llvm::function_ref<void(Value trip)>;
  /// Writes exp(score - max) to `row` of `p`, which may be where the scores
  /// are, in pairs or rounded to `narrow` if given, and returns their sum,
  /// which starts at `sum`.
  mlir::SmallVector<Value>
  emitExponentials(ScoreSource scoreAt, Buffer p, Value columns, Value row,
                   mlir::ArrayRef<Value> maxima, mlir::ArrayRef<Value> sum,
                   mlir::Type narrow, BesideTrip beside = {});

  //===--- Memory (LowerMemory.cpp) ---===//
  mlir::LogicalResult lowerLoad(tile::LoadOp load);
  Buffer loadTile(tile::LoadOp load, Form form);
  /// `count` whole rows of the tile from `first` on, where they lie.
  Value viewRows(tile::LoadOp load, Value first, int64_t count);
  /// The same where all of them exist, else in a copy with zeros.
  Value viewOrCopyRows(tile::LoadOp load, Value first, int64_t count);
  /// The element of the view that `load` reads at `coords` of its tile.
  Value readInPlace(tile::LoadOp load, mlir::ArrayRef<TileCoord> coords);
  bool canReadInPlace(tile::LoadOp load);
  /// Whether nothing in the kernel writes to what `load` reads.
  bool isReadOnly(tile::LoadOp load);
  void copyElements(tile::LoadOp load, Buffer buffer,
                    mlir::ArrayRef<Interval> inside);
  /// Copies `rows` of what begins at row `first` of the tile, else at its
  /// first.
  void copyWholeRows(tile::LoadOp load, Buffer buffer, Interval rows,
                     Value first = {});
  Value emitIsPartial(mlir::RankedTensorType type,
                      mlir::ArrayRef<Interval> inside);
  void zeroUnlessInside(Buffer buffer, mlir::RankedTensorType type,
                        mlir::ArrayRef<Interval> inside);
  void fillZero(Buffer buffer);
  mlir::LogicalResult lowerStore(tile::StoreOp store);
  mlir::LogicalResult lowerAtomicAdd(tile::AtomicAddOp op);
  mlir::LogicalResult lowerGather(tile::GatherOp gather);
  /// For each dimension of a tile at `indices` of `view`, the part [low, high)
  /// that lies inside the view.
  mlir::SmallVector<Interval> insideRanges(Value view, mlir::ValueRange indices,
                                           mlir::ArrayRef<int64_t> extents);
  /// Calls `body` with the coordinates of each element of the ranges, the last
  /// dimension innermost.
  void forElements(mlir::ArrayRef<Interval> ranges,
                   llvm::function_ref<void(mlir::ArrayRef<TileCoord>)> body);
  mlir::SmallVector<Value> bufferIndices(Buffer buffer,
                                         mlir::ArrayRef<TileCoord> coords);
  Value loadScalar(Value memref, mlir::ValueRange indices);

  //===--- Rows in memory and lanes (TransposeTiles.cpp) ---===//
  /// Whether every row of a tile at column `column` of `view` is a whole row of
  /// floats that are neighbours in memory.
  bool hasWholeRows(Value view, mlir::RankedTensorType tile, Value column,
                    bool inBounds);
  bool hasWholeRows(tile::LoadOp load);
  /// Where the last vector of rows of `columns` elements begins, which do not
  /// fill whole vectors, and how many of its elements count.
  std::pair<int64_t, int64_t> lastVector(int64_t columns);
  /// `count` elements of row `row` of the tile, from `column` on, zeros up to
  /// `width`; with `rows`, of which there are some, zeros if it is none of
  /// them.
  Value loadRow(tile::LoadOp load, Value row, Value column, int64_t count,
                int64_t width, std::optional<Interval> rows = std::nullopt);
  void loadSquares(tile::LoadOp load, Buffer buffer,
                   std::optional<Interval> rows);
  /// Into Form::Lanes or Form::LanePairs.
  void loadTransposed(tile::LoadOp load, Buffer buffer, Interval rows);
  void storeTransposed(tile::StoreOp store, Interval rows);
  /// The f32 tile `wide` as the bf16 that `store` stores, an even number of
  /// columns.
  void storePairsTransposed(tile::StoreOp store, Value wide, Interval rows);
  /// Stores the first `count` elements of `x` to row `row` of the tile, from
  /// `column` on, in its type; with `rows`, if it is one of them.
  void storeRow(tile::StoreOp store, Value x, Value row, Value column,
                int64_t count);
  void storeRow(tile::StoreOp store, Value x, Value row, Value column,
                int64_t count, Interval rows);
  /// Calls `body(row, column, count)` for squares of lanes x lanes, of which
  /// `count` columns exist.
  void forSquares(int64_t rows, int64_t columns,
                  llvm::function_ref<void(Value, Value, int64_t)> body);

  //===--- Lines asked for early (Prefetch.cpp) ---===//
  /// Elements of the right operand of `dot` that one request brings.
  static int64_t elementsOfLine(tile::DotOp dot);
  /// Where a block of `columns` columns at `col` has read `keys` rows of V from
  /// `key` on in place: asks for as much of the next step's.
  void prefetchNextKeys(tile::DotOp dot, Value key, int64_t keys, Value col,
                        int64_t columns);
  /// Asks for the line at (row, column) of the tile that is loaded after `dot`.
  void prefetchBeside(tile::DotOp dot, Value row, Value column);
  /// What the induction variable of `loop` is `steps` later, if it is, else
  /// now.
  Value emitLaterStep(mlir::scf::ForOp loop, int64_t steps);
  /// Asks for a line of each page of what `dot` multiplies with two steps on.
  void prefetchPages(tile::DotOp dot);
  /// Asks for what lies at (row, column) of a tile at `indices` of `view`.
  void prefetchAt(Value view, mlir::ValueRange indices, Value row, Value column,
                  bool isWrite);
  /// One of `count` trips of a loop in one of `blocks` blocks.
  struct Trip {
    Value index, block;
    int64_t count, blocks;
  };
  /// Asks for a part of the right operand of `dot` as it is loaded by this step
  /// of the loop around it, or `later`: by the next one. All trips ask for all.
  void prefetchBeside(tile::DotOp dot, bool later, const Trip &trip);

  //===--- Small helpers ---===//
  int64_t lanes() const { return shape.lanes; }
  /// How tiles are held.
  Form tileForm() const { return alongRows ? Form::Natural : Form::Lanes; }
  int64_t paddedRows(int64_t rows) const {
    return llvm::divideCeil(rows, lanes()) * lanes();
  }
  /// Calls `body(row, vectors)` for blocks of whole registers over `rows`; with
  /// `end`, of the widest blocks for those that begin before it.
  void forRowBlocks(int64_t rows, llvm::function_ref<void(Value, int64_t)> body,
                    Value end = {});
  Value constantIndex(int64_t value);
  Value constantVector(double value);
  Value addIndex(Value base, int64_t offset);
  mlir::VectorType vectorType(mlir::Type element);
  /// The type in which elements are computed: f32 for narrower floats.
  mlir::Type computeType(mlir::Type element);
  Value mapped(Value value) { return mapping.lookupOrDefault(value); }

  tile::KernelOp kernel;
  VectorShape shape;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;
  mlir::IRMapping mapping; ///< scalars and memrefs of the kernel -> function
  llvm::DenseMap<Value, Buffer> buffers;
  /// Operands of pair dots.
  llvm::DenseMap<Value, Buffer> pairBuffers;
  /// Of left operands of dots: the columns beyond are not there.
  llvm::DenseMap<Value, Limits> limitsOf;
  /// Buffers of the values that the enclosing loops carry, by region argument.
  llvm::DenseMap<Value, Buffer> carriedBuffers;
  /// While a pending dot's block is emitted: its accumulator at the coordinate
  /// that is being evaluated.
  llvm::DenseMap<Value, Value> dotElement;
  /// What the elements that are being evaluated have asked for: a value may be
  /// read more than once.
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<Evaluated, 1>> evaluated;
  unsigned evaluationDepth = 0;
  bool alongRows = false;
  bool tiles = false;     ///< whether there are tile dots
  bool narrowExp = false; ///< whether P is rounded to 15 bits or fewer
  Value liveRows;         ///< how many rows are kept, null if all
  Value scratch;
  int64_t scratchTop = 0;
  int64_t scratchBytes = 0;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_KERNELLOWERING_H
