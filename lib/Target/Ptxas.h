//===- Ptxas.h - NVIDIA's assembler as a program ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_PTXAS_H
#define FA_LIB_TARGET_PTXAS_H

#include "fa/Target/Compile.h"

namespace fa {

/// Assembles the PTX of `artifact` into its cubin, with `options.ptxas` (a
/// path, or "" for the first one on PATH), until `options.progress` cancels.
/// Sets what the assembler reports of each kernel. Warnings but those about
/// spills are errors: the kernels are written not to have any. Without an
/// assembler on PATH nothing happens.
llvm::Error assemble(Artifact &artifact, const CompileOptions &options);

} // namespace fa

#endif // FA_LIB_TARGET_PTXAS_H
