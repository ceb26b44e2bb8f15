//===- MergeProblem.h - parts of an attention, to be merged -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_MERGEPROBLEM_H
#define FA_NUMERICS_MERGEPROBLEM_H

#include "fa/Numerics/ErrorRule.h"
#include "fa/Numerics/Reference.h"

#include <string>
#include <vector>

namespace fa {

/// Attention of the same queries over several parts of the keys, which becomes
/// attention over all of them: docs/numerics.md, line 15.
struct MergeProblem {
  static constexpr int64_t kMaxParts = 16;

  int64_t parts = 2, batch = 1, numHeads = 8, seq = 1024, headDim = 64;
  ElementType type = ElementType::F16;
  bool lse = false;        ///< a result
  bool layoutBshd = false; ///< in memory heads come behind the sequence

  /// An error that names what is wrong, if the problem is not one.
  llvm::Error verify() const;
  /// The SPEC that gives this problem again.
  std::string str() const;
};

/// Parses `key[=value]` separated by spaces (docs/fa-run.md).
llvm::Expected<MergeProblem> parseMergeSpec(llvm::StringRef spec);

/// Of each part its output [b, h, s, d] and log-sum-exp f32 [b, h, s].
struct MergeInputs {
  std::vector<HostTensor> outs, lses;
};

/// Seeded inputs: normal numbers. Of some rows one part has no keys, or none
/// has, as -inf or +inf of the log-sum-exp says; the output is NaN there. Of
/// a few a log-sum-exp is NaN.
llvm::Expected<MergeInputs> makeRandomInputs(const MergeProblem &problem,
                                             uint64_t seed);

/// A tensor of zeros in the problem's layout: an output, or of no `dim` a
/// log-sum-exp.
llvm::Expected<HostTensor> createMergeRows(const MergeProblem &problem,
                                           std::optional<int64_t> dim);

/// The reference: everything in float64.
llvm::Expected<AttentionResult> mergeF64(const MergeProblem &problem,
                                         const MergeInputs &inputs);

/// The same formula in f32, the output rounded to its type: e0 of the rule.
llvm::Expected<AttentionResult> unfusedMerge(const MergeProblem &problem,
                                             const MergeInputs &inputs);

/// Compares results with the reference; `lse` is null if there is none.
llvm::Expected<std::vector<OutputCheck>> checkMerge(const MergeProblem &problem,
                                                    const MergeInputs &inputs,
                                                    const HostTensor &out,
                                                    const HostTensor *lse);

} // namespace fa

#endif // FA_NUMERICS_MERGEPROBLEM_H
