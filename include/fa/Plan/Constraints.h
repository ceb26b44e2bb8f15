//===- Constraints.h - what a plan is asked to be ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_CONSTRAINTS_H
#define FA_PLAN_CONSTRAINTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

/// What a user asks of the plans of a program; the planner chooses the rest.
struct PlanConstraints {
  int64_t qTile = 0;     ///< queries in a tile; 0: chosen
  int64_t kvTile = 0;    ///< keys in a tile; 0: chosen
  int64_t stages = 0;    ///< tiles of keys under way on a GPU; 0: chosen
  int64_t warps = 0;     ///< of a block on a GPU; 0: chosen
  int64_t consumers = 0; ///< warpgroups of a block that compute; 0: chosen
  /// Splits of the keys where queries are few; 0: as many as a launch chooses.
  int64_t splits = 1;
  /// Where there are warpgroups: "persistent", "clusters", "roles" or "plain";
  /// "": chosen.
  std::string schedule;
};

/// Reads "tile=MxN stages=N warps=N consumers=N splits=N schedule=NAME", each
/// at most once, in any order, with spaces between; N is 0 or more, and M and N
/// of a tile may be 0 each. An error names the word.
llvm::Expected<PlanConstraints> parseConstraints(llvm::StringRef text);

/// What `parseConstraints` reads as the same; "" if nothing is asked for.
std::string printConstraints(const PlanConstraints &constraints);

} // namespace fa

#endif // FA_PLAN_CONSTRAINTS_H
