//===- Constraints.cpp - what a plan is asked to be -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Constraints.h"

#include "fa/Support/LaunchLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;

static constexpr ConstraintWord kTile = {"tile", "MxN",
                                         "queries and keys in a tile"};
static constexpr ConstraintWord kSchedule = {
    "schedule", "persistent|dynamic|clusters|roles|plain",
    "blocks of specialized warps for many programs, that take them in turn, "
    "in clusters, or for one each, or no specialized warps (default: chosen)"};

namespace {
struct NumberWord {
  ConstraintWord word;
  int64_t PlanConstraints::*number;
};
} // namespace

static constexpr NumberWord kNumbers[] = {
    {{"stages", "N", "tiles of keys under way on a GPU (0: chosen)"},
     &PlanConstraints::stages},
    {{"warps", "N", "warps of a block on a GPU (0: chosen)"},
     &PlanConstraints::warps},
    {{"consumers", "N",
      "warpgroups of a block that compute, 64 queries each, where the "
      "architecture has them (0: as --tile says, or chosen)"},
     &PlanConstraints::consumers},
    {{"splits", "N",
      "splits of the keys where queries are few (0: chosen by a launch)"},
     &PlanConstraints::splits},
    {{"rank", "N",
      "which of the plans that --tune measures each kernel has (default: 0, "
      "the rules')"},
     &PlanConstraints::rank}};

ArrayRef<ConstraintWord> fa::constraintWords() {
  static const SmallVector<ConstraintWord> words = [] {
    SmallVector<ConstraintWord> all = {kTile};
    append_range(all, map_range(kNumbers, [](const NumberWord &each) {
                   return each.word;
                 }));
    all.push_back(kSchedule);
    return all;
  }();
  return words;
}

/// Whether `text` is "MxN".
static bool parseTile(StringRef text, PlanConstraints &constraints) {
  auto [rows, columns] = text.split('x');
  return !rows.getAsInteger(10, constraints.qTile) &&
         !columns.getAsInteger(10, constraints.kvTile) &&
         constraints.qTile >= 0 && constraints.kvTile >= 0;
}

/// Whether there is such a word of that form.
static bool parseWord(StringRef key, StringRef value, PlanConstraints &result) {
  if (key == kTile.key)
    return parseTile(value, result);
  if (key == kSchedule.key) {
    result.schedule = value.str();
    return true;
  }
  const auto *found = find_if(
      kNumbers, [&](const NumberWord &each) { return each.word.key == key; });
  return found != std::end(kNumbers) &&
         !value.getAsInteger(10, result.*found->number) &&
         result.*found->number >= 0;
}

/// "tile=MxN, stages=N, ... or schedule=NAME".
static std::string listWords() {
  std::string text;
  for (const ConstraintWord &word : constraintWords().drop_back())
    text +=
        (text.empty() ? "" : ", ") + word.key.str() + "=" + word.value.str();
  return text + " or " + kSchedule.key.str() + "=NAME";
}

Expected<PlanConstraints> fa::parseConstraints(StringRef text) {
  PlanConstraints result;
  StringSet<> seen;
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    if (!seen.insert(key).second)
      return createStringError("plan constraints: '" + key +
                               "' is given twice");
    if (!parseWord(key, value, result))
      return createStringError("plan constraints: expected " + listWords() +
                               ", found '" + word + "'");
  }
  return result;
}

std::string fa::printConstraints(const PlanConstraints &constraints) {
  SmallVector<std::string> words;
  if (constraints.qTile || constraints.kvTile)
    words.push_back((kTile.key + "=" + Twine(constraints.qTile) + "x" +
                     Twine(constraints.kvTile))
                        .str());
  for (const NumberWord &each : kNumbers)
    if (int64_t number = constraints.*each.number)
      words.push_back((each.word.key + "=" + Twine(number)).str());
  if (!constraints.schedule.empty())
    words.push_back((kSchedule.key + "=" + constraints.schedule).str());
  return join(words, " ");
}

std::string fa::whyInvalid(const PlanConstraints &asked) {
  auto found = [](const char *expected, const Twine &found) {
    return (expected + Twine(", found ") + found).str();
  };
  bool hasTile = asked.qTile || asked.kvTile;
  if (hasTile && (asked.qTile < 1 || asked.kvTile < 1 || asked.qTile > 1024 ||
                  asked.kvTile > 4096))
    return found("tile: expected MxN with 1 <= M <= 1024 and 1 <= N <= 4096",
                 "'" + Twine(asked.qTile) + "x" + Twine(asked.kvTile) + "'");
  if (asked.stages != 0 && (asked.stages < 2 || asked.stages > 8))
    return found("stages: expected 2 to 8", Twine(asked.stages));
  if (!is_contained({0, 1, 2, 4, 8}, asked.warps))
    return found("warps: expected 1, 2, 4 or 8", Twine(asked.warps));
  if (asked.consumers > 3)
    return found("consumers: expected 1, 2 or 3", Twine(asked.consumers));
  if (asked.consumers && hasTile)
    return "consumers: expected either consumers or a tile, found both";
  if (asked.splits > kMaxSplits)
    return "splits: expected 0 to " + std::to_string(kMaxSplits) + ", found " +
           std::to_string(asked.splits);
  if (asked.rank >= kMostPlans)
    return "rank: expected 0 to " + std::to_string(kMostPlans - 1) +
           ", found " + std::to_string(asked.rank);
  if (!is_contained({"", "persistent", "dynamic", "clusters", "roles", "plain"},
                    StringRef(asked.schedule)))
    return found("schedule: expected persistent, dynamic, clusters, roles or "
                 "plain",
                 "'" + asked.schedule + "'");
  return "";
}
