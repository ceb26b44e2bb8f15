//===- Ptxas.h - NVIDIA's assembler as a program ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_PTXAS_H
#define FA_LIB_TARGET_PTXAS_H

#include "fa/Target/Artifact.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Assembles the PTX of `artifact` into its cubin, with `ptxas` (a path, or ""
/// for the first one on PATH). Sets what the assembler reports of each kernel.
/// Warnings but those about spills are errors: the kernels are written not to
/// have any. Without an assembler on PATH nothing happens.
llvm::Error assemble(Artifact &artifact, llvm::StringRef ptxas);

} // namespace fa

#endif // FA_LIB_TARGET_PTXAS_H
