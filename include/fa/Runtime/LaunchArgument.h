//===- LaunchArgument.h - what a launch is given ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_LAUNCHARGUMENT_H
#define FA_RUNTIME_LAUNCHARGUMENT_H

#include "fa/Target/Artifact.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace fa {

/// One argument of a launch.
struct LaunchArgument {
  bool isTensor = false;
  ElementType type = ElementType::F32;
  void *data = nullptr;                         ///< of element 0
  llvm::SmallVector<int64_t, 4> sizes, strides; ///< strides in elements
  uint64_t bits = 0;                            ///< of a scalar

  static LaunchArgument tensor(void *data, ElementType type,
                               llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<int64_t> strides);
  static LaunchArgument f32(float value);
  static LaunchArgument index(int64_t value);
};

/// The first kernel that takes these arguments. An error says for which of them
/// what was found and what was expected.
llvm::Expected<const KernelInfo *>
selectKernel(const Artifact &artifact,
             llvm::ArrayRef<LaunchArgument> arguments);

} // namespace fa

#endif // FA_RUNTIME_LAUNCHARGUMENT_H
