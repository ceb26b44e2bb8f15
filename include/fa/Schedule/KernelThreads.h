//===- KernelThreads.h - threads and programs of a block --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_KERNELTHREADS_H
#define FA_SCHEDULE_KERNELTHREADS_H

#include "TileGPU/TileGPU.h"

namespace fa {

/// Threads of a warp of a kernel at S4 to S7.
int64_t lanesOf(tile::KernelOp kernel);

/// Threads of a block of a kernel at S4 to S7.
int32_t countThreads(tile::KernelOp kernel);
/// Programs that a block of the kernel at S4 or below runs side by side.
int64_t programsOfBlock(tile::KernelOp kernel);

} // namespace fa

#endif // FA_SCHEDULE_KERNELTHREADS_H
