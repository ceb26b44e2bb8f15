//===- RowTiles.h - rows of a kernel for a matrix unit's warps --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_ROWTILES_H
#define FA_LIB_SCHEDULE_ROWTILES_H

#include "Tile/Tile.h"
#include "fa/Layout/MatrixUnit.h"
#include "fa/Plan/Machine.h"

namespace fa {

/// The unit for the rows of the smallest dot or merge of `kernel`, and what the
/// columns of all are multiples of.
MatrixUnit chooseUnit(tile::KernelOp kernel, const Machine &machine);

/// Whether each program is run by a warp of a block of several.
bool runsByWarps(tile::KernelOp kernel, const MatrixUnit &unit);

/// Warps that every dot and merge of `kernel` has tiles of rows for, of a merge
/// of one row as many as its columns fill lanes of; one where instructions take
/// more time than the way to memory, and for each part of a program.
int64_t countRowTiles(tile::KernelOp kernel, const MatrixUnit &unit);

} // namespace fa

#endif // FA_LIB_SCHEDULE_ROWTILES_H
