//===- ScheduleRules.cpp - what a machine asks of a schedule --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/ScheduleRules.h"

#include "Races.h"

using namespace fa;

/// Of specialized warps: tiles of fewer keys than 128 have three slots up to D
/// 128, which is faster on an H200; of 128 keys or wider ones a third slot is
/// not (bench/results/2026-11-23-h200-tile-widths.md).
static constexpr int64_t kChannelKeys = 128, kChannelKeyBytes = 2 * 128 * 2;

/// Of consumers that begin at different tiles: with four slots of 128 keys they
/// come to the ends of short programs one after the other
/// (bench/results/2026-11-22-h200-windows.md).
static constexpr int64_t kApartBytes = 4 * 32768;

static ScheduleRules nvidiaRules(const Machine &machine,
                                 const PlanConstraints &asked) {
  ScheduleRules rules;
  if (asked.stages) {
    rules.stages = rules.givenSlots = asked.stages;
  } else {
    rules.oneWarpBytes = 3 * kDecodeTileBytes;
    rules.channelKeys = kChannelKeys;
    rules.channelKeyBytes = kChannelKeyBytes;
    rules.apartBytes = kApartBytes;
  }
  rules.isSpecialized = machine.hasWarpgroups() && asked.schedule != "plain";
  rules.persistent = asked.schedule != "roles";
  if (asked.schedule == "clusters")
    rules.cluster = kClusterBlocks;
  rules.beginsEarly = machine.hasEarlyLaunch;
  return rules;
}

static ScheduleRules amdRules(const Machine &machine,
                              const PlanConstraints &asked) {
  ScheduleRules rules;
  rules.mostSlots = 2;
  // Without a second slot there are no loads direct to LDS.
  rules.givenSlots = asked.stages == 1;
  // Two workgroups share a processor: one's softmax runs under the other's
  // dots.
  rules.slotBytes =
      asked.stages ? machine.sharedBytes : machine.sharedBytes / 2;
  return rules;
}

ScheduleRules fa::scheduleRules(const Machine &machine,
                                const PlanConstraints &constraints) {
  ScheduleRules rules = machine.isAmd() ? amdRules(machine, constraints)
                                        : nvidiaRules(machine, constraints);
  rules.sharedBytes = machine.sharedBytes;
  if (constraints.warps)
    rules.warps = constraints.warps;
  return rules;
}
