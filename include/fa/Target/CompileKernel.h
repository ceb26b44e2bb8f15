//===- CompileKernel.h - one kernel of a planned program --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_COMPILEKERNEL_H
#define FA_TARGET_COMPILEKERNEL_H

#include "fa/Target/Compile.h"

namespace fa {

/// Each of `kernels`, which `planKernels` found in `module` for a GPU, as text:
/// a module of its own at S7, which has what else the program has. Kernels of
/// two programs that are the same have the same text, and the same code.
std::vector<std::string> printKernels(mlir::ModuleOp module,
                                      llvm::ArrayRef<KernelInfo> kernels);

/// Code for `kernel`, which is `text` of `printKernels`: an artifact of it
/// alone. `options` are those of the planning; their `kernels` are not looked
/// at. In a context of its own: safe to call from several threads.
llvm::Expected<Artifact> compileKernel(llvm::StringRef text, KernelInfo kernel,
                                       const CompileOptions &options);

} // namespace fa

#endif // FA_TARGET_COMPILEKERNEL_H
