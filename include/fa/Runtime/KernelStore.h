//===- KernelStore.h - kernels, each compiled once --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_KERNELSTORE_H
#define FA_RUNTIME_KERNELSTORE_H

#include "fa/Runtime/DiskCache.h"

#include "llvm/ADT/StringMap.h"

namespace fa {

/// A kernel at S7 that is compiled, or taken from the cache, when its code is
/// first wanted. Safe to use from several threads.
class StoredKernel {
public:
  /// As CompileOptions::progress.
  using Progress = std::function<bool(llvm::StringRef phase)>;

  StoredKernel(KernelInfo info, std::string text, const CompileOptions &options,
               DiskCache &cache);

  /// The code, an artifact of this kernel alone. Waits for a thread that is
  /// compiling it. An error is what the compiler says to this thread, or said
  /// to `compileAhead`; who asks next tries again.
  llvm::Expected<std::shared_ptr<const Artifact>> get(const Progress &progress);

  /// Compiles it before anybody wants it, unless somebody is at it. An error,
  /// but that it was cancelled, is kept for `get`.
  void compileAhead(const Progress &progress);

private:
  llvm::Error compileLocked(const Progress &progress);

  KernelInfo info;
  CompileOptions options;
  DiskCache &cache;
  std::mutex mutex; ///< of what follows; held while it is compiled
  std::string text; ///< empty once there is code
  std::shared_ptr<const Artifact> code;
  std::string failed; ///< ahead
};

/// Kernels by what decides their code, as long as somebody has them. Safe to
/// use from several threads.
class KernelStore {
public:
  explicit KernelStore(DiskCache &cache) : cache(cache) {}

  /// The kernel whose text, of `printKernels`, this is, planned with `options`.
  std::shared_ptr<StoredKernel> find(const KernelInfo &info, std::string text,
                                     const CompileOptions &options);

private:
  DiskCache &cache;
  std::mutex mutex;
  llvm::StringMap<std::weak_ptr<StoredKernel>> kernels;
};

} // namespace fa

#endif // FA_RUNTIME_KERNELSTORE_H
