//===- ColumnLimit.h - what a comparison says of columns --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_COLUMNLIMIT_H
#define TILE_COLUMNLIMIT_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa::tile {

/// The columns j < start + slope * i of row i of a tile (`isUpper`), or those
/// that are not. The start is the constant and the scalars, each with its sign,
/// and the elements of row i.
struct ColumnLimit {
  bool isUpper;
  int64_t slope;
  int64_t constant;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> scalars;
  /// Of type index or of up to 32 bits, with one element for each row.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> rows;
};

/// What operands that are exchanged are compared by; signed comparisons, and
/// those that are the same either way.
mlir::arith::CmpIPredicate exchanged(mlir::arith::CmpIPredicate predicate);

/// The limit that `compare` is, if both sides are sums of few row and column
/// numbers, index scalars, constants, and tiles whose rows have one number.
std::optional<ColumnLimit> findColumnLimit(mlir::arith::CmpIOp compare);

} // namespace fa::tile

#endif // TILE_COLUMNLIMIT_H
