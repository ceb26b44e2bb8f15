//===- PagedRows.h - rows in pages, looked up by a warp ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_PAGEDROWS_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_PAGEDROWS_H

#include "NvidiaContext.h"

namespace fa {

/// Where the rows of a tile begin that the threads of a warp copy together, in
/// pages. Each lane looks up rows of its own, as many lanes as there are rows
/// at once, and the others get them from it: a thread that looked up each row
/// that it copies would do so as often as it copies, one after the other.
class PagedRows {
public:
  /// Of the tile at row `start` of `view`, a view of pages. `threads` says
  /// which elements a thread copies, each of them one thread's alone;
  /// `isCertain`: the view has all of its rows.
  PagedRows(NvidiaContext &ctx, const GlobalView &view,
            const TileLayout &threads, mlir::Value start, bool isCertain);

  /// The address of the row that this thread copies a register of, whose row is
  /// `inTile` in lane 0 of warp 0.
  mlir::Value find(int64_t inTile);

private:
  NvidiaContext &ctx;
  /// The rows of a warp by number: what each bit adds, those first that the
  /// lanes of one copy differ by.
  llvm::SmallVector<int64_t> steps;
  unsigned laneBits = 0; ///< how many those are
  mlir::Value ownNumber; ///< this lane's part of a number, i32
  mlir::Type pointer;
  /// Of each 32 rows, halves of the address of the lane's.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> known;
  llvm::DenseMap<int64_t, mlir::Value> found; ///< by row in the tile
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_PAGEDROWS_H
