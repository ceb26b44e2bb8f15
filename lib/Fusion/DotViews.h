//===- DotViews.h - a dot whose operands are seen otherwise -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of these makes a dot that sums the same products in the same order as
// the one that is given, which has no accumulator, and gives them in other
// places. Null where the dot cannot say it: which dimensions of the right
// operand are shared, and which sizes agree, has to be known.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_DOTVIEWS_H
#define FA_LIB_FUSION_DOTVIEWS_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa {

/// What `value` is a transpose of, of any number of them in a row, and the
/// permutation that they are together.
std::pair<mlir::Value, llvm::SmallVector<int64_t>>
wholeTranspose(mlir::Value value);

/// `value` with its dimensions in the order of `permutation`; behind a
/// transpose it is one of that one's input.
mlir::Value transposedWhole(mlir::Value value,
                            llvm::ArrayRef<int64_t> permutation);

/// `value` with its last two dimensions swapped.
mlir::Value swapLast(mlir::Value value);

/// The type of `type` with its dimensions in the order of `permutation`.
mlir::RankedTensorType permuted(mlir::RankedTensorType type,
                                llvm::ArrayRef<int64_t> permutation);

/// Whether `groups` leave the last two dimensions as they are.
bool areLeading(llvm::ArrayRef<mlir::ReassociationIndices> groups);

/// The dot whose result is that of `dot` with its dimensions in the order of
/// `permutation`. Rows may change places with a dimension that the right
/// operand does not have; rows and columns with each other.
tile::DotOp transposeDot(tile::DotOp dot, llvm::ArrayRef<int64_t> permutation);

/// The dot whose result is that of `dot` with leading dimensions expanded by
/// `groups` to `sizes`, all of its dimensions.
tile::DotOp expandDot(tile::DotOp dot,
                      llvm::ArrayRef<mlir::ReassociationIndices> groups,
                      llvm::ArrayRef<int64_t> sizes);

} // namespace fa

#endif // FA_LIB_FUSION_DOTVIEWS_H
