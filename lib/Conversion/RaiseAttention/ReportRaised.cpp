//===- ReportRaised.cpp - what was found, for a reader --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildRaised.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace fa;
using namespace fa::raise;

static std::string printCondition(const LaunchNumbers &numbers,
                                  const Condition &condition) {
  if (condition.kind == Condition::AtLeastZero)
    return numbers.print(condition.number) + " >= 0";
  std::string text;
  for (const Condition &part : condition.parts)
    text += (text.empty()                       ? ""
             : condition.kind == Condition::All ? " and "
                                                : " or ") +
            printCondition(numbers, part);
  return "(" + text + ")";
}

/// Whether it says that keys end at the lengths, as a line of its own does.
static bool isLength(const PlacedAttention &placed,
                     const Condition &condition) {
  if (!placed.keyLengths)
    return false;
  Number key = LaunchNumbers::variableAsNumber(placed.keyNumber);
  return condition ==
         Condition{Condition::AtLeastZero, *placed.keyLengths - key - 1, {}};
}

std::vector<std::string> fa::raise::reportRaised(const PlacedAttention &placed,
                                                 const RaisedAttention &raised,
                                                 const LaunchNumbers &numbers,
                                                 const ExponentialSums &sums) {
  std::vector<std::string> lines;
  auto add = [&](const Twine &line) { lines.push_back(line.str()); };
  auto nameOf = [&](const TensorPlace &place) {
    return "argument " + std::to_string(place.argument);
  };
  std::string element;
  llvm::raw_string_ostream(element) << placed.q.element;
  add("Q " + nameOf(placed.q) + ", K " + nameOf(placed.k) + ", V " +
      nameOf(placed.v) + ", output " + nameOf(placed.output) +
      (placed.lse ? ", log-sum-exp " + nameOf(*placed.lse) +
                        (placed.lseBase == 1 ? "" : ", base 2")
                  : std::string()) +
      ": " + element + ", " + std::to_string(placed.q.columns) + " columns");
  add("state: " + placed.form);
  std::string scale;
  for (auto [number, power] : placed.scores.scalars) {
    Value scalar = sums.valueOf(sums.factor(number));
    scale += (scale.empty() ? "argument " : " * argument ") +
             std::to_string(cast<BlockArgument>(scalar).getArgNumber()) +
             (power == 1 ? "" : "^" + std::to_string(power));
  }
  if (scale.empty() || std::fabs(placed.scores.factor - 1) >= 1e-7) {
    llvm::raw_string_ostream out(scale);
    out << (scale.empty() ? "" : " * ")
        << llvm::format("%.7g", placed.scores.factor);
  }
  add("scale: " + scale);
  if (!placed.scores.change.empty())
    add("score: " + sums.print(placed.scores.change));
  if (placed.sink)
    add("sink: argument " + Twine(placed.sink->argument));
  std::string mask;
  for (const Condition &condition : placed.mask)
    if (!isLength(placed, condition))
      mask +=
          (mask.empty() ? "" : " and ") + printCondition(numbers, condition);
  add("mask: " + (mask.empty() ? "none" : mask));
  if (placed.table)
    add("keys: pages of " + numbers.print(placed.table->page) +
        " through argument " + Twine(placed.table->rows.argument));
  if (placed.keyLengths) {
    std::optional<unsigned> only = placed.keyLengths->variable();
    add("key lengths: " +
        (only ? "argument " +
                    std::to_string(placed.sequenceNumbers.at(*only).argument)
              : numbers.print(*placed.keyLengths)));
  }
  add("queries: " + numbers.print(placed.q.sizes[2]) +
      (placed.table ? "" : "; keys: " + numbers.print(placed.k.sizes[2])) +
      "; heads: " + numbers.print(placed.q.sizes[1]) +
      (placed.q.sizes[1] == placed.k.sizes[1]
           ? ""
           : ", of keys " + numbers.print(placed.k.sizes[1])) +
      "; batches: " + numbers.print(placed.q.sizes[0]));
  for (const LaunchCondition &condition : raised.conditions)
    add("if " + condition.text);
  for (unsigned n : raised.positiveArguments)
    add("if argument " + Twine(n) + " is above 0");
  if (placed.finiteMask) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", *placed.finiteMask);
    add("assumes finite masks: a score of " + text +
        " or less is taken for none");
  }
  for (const std::string &message : placed.unchecked)
    add("does not check: " + message);
  if (placed.isWide)
    add("probabilities are not rounded");
  if (placed.isTf32)
    add("dots may round to tf32");
  return lines;
}
