//===- HostMemory.h - tiles between memory and registers --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTMEMORY_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTMEMORY_H

#include "HostContext.h"

namespace fa {

//===----------------------------------------------------------------------===//
// Parts of tiles that lie inside a view (TileRanges.cpp)
//===----------------------------------------------------------------------===//

/// For each dimension of a tile at `indices` of `view`, the part [low, high)
/// that lies inside the view.
mlir::SmallVector<TileInterval> insideRanges(HostContext &ctx, mlir::Value view,
                                             mlir::ValueRange indices,
                                             mlir::ArrayRef<int64_t> extents);
/// Whether some element of the tile lies outside the view.
mlir::Value emitIsPartial(HostContext &ctx, mlir::RankedTensorType type,
                          mlir::ArrayRef<TileInterval> inside);
/// Calls `body` with the coordinates of each element of the ranges, the last
/// dimension innermost.
void forElements(HostContext &ctx, mlir::ArrayRef<TileInterval> ranges,
                 llvm::function_ref<void(mlir::ArrayRef<TileCoord>)> body);
mlir::SmallVector<mlir::Value> bufferIndices(TileBuffer buffer,
                                             mlir::ArrayRef<TileCoord> coords);
/// An element of `tile` as memory has it (LowerStore.cpp).
mlir::Value evaluateStored(HostContext &ctx, mlir::Value tile,
                           mlir::ArrayRef<TileCoord> coords);
/// Adds `x` to an element of `dest`, f32 or an integer, in one step
/// (LowerStore.cpp).
void addInOneStep(HostContext &ctx, mlir::Value x, mlir::Value dest,
                  mlir::ValueRange place);
/// An element of memory in the type in which it is computed.
mlir::Value loadScalar(HostContext &ctx, mlir::Value memref,
                       mlir::ValueRange indices);

//===----------------------------------------------------------------------===//
// Loads (LowerLoad.cpp)
//===----------------------------------------------------------------------===//

/// The tile in a buffer of its own.
TileBuffer loadTile(HostContext &ctx, tile::LoadOp load, TileForm form);
/// `count` whole rows of the tile from `first` on, where they lie.
mlir::Value viewRows(HostContext &ctx, tile::LoadOp load, mlir::Value first,
                     int64_t count);
/// The same where all of them exist, else in a copy with zeros.
mlir::Value viewOrCopyRows(HostContext &ctx, tile::LoadOp load,
                           mlir::Value first, int64_t count);
/// The element of the view that `load` reads at `coords` of its tile.
mlir::Value readInPlace(HostContext &ctx, tile::LoadOp load,
                        mlir::ArrayRef<TileCoord> coords);
/// What `load` reads a view of.
mlir::Value memoryOf(tile::LoadOp load);
/// Whether nothing in the kernel writes to what `load` reads.
bool isReadOnly(HostContext &ctx, tile::LoadOp load);
void fillZero(HostContext &ctx, TileBuffer buffer);

//===----------------------------------------------------------------------===//
// Rows in memory and lanes (TransposeTiles.cpp)
//===----------------------------------------------------------------------===//

/// Whether every row of a tile at column `column` of `view` is a whole row of
/// floats that are neighbours in memory.
bool hasWholeRows(HostContext &ctx, mlir::Value view,
                  mlir::RankedTensorType tile, mlir::Value column,
                  bool inBounds);
bool hasWholeRows(HostContext &ctx, tile::LoadOp load);
/// Where the last vector of rows of `columns` elements begins, which do not
/// fill whole vectors, and how many of its elements count.
std::pair<int64_t, int64_t> lastVector(HostContext &ctx, int64_t columns);
/// `count` elements of row `row` of the tile, from `column` on, zeros up to
/// `width`; with `rows`, of which there are some, zeros if it is none of them.
mlir::Value loadRow(HostContext &ctx, tile::LoadOp load, mlir::Value row,
                    mlir::Value column, int64_t count, int64_t width,
                    std::optional<TileInterval> rows = std::nullopt);
/// Into TileForm::Lanes or TileForm::LanePairs.
void loadTransposed(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                    TileInterval rows);
void storeTransposed(HostContext &ctx, tile::StoreOp store, TileInterval rows);
/// The same of a kernel that is lowered along rows (RowForm.cpp).
void storeRows(HostContext &ctx, tile::StoreOp store, TileInterval rows);
/// Stores the first `count` elements of `x` to row `row` of the tile, from
/// `column` on, in its type; with `rows`, if it is one of them.
void storeRow(HostContext &ctx, tile::StoreOp store, mlir::Value x,
              mlir::Value row, mlir::Value column, int64_t count);
void storeRow(HostContext &ctx, tile::StoreOp store, mlir::Value x,
              mlir::Value row, mlir::Value column, int64_t count,
              TileInterval rows);

//===----------------------------------------------------------------------===//
// Columns that lie as rows (TurnedMemory.cpp)
//===----------------------------------------------------------------------===//

/// Whether every column of a tile at row `row` of `view` is a whole column of
/// floats that are neighbours in memory, and columns are no rows.
bool hasWholeColumns(HostContext &ctx, mlir::Value view,
                     mlir::RankedTensorType tile, mlir::Value row);
/// Copies `columns` of the tile into `buffer`, of TileForm::Lanes.
void loadWholeColumns(HostContext &ctx, tile::LoadOp load, TileBuffer buffer,
                      TileInterval columns);
/// Whether `value` is such a tile that can be copied in pairs.
bool isTurnedPairs(HostContext &ctx, mlir::Value value);
/// The same into TileForm::LanePairs, with a zero beside a last column without
/// a partner.
void loadWholeColumnPairs(HostContext &ctx, tile::LoadOp load,
                          TileBuffer buffer, TileInterval columns);
void storeWholeColumns(HostContext &ctx, tile::StoreOp store,
                       TileInterval columns);

//===----------------------------------------------------------------------===//
// Lines asked for early (Prefetch.cpp)
//===----------------------------------------------------------------------===//

/// Elements of the right operand of `dot` that one request brings.
int64_t elementsOfLine(tile::DotOp dot);
/// Where a block of `columns` columns at `col` has read `keys` rows of V from
/// `key` on in place: asks for as much of the next step's.
void prefetchNextKeys(HostContext &ctx, tile::DotOp dot, mlir::Value key,
                      int64_t keys, mlir::Value col, int64_t columns);
/// Asks for the line at (row, column) of the tile that is loaded after `dot`.
void prefetchBeside(HostContext &ctx, tile::DotOp dot, mlir::Value row,
                    mlir::Value column);
/// Asks for a line of each page of what `dot` multiplies with two steps on.
void prefetchPages(HostContext &ctx, tile::DotOp dot);
/// Asks for what lies at (row, column) of a tile at `indices` of `view`.
void prefetchAt(HostContext &ctx, mlir::Value view, mlir::ValueRange indices,
                mlir::Value row, mlir::Value column, bool isWrite);
/// One of `count` trips of a loop in one of `blocks` blocks.
struct Trip {
  mlir::Value index, block;
  int64_t count, blocks;
};
/// Asks for a part of the right operand of `dot` as it is loaded by this step
/// of the loop around it, or `later`: by the next one. All trips ask for all.
void prefetchBeside(HostContext &ctx, tile::DotOp dot, bool later,
                    const Trip &trip);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTMEMORY_H
