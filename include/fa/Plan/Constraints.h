//===- Constraints.h - what a plan is asked to be ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one list of what can be asked of plans: compilations, pipelines, the
// command line, the cache's keys and tuning tables hold it, read it and print
// it by what is declared here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_CONSTRAINTS_H
#define FA_PLAN_CONSTRAINTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// What a user asks of the plans of a program; the planner chooses the rest.
struct PlanConstraints {
  int64_t qTile = 0;  ///< queries in a tile; 0: chosen
  int64_t kvTile = 0; ///< keys in a tile; 0: chosen
  int64_t stages = 0; ///< tiles of keys under way on a GPU; 0: chosen
  int64_t warps = 0;  ///< of a block on a GPU; 0: chosen
  /// Where the architecture has warpgroups, those of a block that compute, with
  /// 64 queries each, beside the one that loads: 1 to 3; 0: as `qTile` says, or
  /// chosen.
  int64_t consumers = 0;
  /// Splits of the keys where queries are few, 1 to kMaxSplits; 0: as many as a
  /// launch chooses.
  int64_t splits = 0;
  /// Which of a kernel's ranked plans it has (fa/Plan/RankPlans.h); 0, and
  /// where there are not so many: the first, the rules' own.
  int64_t rank = 0;
  /// Where there are warpgroups: "persistent", blocks of specialized warps that
  /// run one program after the other; "dynamic", the same, and blocks take
  /// programs in turn from a counter where kernels can have one; "clusters",
  /// the same, and blocks with the same keys fetch them together; "roles", a
  /// block for each program; "plain", no specialized warps; "": chosen, and of
  /// specialized warps one more kernel, for launches of few programs.
  std::string schedule;

  bool operator==(const PlanConstraints &) const = default;
};

/// How many plans of a kernel are ranked at most.
inline constexpr int64_t kMostPlans = 8;

/// A word of what can be asked, "KEY=VALUE".
struct ConstraintWord {
  llvm::StringLiteral key;   ///< "tile"
  llvm::StringLiteral value; ///< its form: "MxN"
  llvm::StringLiteral meaning;
};

/// All of them, in the order in which they are printed.
llvm::ArrayRef<ConstraintWord> constraintWords();

/// Reads words with spaces between, each at most once, in any order:
/// "tile=128x64 stages=3". Numbers are 0 or more, also M and N of a tile. An
/// error names the word.
llvm::Expected<PlanConstraints> parseConstraints(llvm::StringRef text);

/// What `parseConstraints` reads as the same; "" if nothing is asked for.
std::string printConstraints(const PlanConstraints &constraints);

/// Why a user cannot ask for so much, beginning with the word's key: "stages:
/// expected 2 to 8, found 9"; empty: one can.
std::string whyInvalid(const PlanConstraints &constraints);

} // namespace fa

#endif // FA_PLAN_CONSTRAINTS_H
