//===- PartitionColumns.h - columns dealt to warpgroups ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_PARTITIONCOLUMNS_H
#define FA_LIB_SCHEDULE_PARTITIONCOLUMNS_H

#include "Tile/Tile.h"

#include <string>

namespace fa {

/// Rewrites `kernel` for consumers that have `rows` of its tiles' rows each, as
/// partitionRows does; or, where its tiles have no more and a dot has more
/// columns than a warpgroup's, for consumers that compute the same scores, each
/// with as many neighbouring columns of the sums behind them. There, values
/// that are the first columns of the keys of the same step are read from the
/// keys' tile, and what is stored besides those sums is stored by the first
/// consumer. Gives the reason if it cannot be done, and then the kernel may be
/// half rewritten.
std::string partitionTiles(tile::KernelOp kernel, int64_t rows);

} // namespace fa

#endif // FA_LIB_SCHEDULE_PARTITIONCOLUMNS_H
