//===- TritonPlan.h - a kernel as attention or as written -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TRITONPLAN_H
#define FA_RUNTIME_TRITONPLAN_H

#include "fa/Runtime/PlanStore.h"
#include "fa/Runtime/RaisedLaunch.h"
#include "fa/Runtime/ReadProgram.h"

#include <mutex>

namespace fa {

/// What a launch runs and is given.
struct BoundLaunch {
  const LoadedPlan *plan = nullptr;
  /// Those of the attention, where a kernel runs as one.
  std::vector<LaunchArgument> ofAttention;
  llvm::ArrayRef<LaunchArgument> given;
  /// Why a kernel that might have run as attention does not; "": it does, or
  /// is none that might.
  std::string notRaised;

  llvm::ArrayRef<LaunchArgument> arguments() const {
    return ofAttention.empty() ? given : llvm::ArrayRef(ofAttention);
  }
};

/// A kernel that Triton printed: as attention in launches that the proof holds
/// for, as it is written in others. What of both nothing has needed is not
/// compiled. Safe to use from several threads.
class TritonPlan {
public:
  using Warn = std::function<void(const std::string &)>;

  /// Of a program that is Triton's. `raise` is not Off. `store`, which must
  /// outlive the plan, compiles; `launch` as of PlanStore::prepare: what it
  /// breaks, no other launch of the plan runs as attention for. `warn` is told
  /// where an attention cannot be compiled and the kernel runs instead. Errors
  /// are those of PlanStore::prepare, a RefusedLaunchError for a launch, and,
  /// of Raise::Only, where the proof ends.
  static llvm::Expected<std::unique_ptr<TritonPlan>>
  create(Program program, Raise raise, PlanStore &store,
         std::optional<std::vector<LaunchArgument>> launch, Warn warn);

  /// The attention, or the kernel where it is none or was not compiled.
  std::shared_ptr<const LoadedPlan> plan() const;

  /// What a launch runs. `isPlanned`: a null address stands for memory of its
  /// own. Of what is neither attention nor compiled yet a LateCompileError, a
  /// LoadError or a CancelledError; of Raise::Only, what the launch breaks.
  llvm::Expected<BoundLaunch> bind(llvm::ArrayRef<LaunchArgument> given,
                                   bool isPlanned = false);

  /// Where a launch of the attention could not be compiled or loaded: whether
  /// the kernel runs instead from now on, which is told; `error` is gone then.
  bool giveUp(llvm::Error &error);

  /// What was proved, in lines, and where: as fa-opt --explain has it. Empty:
  /// nothing was.
  const std::vector<std::string> &report() const { return lines; }
  /// Why no launch runs as attention; "": some may.
  std::string notRaised() const;

private:
  TritonPlan(Program program, Raise raise, PlanStore &store, Warn warn)
      : program(std::move(program)), raise(raise), store(store),
        warn(std::move(warn)) {}
  /// Of what is not raised.
  llvm::Error prove(std::optional<RaisedAttention> &raised);
  llvm::Error prepare(RaisedAttention raised,
                      std::optional<std::vector<LaunchArgument>> &launch);
  /// The kernel as it is written, compiled if it was not.
  llvm::Expected<std::shared_ptr<const LoadedPlan>>
  asWritten(std::optional<std::vector<LaunchArgument>> launch = std::nullopt);

  Program program; ///< as it is written; its context has the expressions, too
  Raise raise;
  PlanStore &store;
  Warn warn;
  std::string name; ///< "@attention"
  std::vector<std::string> lines;
  std::optional<RaisedLaunch> launch; ///< none: it is not attention
  std::shared_ptr<const LoadedPlan> attention;
  mutable std::mutex mutex; ///< of `why`
  std::string why;
  mutable std::mutex compiling; ///< of `kernel`
  std::shared_ptr<const LoadedPlan> kernel;
};

} // namespace fa

#endif // FA_RUNTIME_TRITONPLAN_H
