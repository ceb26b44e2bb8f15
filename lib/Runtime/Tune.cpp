//===- Tune.cpp - the search for the fastest options ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/Tune.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Machine/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

namespace {
/// Options of which every combination is a candidate.
struct Space {
  SmallVector<int64_t> qTiles, kvTiles, stages = {0}, warps = {0};
  SmallVector<StringRef> schedules = {""};
};
} // namespace

static void addAll(const Space &space,
                   std::vector<PlanConstraints> &candidates) {
  for (StringRef schedule : space.schedules)
    for (int64_t warps : space.warps)
      for (int64_t stages : space.stages)
        for (int64_t qTile : space.qTiles)
          for (int64_t kvTile : space.kvTiles)
            candidates.push_back({.qTile = qTile,
                                  .kvTile = kvTile,
                                  .stages = stages,
                                  .warps = warps,
                                  .schedule = schedule.str()});
}

/// Tiles of powers of two, as matrix units take them, but for those of
/// warpgroups: rows by 64, and 96 keys where three of them share registers.
static Expected<SmallVector<Space, 2>> spacesOf(StringRef arch) {
  if (isAmdArch(arch)) {
    auto info = getAmdInfo(arch);
    if (!info)
      return info.takeError();
    return SmallVector<Space, 2>{{{64, 128}, {32, 64, 128}, {0, 2}, {4, 8}}};
  }
  if (!isNvidiaArch(arch)) // queries in whole blocks of registers
    return SmallVector<Space, 2>{{{48, 96, 192}, {32, 64, 128, 256}}};
  auto info = getNvidiaInfo(arch);
  if (!info)
    return info.takeError();
  SmallVector<Space, 2> spaces;
  if (info->hasWarpgroups)
    spaces.push_back({{64, 128, 192},
                      {64, 96, 128, 256},
                      {2, 3},
                      {0},
                      {"persistent", "clusters", "roles"}});
  spaces.push_back({{64, 128}, {32, 64, 128}, {2, 3}, {4, 8}});
  if (info->hasWarpgroups)
    spaces.back().schedules = {"plain"};
  return spaces;
}

Expected<std::vector<PlanConstraints>> fa::listCandidates(StringRef arch) {
  auto spaces = spacesOf(arch);
  if (!spaces)
    return spaces.takeError();
  std::vector<PlanConstraints> candidates(1);
  for (const Space &space : *spaces)
    addAll(space, candidates);
  return candidates;
}

Expected<size_t>
fa::findFastest(size_t count,
                function_ref<Expected<CandidateResult>(size_t)> measure) {
  std::optional<size_t> best;
  double bestMs = 0;
  std::string firstReason;
  for (size_t n = 0; n < count; ++n) {
    auto result = measure(n);
    if (!result)
      return result.takeError();
    if (!result->reason.empty()) {
      if (firstReason.empty())
        firstReason = result->reason;
    } else if (!best || result->ms < bestMs * (1 - kTuningMargin)) {
      best = n;
      bestMs = result->ms;
    }
  }
  if (!best)
    return createStringError("none of " + Twine(count) +
                             " candidates counts; the first: " + firstReason);
  return *best;
}
