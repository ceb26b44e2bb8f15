//===- MeantFor.h - which launches a kernel is meant for --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LAUNCH_MEANTFOR_H
#define FA_LIB_LAUNCH_MEANTFOR_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/Splits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace fa {

/// A plan's kernels where a launch runs.
struct LaunchPlace {
  std::span<const KernelInfo> kernels;
  const LaunchMachine &machine;
  /// Whether kernels that split keys may be taken.
  bool hasWorkspace = true;
  ResidentBlocks residentBlocks = {};
  /// Whether a kernel is left to splits of another, which need workspace.
  bool prefersSplits = false;
  /// Of kernels with a price, the one that costs least where keys are few; null
  /// where they are not. Not there: nobody asked.
  std::optional<const KernelInfo *> cheapest = {};
  /// The first kernel whose resident blocks are not known and matter.
  const KernelInfo *unknown = nullptr;
  /// What was found of a kernel: that it is not meant for what it asks of a
  /// launch, or is left to splits of another one; and what it costs.
  enum Verdict : char { NotYet, NotMeant, LeftToSplits, Meant };
  struct Finding {
    std::optional<bool> fits;
    Verdict verdict = NotYet;
    bool isPriced = false;
    std::optional<PricedSplits> price;
  };
  /// Of the first kernels: one may be asked about for each one before it, for
  /// which a launch has no time.
  std::array<Finding, 48> findings = {};

  /// Null: the kernel is none of the first.
  Finding *find(const KernelInfo &kernel) {
    auto number = size_t(&kernel - kernels.data());
    return number < findings.size() ? &findings[number] : nullptr;
  }

  /// `decide` of the blocks of a kernel that a processor holds. Where they are
  /// not known, of any number, if it is the same for all; else notes that.
  template <typename Decide>
  auto decideBy(const KernelInfo &kernel, Decide decide) {
    int64_t blocks = residentBlocks.empty()
                         ? kernel.residentBlocks
                         : residentBlocks[&kernel - kernels.data()].load();
    auto value = decide(std::max<int64_t>(blocks, 1));
    for (int64_t other = 2; !blocks && !unknown && other <= kMaxResidentBlocks;
         ++other)
      if (decide(other) != value)
        unknown = &kernel;
    return value;
  }
};

/// The programs that a launch would have without splits.
Result<int64_t> countPrograms(const KernelInfo &kernel,
                              std::span<const LaunchArgument> given);

/// What `programs` of a kernel that splits keys are to the rule for a card.
SplitProblem describeProblem(const KernelInfo &kernel,
                             std::span<const LaunchArgument> given,
                             int64_t programs, int64_t processors,
                             int64_t residentBlocks);

/// Whether the kernel takes the arguments (fitsVariant).
bool fits(LaunchPlace &place, const KernelInfo &kernel,
          std::span<const LaunchArgument> arguments);

/// Whether the launch, whose arguments the kernel takes, is one that the kernel
/// is for: it has as few programs as the kernel asks for, comes in whole
/// clusters, and no kernel behind it would have fewer rows or cost less. Of few
/// keys: no other kernel with a price costs less.
bool isMeantFor(LaunchPlace &place, const KernelInfo &kernel,
                std::span<const LaunchArgument> arguments);

} // namespace fa

#endif // FA_LIB_LAUNCH_MEANTFOR_H
