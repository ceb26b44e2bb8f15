//===- PlanStore.h - plans, each made once ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PLANSTORE_H
#define FA_RUNTIME_PLANSTORE_H

#include "fa/Runtime/ChooseKernels.h"
#include "fa/Runtime/CompileCached.h"
#include "fa/Runtime/EmulatorPlan.h"
#include "fa/Runtime/GpuPlan.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Runtime/LazyKernels.h"
#include "fa/Runtime/Tuning.h"

namespace fa {

/// A compiled program where it runs: on the host, in the emulator or on a card.
struct LoadedPlan {
  std::unique_ptr<HostPlan> host;
  std::unique_ptr<EmulatorPlan> emulator;
  std::unique_ptr<GpuPlan> card;
  /// Of a card, where its kernels are compiled as launches take them.
  std::unique_ptr<LazyKernels> lazy;
  CacheOutcome cache = CacheOutcome::Off;

  const Artifact &artifact() const {
    return card       ? card->artifact()
           : emulator ? emulator->artifact()
                      : host->artifact();
  }
  /// A kernel with what is known of it by now.
  KernelInfo kernel(size_t number) const {
    return lazy ? lazy->describe(number) : artifact().kernels[number];
  }
  /// What a launch with these arguments and this workspace runs, which is
  /// loaded then; on the host and in the emulator, which make their workspace,
  /// whatever that is.
  llvm::Expected<LaunchChoice> choose(llvm::ArrayRef<LaunchArgument> arguments,
                                      const Workspace &workspace) const {
    if (lazy)
      return lazy->choose(arguments, workspace);
    return card       ? card->choose(arguments, workspace)
           : emulator ? emulator->choose(arguments)
                      : host->choose(arguments);
  }
};

/// When kernels of plans for any launch on a card are compiled.
enum class CompileMode {
  Eager,     ///< when the plan is made
  Lazy,      ///< when a launch first takes them
  Background ///< likewise, the rest by a thread of its own
};

/// Compiles and loads programs, each once however many threads ask for it, as
/// long as somebody has its plan. Safe to use from several threads.
class PlanStore {
public:
  struct Options {
    /// Runs what `compile` makes for it or, there, for the emulator; or
    std::shared_ptr<HostDevice> host;
    std::shared_ptr<GpuDevice> card;
    CompileOptions compile;
    EmulatedProgram::Options emulation; ///< how the emulator runs
    CompileMode mode = CompileMode::Eager;
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
  /// A plan for any launch on a card, of which nothing is compiled.
  llvm::Expected<Plan> makeLazy(mlir::ModuleOp module, llvm::StringRef entry,
                                const CompileOptions &how);

  Options options;
  DiskCache cache;
  KernelStore kernels;
  std::mutex mutex; ///< of `slots`
  llvm::StringMap<std::shared_ptr<Slot>> slots;
  /// Uses all of the above: ends first.
  std::optional<BackgroundCompiler> background;
};

} // namespace fa

#endif // FA_RUNTIME_PLANSTORE_H
