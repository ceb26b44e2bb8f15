//===- ChooseLaunch.h - which kernels of a plan a launch runs ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CHOOSELAUNCH_H
#define FA_LAUNCH_CHOOSELAUNCH_H

#include "fa/Launch/Launch.h"
#include "fa/Support/LaunchCosts.h"

#include <atomic>

namespace fa {

/// Memory for what the kernels of a launch hand over.
struct Workspace {
  void *data = nullptr; ///< a multiple of kWorkspaceAlignment
  size_t bytes = 0;     ///< 0: there is none

  /// As much as is asked for, to find out how much that is.
  static Workspace any() { return {nullptr, SIZE_MAX}; }
};

inline constexpr size_t kWorkspaceAlignment = 16;

/// What a launch runs: kernels of its plan, one after the other.
struct LaunchChoice {
  std::span<const KernelInfo> kernels; ///< at least one, but for `unknown`
  int64_t splits = 1;                  ///< of the keys
  size_t workspaceBytes = 0;           ///< what it needs
  /// Not null: what is to run depends on how many blocks of this kernel a
  /// multiprocessor holds, which is not known before it is loaded.
  const KernelInfo *unknown = nullptr;
};

/// Of a plan whose kernels are loaded one by one, what the driver says of each:
/// blocks that a multiprocessor holds at a time, 0 until it is loaded. Empty:
/// the plan's `KernelInfo::residentBlocks` says so.
using ResidentBlocks = std::span<const std::atomic<int64_t>>;

/// Stands for the host where a card's number of processors is asked for.
inline constexpr int64_t kHost = 0;

/// What the choice of kernels counts with: a card's processors and what
/// launches cost there, or the host's threads.
struct LaunchMachine {
  LaunchMachine(int64_t processors, const LaunchCosts &costs = LaunchCosts())
      : processors(processors), costs(costs) {}
  static LaunchMachine host(int64_t threads) {
    LaunchMachine machine = kHost;
    machine.threads = threads;
    return machine;
  }

  int64_t processors; ///< kHost: there are `threads`
  LaunchCosts costs;
  int64_t threads = 1;

  /// How many programs run at a time, if each has a thread or a processor.
  int64_t numAtATime() const {
    return processors == kHost ? threads : processors;
  }
};

/// The first of a plan's kernels that takes the arguments, and those that
/// follow it; those that are for fewer programs than there are, for whole
/// clusters of them, or for launches in which they have fewer rows, come last,
/// and so does a kernel for few programs where splits of one of more rows cost
/// less and there is workspace.
/// What is cheaper follows from `machine`. Kernels that need workspace are left
/// out where there is none or, if another kernel takes the arguments, where
/// there would be one split; where there is less than they need, that is a
/// failure, which says how much.
Result<LaunchChoice> chooseLaunch(std::span<const KernelInfo> kernels,
                                  std::span<const LaunchArgument> arguments,
                                  const LaunchMachine &machine,
                                  const Workspace &workspace,
                                  ResidentBlocks residentBlocks = {});

/// Why a launch runs the kernel `chosen` and none before it that is faster:
/// what the first of them that is for such sizes expects of strides, gaps and
/// addresses. Empty: there is none. Kernels in workspace and those for few
/// programs are left out; whether they would run is a matter of more than that.
std::string explainSlower(std::span<const KernelInfo> kernels,
                          std::string_view chosen,
                          std::span<const LaunchArgument> arguments);

/// The most blocks that a multiprocessor holds at a time: CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability"; AMD's compute
/// units have as many waves.
inline constexpr int64_t kMaxResidentBlocks = 32;

/// A launch that a plan is made for.
struct PlannedLaunch {
  /// A null address is one that every kernel's alignment divides.
  std::vector<LaunchArgument> arguments;
  LaunchMachine machine = 1;
  /// How many blocks a processor holds at a time, at most: known once the
  /// kernels are.
  int64_t residentBlocks = 1;
};

/// A launch's arguments, of which there are at most kMaxArguments, in `storage`
/// with an address for those that have none yet.
std::span<const LaunchArgument>
fillAddresses(std::span<const LaunchArgument> arguments,
              LaunchArgument (&storage)[kMaxArguments]);

/// The kernels, by symbol and in order, that `chooseLaunch` may choose for such
/// a launch, with workspace or without: what a plan of that launch is compiled
/// from. Other launches that such a plan is given run if one of these takes
/// them.
Result<std::vector<std::string>>
findCandidates(std::span<const KernelInfo> kernels,
               const PlannedLaunch &launch);

/// The same of the last of these candidates, of arguments that
/// `findCandidates` took.
std::string explainSlower(std::span<const KernelInfo> kernels,
                          std::string_view chosen, const PlannedLaunch &launch);

/// The arguments of the kernels of a launch: those that its caller gave and
/// tensors in workspace. In place: nothing is allocated.
class KernelArguments {
public:
  KernelArguments(const LaunchChoice &choice,
                  std::span<const LaunchArgument> given,
                  const Workspace &workspace);
  std::span<const LaunchArgument> get() const { return all; }

private:
  LaunchArgument storage[kMaxArguments];
  std::span<const LaunchArgument> all;
};

} // namespace fa

#endif // FA_LAUNCH_CHOOSELAUNCH_H
