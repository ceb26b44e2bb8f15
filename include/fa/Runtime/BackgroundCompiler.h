//===- BackgroundCompiler.h - a thread that compiles ahead ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_BACKGROUNDCOMPILER_H
#define FA_RUNTIME_BACKGROUNDCOMPILER_H

#include "fa/Runtime/KernelStore.h"

namespace fa {

/// Compiles kernels one after the other on a thread of its own, which calls
/// nothing of a card's driver. Safe to use from several threads.
class BackgroundCompiler {
public:
  BackgroundCompiler();
  /// Cancels what is under way and waits for that; what is left stays
  /// uncompiled. In a process that was forked since `add`, which has no such
  /// thread, waits for nothing.
  ~BackgroundCompiler();

  /// Compiles `kernels` behind those that were added before; one that nobody
  /// has any more by then is left out.
  void add(llvm::ArrayRef<std::shared_ptr<StoredKernel>> kernels);

private:
  struct Work;
  std::unique_ptr<Work> work;
};

} // namespace fa

#endif // FA_RUNTIME_BACKGROUNDCOMPILER_H
