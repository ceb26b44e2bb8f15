//===- ViewAlignment.h - what addresses are multiples of --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_VIEWALIGNMENT_H
#define FA_SCHEDULE_VIEWALIGNMENT_H

#include "Tile/Tile.h"

namespace fa {

/// Whether `view` is rows of an argument whose steps the kernel limits, so that
/// 32 bits reach every byte of `rows` of them: those of its last two
/// dimensions, with neighbours in the last.
bool hasCloseRows(mlir::Value view, int64_t rows);

/// Whether `load` reads whole rows of a view with close rows, at multiples of
/// 16 bytes.
bool loadsCloseLines(tile::LoadOp load);

/// The dimension of `type`, a strided one, whose elements are neighbours, or
/// -1.
int64_t unitDim(mlir::MemRefType type);
/// The same of a view, whose rows may lie in pages.
int64_t unitDim(mlir::Value view);

/// The alignment, in bytes, of rows of `view`: what the kernel promises of the
/// argument that it is a part of, and what static strides leave of that. Other
/// strides are multiples of the argument's.
int64_t promisedAlignment(mlir::Value view);

/// How many neighbours along the unit dimension of `view`, in at most 16 bytes,
/// can be read at once: from `indices` on they begin at a multiple of their
/// bytes, and are all inside or all outside of the view. A power of two.
int64_t promisedWidth(mlir::Value view, mlir::ValueRange indices);

} // namespace fa

#endif // FA_SCHEDULE_VIEWALIGNMENT_H
