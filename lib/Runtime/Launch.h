//===- Launch.h - what a launch on any target takes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_LAUNCH_H
#define FA_LIB_RUNTIME_LAUNCH_H

#include "fa/Runtime/LaunchArgument.h"
#include "fa/Target/Artifact.h"

#include "llvm/Support/Error.h"

namespace fa {

/// The extents of the grid, 1 where it has fewer than three, and the number of
/// programs.
llvm::Expected<int64_t> evaluateGrid(const KernelInfo &kernel,
                                     llvm::ArrayRef<LaunchArgument> arguments,
                                     int64_t (&extents)[3]);

/// The same where blocks are numbered by 31 bits, as on a card.
llvm::Expected<int64_t>
evaluateLinearGrid(const KernelInfo &kernel,
                   llvm::ArrayRef<LaunchArgument> arguments,
                   int64_t (&extents)[3]);

/// A kernel needs more shared memory than a block of `device` may have.
llvm::Error sharedMemoryError(const KernelInfo &kernel, llvm::StringRef device,
                              int64_t limit);

/// The words of the kernel ABI.
llvm::SmallVector<int64_t, 64>
packWords(llvm::ArrayRef<LaunchArgument> arguments,
          llvm::ArrayRef<int64_t> extents);

} // namespace fa

#endif // FA_LIB_RUNTIME_LAUNCH_H
