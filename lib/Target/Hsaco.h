//===- Hsaco.h - code objects of AMD ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_HSACO_H
#define FA_LIB_TARGET_HSACO_H

#include "fa/Launch/KernelInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace fa {

/// Links one relocatable object of the AMDGPU back end to a code object that a
/// runtime loads.
llvm::Expected<std::string> linkHsaco(llvm::StringRef object);

/// Fills what the notes of the code object say of `kernels` (LLVM, "User Guide
/// for AMDGPU Backend", "Code Object V5 Metadata"): registers are those of both
/// files of vector registers, the stack is private memory.
llvm::Error readResources(llvm::StringRef hsaco,
                          std::vector<KernelInfo> &kernels);

} // namespace fa

#endif // FA_LIB_TARGET_HSACO_H
