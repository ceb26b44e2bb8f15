//===- KernelInfo.h - what a launch must know of a kernel -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_KERNELINFO_H
#define FA_LIB_TARGET_KERNELINFO_H

#include "Tile/Tile.h"
#include "fa/Target/Artifact.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Reads the signature and the grid of `kernel`; an element type that buffers
/// cannot have is an error.
llvm::Expected<KernelInfo> extractKernelInfo(tile::KernelOp kernel);

} // namespace fa

#endif // FA_LIB_TARGET_KERNELINFO_H
