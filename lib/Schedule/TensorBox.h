//===- TensorBox.h - loads and stores as boxes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_TENSORBOX_H
#define FA_LIB_SCHEDULE_TENSORBOX_H

#include "ViewOfArgument.h"

#include <string>

namespace fa {

/// What a load reads, in coordinates of the argument that its view is a part
/// of: a box of a tensor, as the tensor memory accelerator fetches it.
struct TensorBox {
  mlir::BlockArgument argument;
  /// Where the box begins, one for each dimension of the argument.
  llvm::SmallVector<BoxIndex> start;
  /// Which dimensions of the argument are those of the tile.
  llvm::SmallVector<int64_t, 2> dims;
  /// Rows from here on read as 0, or are not stored, though the argument may
  /// have them; null: only those that it has not.
  mlir::OpFoldResult end;
  /// `start` and `end` count rows from here on; 0: they are the argument's.
  BoxIndex origin;
  /// Rows from `end` on may be anything.
  bool anyEnd = false;
  /// Rows are found through its table; null: they lie in the argument. `start`
  /// is 0 in the dimension of pages.
  tile::PagedViewOp pages;
  /// Rows are a block of this view's; null: they lie along one dimension. Heads
  /// are dimension `headDim`, whose `start` is that of the group, and the block
  /// begins at row `block`; `start` is 0 along the queries.
  tile::GroupedViewOp groups;
  mlir::OpFoldResult group; ///< how many heads it has
  int64_t headDim = -1;
  BoxIndex block;
};

/// The box of a load of a tile of two dimensions, of any view of an argument in
/// which rows and columns go along one dimension each, element by element. Rows
/// and columns outside of the view are outside of the argument, too, but for
/// rows from `end` on and, with an `origin`, rows before it; bases, strides and
/// the first column are multiples of 16 bytes, and the columns have no gaps.
/// Otherwise null, and `reason` says what is in the way.
std::optional<TensorBox> findTensorBox(tile::LoadOp load, std::string &reason);
/// The same of a store.
std::optional<TensorBox> findTensorBox(tile::StoreOp store);

/// The box of a load of a vector: a row of one of the argument's tiles, which
/// ends where the argument does; null: it is none.
std::optional<TensorBox> findVectorBox(tile::LoadOp load);

/// Where `box` begins, one number for each dimension of the argument, and in
/// `end` the row of the argument where it ends, null if it does not; `build`
/// gives an index where `b` is.
llvm::SmallVector<mlir::Value>
buildStart(mlir::ImplicitLocOpBuilder &b, const TensorBox &box,
           llvm::function_ref<mlir::Value(mlir::OpFoldResult)> build,
           mlir::Value &end);

} // namespace fa

#endif // FA_LIB_SCHEDULE_TENSORBOX_H
