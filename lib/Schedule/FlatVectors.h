//===- FlatVectors.h - vectors that are no tile's rows ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_FLATVECTORS_H
#define FA_LIB_SCHEDULE_FLATVECTORS_H

#include "Tile/Tile.h"

#include "llvm/ADT/DenseSet.h"

namespace fa {

/// Vectors, and tiles of one row that are made of them, which are reduced to a
/// number and belong neither to the rows nor to the columns of a tile: a norm
/// or a softmax of one row a program. What an operation or a loop has in one
/// layout is among them together or not at all.
llvm::DenseSet<mlir::Value> findFlatVectors(tile::KernelOp kernel);

} // namespace fa

#endif // FA_LIB_SCHEDULE_FLATVECTORS_H
