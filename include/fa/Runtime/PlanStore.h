//===- PlanStore.h - plans, each made once ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PLANSTORE_H
#define FA_RUNTIME_PLANSTORE_H

#include "fa/Runtime/ChooseKernels.h"
#include "fa/Runtime/CompileCached.h"
#include "fa/Runtime/GpuPlan.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Runtime/TuningTable.h"

#include "llvm/ADT/StringMap.h"

namespace fa {

/// A compiled program where it runs: on the host or on a card.
struct LoadedPlan {
  std::unique_ptr<HostPlan> host;
  std::unique_ptr<GpuPlan> card;
  CacheOutcome cache = CacheOutcome::Off;

  const Artifact &artifact() const {
    return card ? card->artifact() : host->artifact();
  }
  /// What a launch with these arguments and this workspace runs; on the host,
  /// which makes its workspace, whatever that is.
  llvm::Expected<LaunchChoice> choose(llvm::ArrayRef<LaunchArgument> arguments,
                                      const Workspace &workspace) const {
    return card ? card->choose(arguments, workspace) : host->choose(arguments);
  }
};

/// A program could be compiled and not loaded.
class LoadError : public llvm::ErrorInfo<LoadError, llvm::StringError> {
public:
  static char ID;
  explicit LoadError(llvm::Error cause)
      : ErrorInfo(llvm::toString(std::move(cause)),
                  llvm::inconvertibleErrorCode()) {}
};

/// Compiles and loads programs, each once however many threads ask for it, as
/// long as somebody has its plan. Safe to use from several threads.
class PlanStore {
public:
  struct Options {
    std::shared_ptr<HostDevice> host; ///< or
    std::shared_ptr<GpuDevice> card;
    CompileOptions compile;
    CacheOptions cache;
    std::optional<Tuning> tuning;
    /// Is told why a launch that a plan is made for runs slower than it could.
    std::function<void(const std::string &)> note;
  };
  explicit PlanStore(Options options);

  /// The plan of `entry` of `module`, which may be transformed. `launch`: the
  /// arguments of a launch that it is for; without, it is for any. `problem`:
  /// the attention that the module is, whose sizes do not matter, if it is
  /// known: a tuning table then chooses for the launch. A LoadError, a
  /// CancelledError, or what the compiler said.
  llvm::Expected<std::shared_ptr<const LoadedPlan>>
  prepare(mlir::ModuleOp module, llvm::StringRef entry,
          std::optional<std::vector<LaunchArgument>> launch = std::nullopt,
          const AttentionProblem *problem = nullptr);

private:
  using Plan = std::shared_ptr<const LoadedPlan>;
  /// A program; its mutex is held by the thread that makes its plan.
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<const LoadedPlan> plan;
  };
  std::shared_ptr<Slot> findSlot(llvm::StringRef key);
  llvm::Expected<Plan> make(mlir::ModuleOp module, llvm::StringRef entry,
                            const CompileOptions &how, KernelsChosen chosen);

  Options options;
  DiskCache cache;
  std::mutex mutex; ///< of `slots`
  llvm::StringMap<std::shared_ptr<Slot>> slots;
};

} // namespace fa

#endif // FA_RUNTIME_PLANSTORE_H
