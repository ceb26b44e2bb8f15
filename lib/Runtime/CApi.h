//===- CApi.h - what the parts of the C interface share ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_CAPI_H
#define FA_LIB_RUNTIME_CAPI_H

#include "fa/Launch/Ranges.h"
#include "fa/Launch/WorkspacePool.h"
#include "fa/Runtime/TritonPlan.h"
#include "fa/fa.h"

#include <atomic>

/// A place to run and the plans that were made for it.
struct faContextImpl {
  decltype(faContextOptions::log) logTo = nullptr;
  void *user = nullptr;
  unsigned threads = 0; ///< of the host's device
  std::unique_ptr<fa::PlanStore> plans;
  std::shared_ptr<const fa::Ranges> ranges; ///< null: none
  /// For launches on a card that are given no workspace; null: none.
  std::unique_ptr<fa::WorkspacePool> workspaces;

  void log(faLogLevel level, const std::string &message) const {
    if (logTo)
      logTo(user, level, message.c_str());
  }
};

struct faPlanImpl {
  std::shared_ptr<const fa::LoadedPlan> plan;
  std::string description;
  unsigned threads;
  std::shared_ptr<const fa::Ranges> ranges; ///< of the context
  std::string rangeName;                    ///< of a launch
  const faContextImpl *context;             ///< that it was made for
  /// Of a kernel that may run as attention; `plan` is of what it was proved to
  /// be. Null: of anything else.
  std::unique_ptr<fa::TritonPlan> triton;
  /// Whether a launch said that it runs slower than another one would.
  std::atomic<bool> saidSlower = false;
  /// Whether one said that it has no workspace, which it wants.
  std::atomic<bool> saidUnsplit = false;
  /// Whether one said that it does not run as attention.
  std::atomic<bool> saidNotRaised = false;
};

namespace fa {

/// Keeps the message for this thread's faGetLastErrorMessage; gives `status`.
faStatus fail(faStatus status, const llvm::Twine &message);
faStatus fail(faStatus status, const Failure &failure);
faStatus fail(faStatus status, llvm::Error error);

} // namespace fa

#endif // FA_LIB_RUNTIME_CAPI_H
