//===- RankPlans.cpp - the plans that are worth a measurement -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/RankPlans.h"

#include "Races.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// Tiles of which every combination is worth a measurement.
struct TileSpace {
  SmallVector<int64_t> rows, columns;
  /// What is asked of the schedule beside them; "": what is asked anyway.
  StringRef schedule = {};
};
} // namespace

/// Tiles of powers of two, as matrix units take them, but for those of
/// warpgroups: rows by 64, and 96 keys where three of them share registers.
/// Hosts have queries in whole blocks of registers.
static SmallVector<TileSpace, 2> spacesOf(const Machine &machine,
                                          StringRef schedule) {
  if (machine.isHost())
    return {{{48, 96, 192}, {32, 64, 128, 256}}};
  TileSpace uniform = {{64, 128}, {32, 64, 128}};
  SmallVector<TileSpace, 2> spaces;
  if (machine.hasWarpgroups() && schedule != "plain")
    spaces.push_back({{64, 128, 192}, {64, 96, 128, 256}});
  if (machine.hasWarpgroups())
    uniform.schedule = "plain";
  if (!machine.hasWarpgroups() || schedule.empty() || schedule == "plain")
    spaces.push_back(uniform);
  return spaces;
}

std::vector<PlanConstraints> fa::rankTiles(const Machine &machine,
                                           const PlanConstraints &asked) {
  std::vector<PlanConstraints> ranked = {asked};
  if (asked.qTile || asked.kvTile || asked.consumers)
    return ranked;
  for (const TileSpace &space : spacesOf(machine, asked.schedule))
    for (int64_t rows : space.rows)
      for (int64_t columns : space.columns) {
        PlanConstraints &next = ranked.emplace_back(asked);
        next.qTile = rows;
        next.kvTile = columns;
        if (!space.schedule.empty())
          next.schedule = space.schedule.str();
      }
  return ranked;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {

/// Plans that differ from the first in one thing.
class RankedPlans {
public:
  explicit RankedPlans(SchedulePlan first) : plans{std::move(first)} {}

  /// One more, if `change` makes a legal one of the first that there is not
  /// yet.
  void add(function_ref<void(SchedulePlan &)> change) {
    SchedulePlan plan = plans.front();
    change(plan);
    if (whyInvalid(plan).empty() && !is_contained(plans, plan))
      plans.push_back(std::move(plan));
  }

  std::vector<SchedulePlan>
  take(function_ref<bool(const SchedulePlan &)> fits) {
    auto rest = std::next(plans.begin());
    plans.erase(
        std::remove_if(rest, plans.end(),
                       [&](const SchedulePlan &plan) { return !fits(plan); }),
        plans.end());
    if (plans.size() > size_t(kMostPlans))
      plans.resize(size_t(kMostPlans));
    return std::move(plans);
  }

private:
  std::vector<SchedulePlan> plans;
};

} // namespace

std::vector<SchedulePlan> fa::rankSpecialized(const LoopFacts &facts,
                                              const ScheduleRules &rules,
                                              const PlanConstraints &asked) {
  RankedPlans ranked(planSpecialized(facts, rules));
  if (!asked.stages)
    for (int64_t more : {1, -1})
      ranked.add([&](SchedulePlan &plan) { plan.slots.step += more; });
  if (facts.hasSoftmax) {
    ranked.add([](SchedulePlan &plan) {
      plan.maximum = plan.maximum == MaximumRule::Lazy
                         ? MaximumRule::Speculative
                         : MaximumRule::Lazy;
    });
    if (facts.consumers > 1)
      ranked.add([](SchedulePlan &plan) { plan.pingPong = !plan.pingPong; });
  }
  if (asked.schedule.empty()) {
    ranked.add([&](SchedulePlan &plan) {
      plan.persistent = false;
      plan.cluster = 1;
      plan.dynamic = 0;
      plan.slots.program = facts.consumers;
    });
    if (!facts.isForFewQueries)
      ranked.add([](SchedulePlan &plan) { plan.cluster = kClusterBlocks; });
  }
  if (facts.hasCounter)
    for (int64_t ahead : {1, 0})
      ranked.add([&](SchedulePlan &plan) { plan.dynamic = ahead; });
  ranked.add([](SchedulePlan &plan) { plan.dots.clear(); });
  return ranked.take([&](const SchedulePlan &plan) {
    return bytesOf(facts, plan.slots) <= rules.sharedBytes;
  });
}

std::vector<SchedulePlan> fa::rankUniform(int64_t rowTiles,
                                          const ScheduleRules &rules,
                                          const PlanConstraints &asked) {
  RankedPlans ranked(planUniform(rowTiles, rules));
  if (!asked.stages)
    for (int64_t slots = rules.mostSlots; slots > 0; --slots)
      ranked.add([&](SchedulePlan &plan) { plan.slots.step = slots; });
  if (!asked.warps)
    for (int64_t warps : {8, 4, 2, 1})
      ranked.add([&](SchedulePlan &plan) {
        if (warps <= rowTiles)
          plan.partitions.front().warps = warps;
      });
  return ranked.take([](const SchedulePlan &) { return true; });
}
