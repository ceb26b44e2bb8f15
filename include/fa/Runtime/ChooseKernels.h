//===- ChooseKernels.h - what a launch needs of a program -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CHOOSEKERNELS_H
#define FA_RUNTIME_CHOOSEKERNELS_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Runtime/DiskCache.h"

namespace fa {

/// No kernel of the program takes the launch that was named.
class RefusedLaunchError
    : public llvm::ErrorInfo<RefusedLaunchError, llvm::StringError> {
public:
  static char ID;
  explicit RefusedLaunchError(const Failure &why)
      : ErrorInfo(why.message(), llvm::inconvertibleErrorCode()) {}
};

struct KernelsChosen {
  double milliseconds = 0; ///< that it took
  std::string slower;      ///< see explainSlower
  /// The program on its way, if it was not in the cache what to choose from.
  std::optional<PlannedProgram> planned;
};

/// Sets `options.kernels` to those that `launch` may run. What there is to
/// choose from is found out by `planKernels` and kept in the cache, so that a
/// program that is there is found without a pass; else `compileCached` goes on
/// from what was planned. A launch that none takes is a RefusedLaunchError.
llvm::Expected<KernelsChosen>
chooseKernels(DiskCache &cache, mlir::ModuleOp module, llvm::StringRef entry,
              const PlannedLaunch &launch, CompileOptions &options);

/// A program's kernels for a GPU before any is compiled.
struct ListedKernels {
  CachedArtifact plan;            ///< without code
  std::vector<std::string> texts; ///< of each, see `printKernels`
};

/// Finds them out, or has them from the cache, so that a program that is there
/// is found without a pass.
llvm::Expected<ListedKernels> listKernels(DiskCache &cache,
                                          mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          const CompileOptions &options);

} // namespace fa

#endif // FA_RUNTIME_CHOOSEKERNELS_H
