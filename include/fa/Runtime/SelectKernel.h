//===- SelectKernel.h - the kernel that a launch runs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_SELECTKERNEL_H
#define FA_RUNTIME_SELECTKERNEL_H

#include "fa/Launch/Launch.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/Artifact.h"

#include "llvm/ADT/ArrayRef.h"

namespace fa {

/// The first kernel that takes these arguments. An error says for which of them
/// what was found and what was expected.
inline llvm::Expected<const KernelInfo *>
selectKernel(const Artifact &artifact,
             llvm::ArrayRef<LaunchArgument> arguments) {
  return toExpected(selectKernel(std::span(artifact.kernels), arguments));
}

} // namespace fa

#endif // FA_RUNTIME_SELECTKERNEL_H
