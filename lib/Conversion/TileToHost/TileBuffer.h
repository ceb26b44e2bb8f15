//===- TileBuffer.h - how a host kernel holds its tiles ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_TILEBUFFER_H
#define FA_LIB_CONVERSION_TILETOHOST_TILEBUFFER_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace fa {

/// A coordinate of one dimension: a single index, or `lanes` consecutive ones.
struct TileCoord {
  mlir::Value index;
  bool lanes = false;
  bool operator==(const TileCoord &) const = default;
};

/// Which dimension of a buffered tile is contiguous.
enum class TileForm {
  Lanes,   ///< dimension 0, padded to whole vectors: [n][m] for M x N
  Natural, ///< the last one, as in memory: [m][n]
  // Of bf16 in pairs of 32 bits:
  LanePairs,   ///< neighbours along dimension 1, [n/2][m]
  RowPairs,    ///< neighbours along dimension 0, [m/2][n]
  ColumnPairs, ///< neighbours along dimension 0, [n][m/2]
  NaturalPairs ///< neighbours along dimension 1, as in memory: [m][n] of bf16
};

/// A tile in memory.
struct TileBuffer {
  mlir::Value memref;
  TileForm form;
  /// Of pairs: how many bf16 an element is the sum of (Pieces.h). They are one
  /// after another along the first dimension of `memref`.
  int64_t pieces = 1;
};

/// The part [first, second) of a dimension.
using TileInterval = std::pair<mlir::Value, mlir::Value>;

/// An element, or vector of elements, of a lazy tile that has been computed.
struct Evaluated {
  mlir::SmallVector<TileCoord> coords;
  mlir::Value value;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_TILEBUFFER_H
