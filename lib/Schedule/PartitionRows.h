//===- PartitionRows.h - rows dealt to warpgroups ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_PARTITIONROWS_H
#define FA_LIB_SCHEDULE_PARTITIONROWS_H

#include "Tile/Tile.h"

#include <string>

namespace fa {

/// Gives the tiles of `kernel` whose rows are those of its dots `rows` rows,
/// for each consumer its own: loads, stores and numbers of rows begin at
/// `tgpu.consumer_id` * `rows`; the attribute `tgpu.consumers` says how many
/// there are. Why that cannot be is the result, and the kernel is as it was;
/// otherwise it is empty.
std::string partitionRows(tile::KernelOp kernel, int64_t rows);

} // namespace fa

#endif // FA_LIB_SCHEDULE_PARTITIONROWS_H
