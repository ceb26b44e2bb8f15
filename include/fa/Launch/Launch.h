//===- Launch.h - what a launch on any target takes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here allocates where it succeeds.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_LAUNCH_H
#define FA_LAUNCH_LAUNCH_H

#include "fa/Launch/LaunchArgument.h"

namespace fa {

/// The first of a plan's kernels, of which there is at least one, that takes
/// these arguments without workspace. A failure says for which of them what was
/// found and what was expected.
Result<const KernelInfo *>
selectKernel(std::span<const KernelInfo> kernels,
             std::span<const LaunchArgument> arguments);

/// The extents of the grid, 1 where it has fewer than three, and the number of
/// programs.
Result<int64_t> evaluateGrid(const KernelInfo &kernel,
                             std::span<const LaunchArgument> arguments,
                             int64_t (&extents)[3]);
/// The same of arguments of these sizes.
Result<int64_t> evaluateGrid(
    const KernelInfo &kernel,
    const std::function<int64_t(int64_t argument, int64_t dim)> &sizeOf,
    int64_t (&extents)[3]);

/// The blocks of a GPU that run `programs` programs, those of a grid whose
/// first extent is `inARow`: as many as hold all, each the kernel's number of
/// them, or, where the kernel is persistent, at most one for each of `places`,
/// the blocks of it that the card runs at a time, in whole clusters, each of
/// which runs programs of one row. A failure: more programs than 31 bits
/// number.
Result<int64_t> countBlocks(const KernelInfo &kernel, int64_t programs,
                            int64_t inARow, int64_t places);

/// The most words that a kernel is given.
inline constexpr size_t kMaxWords = 3 + kMaxArguments * (1 + 2 * kMaxRank);

/// How many words a kernel is given: lib/Conversion/KernelAbi/KernelAbi.h.
size_t countWords(const KernelInfo &kernel);

/// Writes the words of the kernel ABI; `words` has room for `countWords`.
void packWords(std::span<const LaunchArgument> arguments,
               const int64_t (&extents)[3], std::span<int64_t> words);

} // namespace fa

#endif // FA_LAUNCH_LAUNCH_H
