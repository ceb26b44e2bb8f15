//===- Splits.h - launches whose keys are split -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where queries are few and keys are many, a program for each tile of queries
// leaves most of a card, or of a host's threads, idle. A plan then has a kernel
// whose programs see a part of the keys each, and one that merges what they
// leave in workspace.
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

/// What the rule for the number of splits looks at.
struct SplitProblem {
  int64_t programs = 0;       ///< that there would be without splits
  int64_t processors = 1;     ///< of the card
  int64_t residentBlocks = 1; ///< that a processor holds at a time
  int64_t tiles = 0;          ///< of a program's keys
  int64_t tileBytes = 1;      ///< of K and V that a program reads for a tile
  int64_t parts = 1;          ///< that read a program's tile together
  bool computes = false; ///< dots of warpgroups, and not reading, take time
};

/// The rule for the number of splits, 1 for none: the cheapest, the first of
/// several, of 2 to 7 and the multiples of 8 up to 128, none of them without a
/// tile.
///
/// A launch costs what follows, counted in the bytes that a processor gets of
/// the memory's bandwidth meanwhile.
/// - Programs run in waves of `residentBlocks` on each processor. A wave reads
///   what its programs read, by the processors together, but a program alone
///   needs 1.23 times its own bytes, as it waits for memory between tiles;
///   twice in a last wave that is not full, as the processors that are first
///   to have room get all of it. Where all are one wave, of which some
///   processors have more than others, each reads at most 1.25 times its share.
///   A program of several parts alone needs 0.45 times its bytes, in any wave.
/// - A wave begins and ends with 58 KiB (1.6 us) of nothing else.
/// - The merge costs 120 KiB to launch and 2.5 for each split.
///
/// The numbers are fitted to an H200 (132 processors, 4.5 TB/s), 64 heads on 8,
/// D 128, bf16, four blocks a processor with three slots of 32 keys each, B 1
/// to 64, 2k to 128k keys, 1 to 64 splits: they give nearly all of the times
/// within 5 %. Of blocks of four parts, 32 of them read 94 GB/s each and 64
/// of them what memory gives.
///
/// Of programs that wait for arithmetic each wave takes what its longest
/// program does, counted in bytes as well (75 KiB a microsecond): a tile's
/// bytes for each tile, and 150 KiB. The merge costs 300 KiB, and 4.5 for each
/// block that leaves something to it. Fitted to the same card, D 128, bf16, 64
/// rows and 128 keys a tile, 32 to 128 programs of 2k to 16k keys, 1 to 16
/// splits: most times within 7 %.
int64_t chooseSplits(const SplitProblem &problem);

/// Whether `parts` of a block that read each program's keys together are faster
/// than as many blocks of one, of which a processor holds `parts` times as
/// many: the cheapest of either by the rule above, which gives parts 3 to 5 %
/// too much where they are more than a wave. On the H200 of above they
/// are 1.05, 1.00 and 1.02 times as fast for 24, 28 and 32 batches of 2k keys
/// and 1.02 for 20 of 16k, but 0.95 for 20 of 2k: two splits of them are 2.4
/// waves. More than two programs for each processor are as fast in blocks of
/// one.
bool partsPay(const SplitProblem &problem);

/// Stands for the host where a card's number of processors is asked for.
inline constexpr int64_t kHost = 0;

/// The rule on the host: splits of at least 2048 keys, until there are 32
/// programs. It does not look at threads, so that a result has the same bits
/// whatever their number.
int64_t chooseHostSplits(int64_t programs, int64_t keys);

/// The first of a plan's kernels that takes the arguments, and those that
/// follow it; those that are for fewer programs than there are come last.
/// `processors` are the card's, or kHost. Kernels that need
/// workspace are left out where there is none or, if another kernel takes the
/// arguments, where there would be one split; where there is less than they
/// need, that is a failure, which says how much.
Result<LaunchChoice> chooseLaunch(std::span<const KernelInfo> kernels,
                                  std::span<const LaunchArgument> arguments,
                                  int64_t processors,
                                  const Workspace &workspace);

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
  int64_t processors = 1; ///< of the card, or kHost
  /// How many blocks each holds at a time, at most: known once the kernels are.
  int64_t residentBlocks = 1;
};

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

#endif // FA_LAUNCH_SPLITS_H
