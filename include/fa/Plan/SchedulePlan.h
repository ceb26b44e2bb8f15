//===- SchedulePlan.h - who computes what of a kernel, and when -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of one kernel as data. lib/Plan decides it, a kernel carries it
// as #tgpu.plan, and the passes of lib/Schedule and the lowerings obey.
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_SCHEDULEPLAN_H
#define FA_PLAN_SCHEDULEPLAN_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace fa {

/// Rows that a tile which a partition widens is a multiple of: eight, as
/// swizzles have them, for each of its warps.
inline constexpr int64_t kWidenedRows = 32;

/// The most rows of several heads that a slot has (tile.grouped_view): of these
/// a box of whole queries leaves fewer than a warp has lanes.
inline constexpr int64_t kMostGroupedRows = 64;

/// Warps that run the same code.
struct Partition {
  /// "load", "compute" and, if they are there, "convert", which widens tiles of
  /// 8 bits between those two, and "store", which stores what is computed; or
  /// "all" for all warps of a block.
  std::string name;
  int64_t count = 1; ///< groups of warps that run it, each on rows of its own
  int64_t warps = 4; ///< of a group
  /// Of a thread, as setmaxnreg has it; 0: what the assembler gives to all.
  int64_t registers = 0;
  int64_t rows = 0; ///< of the tile that a group has; 0: all

  bool operator==(const Partition &) const = default;
};

/// Tiles of shared memory, between partitions where there are several.
struct PlannedSlots {
  int64_t program = 0; ///< of each tile that is read in all steps of a program
  /// Of each tile that is read in one step. Of one partition, 0: as many as the
  /// passes find room for; 1: a tile is copied when it is needed.
  int64_t step = 0;
  /// Of each tile of 8 bits that is widened into one that is read in one step;
  /// 0: there is none.
  int64_t narrow = 0;
  /// Of each tile that lies as scores do; 0: it is loaded by who computes.
  std::vector<int64_t> scores;
  int64_t exchange = 0; ///< of each tile that groups exchange; 0: there is none

  bool operator==(const PlannedSlots &) const = default;
};

/// When a loop over tiles computes a dot of its body.
struct PlannedDot {
  /// 0: in the step of its tile; 1: in the one after, beside what that
  /// computes.
  int64_t stage = 0;
  int64_t order = 0; ///< its place among the dots that a step begins

  bool operator==(const PlannedDot &) const = default;
};

/// How the maximum of a row of scores is kept.
enum class MaximumRule {
  Lazy, ///< it stays what it was until a score is far above it
  /// The step is computed as if it stayed, and again where it did not, for
  /// which the dot of scores is repeated.
  Speculative,
};

struct SchedulePlan {
  int64_t rows = 0, columns = 0; ///< of a tile of scores
  std::vector<Partition> partitions;
  PlannedSlots slots;
  /// Of dots of loops over tiles, in program order: each begins in its turn and
  /// is waited for where it is needed. Empty: they run one after the other.
  std::vector<PlannedDot> dots;
  MaximumRule maximum = MaximumRule::Lazy;
  /// Groups that compute begin their dots in turns: one's softmax runs beside
  /// another's dots.
  bool pingPong = false;
  /// The output is rescaled when the scores' dot has begun, not before.
  bool lateRescale = false;
  /// Late dots are done before those of the next tile begin.
  bool sumsFirst = false;
  bool persistent = false; ///< a block runs several programs
  int64_t cluster = 1;     ///< blocks that fetch together, where they can
  /// Blocks take programs in turn from a counter, and so many of them ahead; 0:
  /// each has every n-th one.
  int64_t dynamic = 0;

  bool operator==(const SchedulePlan &) const = default;

  /// Whether one partition fetches what another computes with.
  bool isSpecialized() const { return partitions.size() > 1; }
  /// The partition of that name, or null.
  const Partition *find(llvm::StringRef name) const;
  /// Groups of warps that compute, each with rows of its own.
  int64_t consumers() const;
  /// Whether there are several.
  bool dealsRows() const { return consumers() > 1; }
  /// Warps of a group that computes.
  int64_t warps() const;
  /// Blocks for which a processor has the registers that partitions of a block
  /// say; 1 where one does not say any.
  int64_t residentBlocks() const;
  /// Registers with which each thread of such a block begins, before partitions
  /// exchange them.
  int64_t registersAtStart() const;
  /// Whether the threads that compute have no registers for a tile of scores
  /// beside what a running dot reads.
  bool isShortOfRegisters() const;
};

/// Why no block can run such a plan, with what was expected and what was found;
/// empty: one can.
std::string whyInvalid(const SchedulePlan &plan);

llvm::hash_code hash_value(const SchedulePlan &plan);

} // namespace fa

#endif // FA_PLAN_SCHEDULEPLAN_H
