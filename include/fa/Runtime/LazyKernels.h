//===- LazyKernels.h - kernels of a plan as launches take them --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_LAZYKERNELS_H
#define FA_RUNTIME_LAZYKERNELS_H

#include "fa/Runtime/BackgroundCompiler.h"
#include "fa/Runtime/GpuPlan.h"

#include <atomic>

namespace fa {

/// A program, or a kernel, could be compiled and not loaded.
class LoadError : public llvm::ErrorInfo<LoadError, llvm::StringError> {
public:
  static char ID;
  explicit LoadError(llvm::Error cause)
      : ErrorInfo(llvm::toString(std::move(cause)),
                  llvm::inconvertibleErrorCode()) {}
};

/// A kernel that a launch takes could not be compiled.
class LateCompileError
    : public llvm::ErrorInfo<LateCompileError, llvm::StringError> {
public:
  static char ID;
  explicit LateCompileError(llvm::Error cause)
      : ErrorInfo(llvm::toString(std::move(cause)),
                  llvm::inconvertibleErrorCode()) {}
};

/// The kernels of a plan on a card, each compiled and loaded when a launch
/// first takes it. Safe to use from several threads.
class LazyKernels {
public:
  /// `kernels` are those of `card`, which `GpuPlan::create` made. `progress` is
  /// asked on the thread that launches; null: nobody. `background` compiles the
  /// rest once a launch has its kernels; null: nobody does.
  LazyKernels(GpuPlan &card, std::vector<std::shared_ptr<StoredKernel>> kernels,
              StoredKernel::Progress progress, BackgroundCompiler *background);

  /// `GpuPlan::choose`, of which all kernels are loaded then, by this thread if
  /// they were not. Also while a graph is captured: what is loaded is no part
  /// of it. Allocates nothing where they were. Beside what the choice says, a
  /// LateCompileError, a LoadError or a CancelledError.
  llvm::Expected<LaunchChoice> choose(llvm::ArrayRef<LaunchArgument> arguments,
                                      const Workspace &workspace);

  /// A kernel with what the driver and the assembler said of it, once it is
  /// loaded.
  KernelInfo describe(size_t number) const;

private:
  /// Compiles and loads `kernel`, one of the plan's, unless it is there.
  llvm::Error load(const KernelInfo &kernel);
  llvm::Error loadCode(size_t number, const Artifact &code);

  GpuPlan &card;
  std::vector<std::shared_ptr<StoredKernel>> kernels;
  StoredKernel::Progress progress;
  BackgroundCompiler *background;
  std::atomic<bool> gaveRest = false;
  mutable std::mutex mutex; ///< of `infos` and the loading
  std::vector<KernelInfo> infos;
  int process; ///< that this is used in, and no other
};

} // namespace fa

#endif // FA_RUNTIME_LAZYKERNELS_H
