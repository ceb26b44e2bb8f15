//===- WidenedSums.h - dots whose values are widened ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_WIDENEDSUMS_H
#define FA_LIB_SCHEDULE_WIDENEDSUMS_H

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa {

/// The widening of elements of 8 bits that `value` is, or null.
mlir::arith::ExtFOp widening(mlir::Value value);

/// What reads the tile `value`, or its elements of 8 bits widened, where that
/// is all that reads it.
mlir::Value readAs(mlir::Value value);

/// The dot that alone reads the widened elements `value`, on its right; null:
/// there is none.
tile::DotOp dotOfWidened(mlir::Value value);

/// Results of dots with values of 8 bits, which threads widen in registers, and
/// all that has their layout.
llvm::DenseSet<mlir::Value> findWidenedSums(tile::KernelOp kernel);

} // namespace fa

#endif // FA_LIB_SCHEDULE_WIDENEDSUMS_H
