//===- PlanSchedule.h - the schedule of a kernel ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_PLANSCHEDULE_H
#define FA_PLAN_PLANSCHEDULE_H

#include "fa/Plan/SchedulePlan.h"
#include "fa/Plan/ScheduleRules.h"

namespace fa {

/// Rows of the tile that a warpgroup computes: those of wgmma (PTX ISA,
/// "Asynchronous Warpgroup Level Matrix Instructions").
inline constexpr int64_t kWarpgroupRows = 64;

/// What a kernel at S3 whose warps can be specialized fetches and computes.
/// Bytes are those of a slot of shared memory, which has whole lines of 128.
struct LoopFacts {
  int64_t consumers = 1; ///< warpgroups that its rows are dealt to
  /// Of each tile of a consumer that is read in all steps.
  std::vector<int64_t> programBytes;
  /// Of each tile that all consumers read in all steps.
  std::vector<int64_t> wholeBytes;
  /// Of each tile that consumers exchange in a step.
  std::vector<int64_t> exchangeBytes;
  /// A tile that is read in one step by all consumers.
  struct StepTile {
    int64_t keys, columns, bytes;
    int64_t readers = 1; ///< dots of the step that read it
  };
  std::vector<StepTile> step;
  /// Of each tile of 8 bits that one of a step, or of all steps, is widened
  /// from, by a partition between who loads and who computes.
  std::vector<int64_t> narrowBytes, narrowProgramBytes;
  /// Of each tile of a consumer that is read in one step, a left operand.
  std::vector<int64_t> leftBytes;
  /// Of each vector that is read in one step by all consumers.
  std::vector<int64_t> vectorBytes;
  /// A dot of a step, a warpgroup's.
  struct StepDot {
    int64_t columns = 0, depth = 0;
    bool hasOwnLeft = false;    ///< its left operand is computed in the step
    bool accumulates = false;   ///< to a result that the next step alone reads
    bool readsExchange = false; ///< its left operand is what they exchange
  };
  std::vector<StepDot> dots; ///< in program order
  bool hasSoftmax = false;   ///< it keeps maxima of rows
  /// Of each tile of a consumer that lies as scores do.
  std::vector<int64_t> scoreBytes;
  int64_t lineRows = kWarpgroupRows; ///< rows of a line of a consumer's output
  int64_t rampBytes = 0; ///< of what a linear bias is multiplied with; 0: none
  bool beginsApart = false;   ///< consumers begin at different tiles
  bool hasSomeKeys = false;   ///< a program walks a tile of keys at least
  bool changesScores = false; ///< scores are not the dot's alone
  /// Fetched rows are counted from an origin: those of two dimensions as one,
  /// or those of a packed sequence.
  bool hasOrigin = false;
  bool isForFewQueries = false, isForFewKeys = false;
  int64_t cluster = 0;     ///< blocks that the kernel is to have; 0: not said
  bool hasCounter = false; ///< blocks may take programs in turn

  /// Whether a partition widens tiles.
  bool widens() const {
    return !narrowBytes.empty() || !narrowProgramBytes.empty();
  }
};

/// Bytes of shared memory that a block with so many slots takes, with its
/// barriers and a line of its outputs.
int64_t bytesOf(const LoopFacts &facts, const PlannedSlots &slots);

/// Why warps of such a kernel are not specialized: a block has no registers for
/// so many warpgroups. Empty: they are.
std::string whyNotSpecialized(int64_t consumers);
/// The same of what its loops compute.
std::string whyNotSpecialized(const LoopFacts &facts);

/// The plan of a kernel whose warps are specialized, with a tile of `rows` by
/// `columns`.
SchedulePlan planSpecialized(const LoopFacts &facts,
                             const ScheduleRules &rules);

/// The plan of a kernel all of whose warps run the same code, where `rowTiles`
/// tiles of a matrix unit's rows are there for warps.
SchedulePlan planUniform(int64_t rowTiles, const ScheduleRules &rules);

} // namespace fa

#endif // FA_PLAN_PLANSCHEDULE_H
