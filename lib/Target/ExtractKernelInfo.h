//===- ExtractKernelInfo.h - a kernel as plain data -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_EXTRACTKERNELINFO_H
#define FA_LIB_TARGET_EXTRACTKERNELINFO_H

#include "Tile/Tile.h"
#include "fa/Target/Artifact.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Reads the signature and the grid of `kernel`; an element type that buffers
/// cannot have is an error.
llvm::Expected<KernelInfo> extractKernelInfo(tile::KernelOp kernel);

/// Reads what attributes of `tgpu` say of a kernel at S7.
void readGpuFacts(tile::KernelOp kernel, KernelInfo &info);

} // namespace fa

#endif // FA_LIB_TARGET_EXTRACTKERNELINFO_H
