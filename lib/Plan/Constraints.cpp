//===- Constraints.cpp - what a plan is asked to be -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Constraints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;

/// Whether `text` is "MxN".
static bool parseTile(StringRef text, PlanConstraints &constraints) {
  auto [rows, columns] = text.split('x');
  return !rows.getAsInteger(10, constraints.qTile) &&
         !columns.getAsInteger(10, constraints.kvTile) &&
         constraints.qTile >= 0 && constraints.kvTile >= 0;
}

Expected<PlanConstraints> fa::parseConstraints(StringRef text) {
  PlanConstraints result;
  std::pair<StringLiteral, int64_t *> numbers[] = {
      {"stages", &result.stages},
      {"warps", &result.warps},
      {"consumers", &result.consumers},
      {"splits", &result.splits}};
  StringSet<> seen;
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    if (!seen.insert(key).second)
      return createStringError("plan constraints: '" + key +
                               "' is given twice");
    auto number =
        find_if(numbers, [&](const auto &each) { return each.first == key; });
    bool isKnown = true;
    if (number != std::end(numbers))
      isKnown =
          !value.getAsInteger(10, *number->second) && *number->second >= 0;
    else if (key == "tile")
      isKnown = parseTile(value, result);
    else if (key == "schedule")
      result.schedule = value.str();
    else
      isKnown = false;
    if (!isKnown)
      return createStringError(
          "plan constraints: expected tile=MxN, stages=N, warps=N, "
          "consumers=N, splits=N or schedule=NAME, found '" +
          word + "'");
  }
  return result;
}

std::string fa::printConstraints(const PlanConstraints &constraints) {
  const PlanConstraints none;
  std::string text;
  raw_string_ostream out(text);
  auto begin = [&](StringRef key) -> raw_ostream & {
    return out << (text.empty() ? "" : " ") << key << '=';
  };
  auto print = [&](StringRef key, int64_t PlanConstraints::*number) {
    if (constraints.*number != none.*number)
      begin(key) << constraints.*number;
  };
  if (constraints.qTile || constraints.kvTile)
    begin("tile") << constraints.qTile << 'x' << constraints.kvTile;
  print("stages", &PlanConstraints::stages);
  print("warps", &PlanConstraints::warps);
  print("consumers", &PlanConstraints::consumers);
  print("splits", &PlanConstraints::splits);
  if (!constraints.schedule.empty())
    begin("schedule") << constraints.schedule;
  return text;
}
