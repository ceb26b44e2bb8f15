//===- Splits.h - launches whose keys are split -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where queries are few and keys are many, a program for each tile of queries
// leaves most of a card idle. A plan then has a kernel whose programs see a
// part of the keys each, and one that merges what they leave in workspace.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_SPLITS_H
#define FA_LAUNCH_SPLITS_H

#include "fa/Launch/Launch.h"

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
  std::span<const KernelInfo> kernels; ///< at least one
  int64_t splits = 1;                  ///< of the keys
  size_t workspaceBytes = 0;           ///< what it needs
};

/// The rule for the number of splits, 1 for none. `programs` are those that
/// there would be without splits, `places` how many the card runs at a time,
/// `tiles` those of the keys.
///
/// As many splits as the places have room for: reading keys is all the work,
/// and idle multiprocessors read none. Each has two tiles at least, so that one
/// is under way while the other is computed, and there are at most 64 to be
/// merged: the merge goes through them one after the other.
int64_t chooseSplits(int64_t programs, int64_t places, int64_t tiles);

/// The first of a plan's kernels that takes the arguments, and those that
/// follow it. `processors` are the card's. Kernels that need workspace are left
/// out where there is none or where there would be one split; where there is
/// less than they need, that is a failure, which says how much.
Result<LaunchChoice> chooseLaunch(std::span<const KernelInfo> kernels,
                                  std::span<const LaunchArgument> arguments,
                                  int64_t processors,
                                  const Workspace &workspace);

/// The most blocks that a multiprocessor holds at a time: CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability"; AMD's compute
/// units have as many waves.
inline constexpr int64_t kMaxResidentBlocks = 32;

/// A launch that a plan is made for.
struct PlannedLaunch {
  /// A null address is one that every kernel's alignment divides.
  std::vector<LaunchArgument> arguments;
  /// How many blocks the card runs at a time, at most.
  int64_t places = 1;

  /// The same without addresses, for arguments that stand for others.
  PlannedLaunch withoutAddresses() const;
};

/// The kernels, by symbol and in order, that `chooseLaunch` may choose for such
/// a launch, with workspace or without: what a plan of that launch is compiled
/// from. Other launches that such a plan is given run if one of these takes
/// them.
Result<std::vector<std::string>>
findCandidates(std::span<const KernelInfo> kernels,
               const PlannedLaunch &launch);

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

#endif // FA_LAUNCH_SPLITS_H
