//===- TileVerify.h - checks that several verifiers share -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_TILEVERIFY_H
#define TILE_TILEVERIFY_H

#include "Tile/Tile.h"

namespace fa::tile {

/// Whether two sizes can be equal at run time: equal, or one is dynamic.
inline bool sameSize(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) ||
         mlir::ShapedType::isDynamic(b);
}

/// Checks 0 <= dim < rank.
mlir::LogicalResult verifyDim(mlir::Operation *op, int64_t dim, int64_t rank);

/// Checks that `found` has the element type and, as far as known, the sizes.
mlir::LogicalResult verifyResult(mlir::Operation *op,
                                 mlir::RankedTensorType found,
                                 mlir::ArrayRef<int64_t> sizes,
                                 mlir::Type elementType);

/// Checks that there is one size operand for each dynamic size of `type`.
mlir::LogicalResult verifySizeOperands(mlir::Operation *op,
                                       mlir::RankedTensorType type,
                                       mlir::ValueRange sizes);

/// Checks what `op` says of dropout: nothing, or a seed and an offset, i64 [2],
/// and a probability of which there are multiples of 2^-16 above 0 and below 1.
mlir::LogicalResult verifyDropout(mlir::Operation *op, mlir::Value rng,
                                  mlir::FloatAttr probability);

} // namespace fa::tile

#endif // TILE_TILEVERIFY_H
