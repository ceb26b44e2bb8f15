//===- ChooseLayouts.h - the layout that a tile should have -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_CHOOSELAYOUTS_H
#define FA_LIB_SCHEDULE_CHOOSELAYOUTS_H

#include "TileGPU/TileGPU.h"
#include "fa/Layout/MatrixUnit.h"

namespace fa {

/// `layout` without the registers that hold what another one does.
TileLayout withoutCopies(const TileLayout &layout);

/// Chooses layouts for the tiles of a kernel whose dots `unit` computes, with
/// `warps` warps.
class LayoutChooser {
public:
  LayoutChooser(tile::KernelOp kernel, MatrixUnit unit, int64_t warps);

  /// That of `value`, where it is made; nothing if its sizes have none. Each
  /// value has one, whatever becomes of its type in the meantime.
  std::optional<TileLayout> find(mlir::Value value);

  /// That of a dot's result, where the tile is large enough for one.
  TileLayout tileLayout(int64_t rows, int64_t columns) const;

  /// That of a vector of rows: an accumulator's, without its columns.
  std::optional<TileLayout> rowsLayout(int64_t rows) const;

  /// That of the tile or vector `operand` of `op`, of online softmax.
  std::optional<TileLayout> stateLayout(mlir::Operation *op,
                                        mlir::Value operand) const;

  /// Remembers whether only dots read the load that `dot` has on its left, if
  /// that is one: conversions will come between.
  void noteLeft(tile::DotOp dot);

  /// That of operand `number` of `dot`, which has been noted: 0 and 1 are its
  /// factors, 2 its accumulator.
  TileLayout dotOperandLayout(tile::DotOp dot, unsigned number) const;

  /// The layout of a tile that transposed has the layout `result`.
  static TileLayout turned(const TileLayout &result,
                           tile::TransposeOp transpose);

private:
  std::optional<TileLayout> findNew(mlir::Value value);
  std::optional<TileLayout> vectorLayout(mlir::Value value);
  std::optional<TileLayout> findVectorLayout(mlir::Value value);
  std::optional<TileLayout> turnedLayout(mlir::Value result);
  /// That of a vector of columns: it is where the tile is that it goes to.
  std::optional<TileLayout> columnsLayout(mlir::Value value) const;
  /// That of a vector of rows, or a tile of one column, of which nothing but
  /// elementwise operations is asked: it is where the tile is that it goes to.
  std::optional<TileLayout> readRowsLayout(mlir::Value value) const;
  TileLayout loadLayout(mlir::Value value) const;
  /// `tileLayout`, or that of sums of widened values, if `value` is of these.
  TileLayout resultLayout(mlir::Value value) const;
  TileLayout flatLayout(mlir::Value value) const;
  bool isBehindMerge(mlir::Operation *op) const;
  TileLayout dealtToParts(TileLayout layout) const;

  MatrixUnit unit;
  int64_t warps;
  tile::MergePartsOp merge; ///< of a program's parts, or null
  bool hasState;            ///< of online softmax, whose rows are accumulators'
  bool reducesRows;         ///< tiles of rows have one warp for each
  bool mergesRows; ///< one at a time: tiles of one row are not made of vectors
  /// Where nothing but elementwise operations and reductions is done with tiles
  /// that are read: how many neighbours are read at once. Else 1.
  int64_t readTogether;
  llvm::SmallPtrSet<mlir::Operation *, 8> readForDots; ///< dots noted so
  llvm::DenseSet<mlir::Value> widenedSums;             ///< (WidenedSums.h)
  /// Vectors, and tiles of one row, whose elements are lanes' (FlatVectors.h).
  llvm::DenseSet<mlir::Value> flat;
  /// What was found: many ways may lead to a value.
  llvm::DenseMap<mlir::Value, std::optional<TileLayout>> tiles, vectors;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_CHOOSELAYOUTS_H
