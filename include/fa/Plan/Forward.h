//===- Forward.h - the kernels of a forward attention -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_FORWARD_H
#define FA_PLAN_FORWARD_H

#include "fa/Plan/AttentionFacts.h"
#include "fa/Plan/ForwardRules.h"
#include "fa/Plan/KernelShape.h"

#include <vector>

namespace fa {

/// One kernel of those that a launch chooses from.
struct PlannedKernel {
  llvm::StringLiteral suffix; ///< of its name: "_decode"; of the last one ""
  KernelShape shape;
  /// The shape of the kernel that stands before it and does the same on splits
  /// of the keys, where there is one.
  std::optional<KernelShape> split = std::nullopt;
  /// There is no kernel of `shape`, but the one of `split` alone.
  bool isSplitAlone = false;
  /// Its warps are specialized: the schedule keeps it or the general kernel.
  bool isAlternative = false;
};

/// The kernels of an attention, in the order in which a launch looks for one
/// that takes its arguments. An error says that head dimensions are too large
/// for shared memory, or that a number of splits is asked for where the facts
/// say how many keys each has.
llvm::Expected<std::vector<PlannedKernel>>
planForward(const AttentionFacts &facts, const ForwardRules &rules);

} // namespace fa

#endif // FA_PLAN_FORWARD_H
