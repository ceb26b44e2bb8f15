//===- KernelAccess.h - what kernels do with their arguments ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_KERNELACCESS_H
#define FA_TARGET_KERNELACCESS_H

#include "Tile/Tile.h"
#include "fa/Launch/KernelInfo.h"

namespace fa {

/// What `kernel` does with the memory of argument `number`, a memref, as a
/// launch knows it.
Access accessOf(tile::KernelOp kernel, unsigned number);

} // namespace fa

#endif // FA_TARGET_KERNELACCESS_H
