//===- TileGPUPlan.cpp - #tgpu.plan as text -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

SchedulePlan fa::tgpu::planOf(tile::KernelOp kernel) {
  if (auto plan = kernel->getAttrOfType<PlanAttr>(TileGPUDialect::planAttrName))
    return plan.getPlan();
  SchedulePlan none;
  none.partitions = {Partition{"all"}};
  return none;
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               SchedulePlan plan) {
  std::string why = whyInvalid(plan);
  return why.empty() ? success() : LogicalResult(emitError() << why);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void print(AsmPrinter &out, const Partition &partition) {
  out << partition.name;
  if (partition.count != 1)
    out << '*' << partition.count;
  out << " w" << partition.warps;
  if (partition.registers)
    out << " r" << partition.registers;
  if (partition.rows)
    out << " rows " << partition.rows;
}

static void print(AsmPrinter &out, const PlannedSlots &slots) {
  out << ", slots {";
  if (slots.program)
    out << "program " << slots.program << ", ";
  out << "step " << slots.step;
  if (slots.narrow)
    out << ", narrow " << slots.narrow;
  if (!slots.scores.empty()) {
    out << ", scores [";
    llvm::interleaveComma(slots.scores, out);
    out << ']';
  }
  if (slots.exchange)
    out << ", exchange " << slots.exchange;
  out << '}';
}

void PlanAttr::print(AsmPrinter &out) const {
  const SchedulePlan &plan = getPlan();
  out << "<tile " << plan.rows << 'x' << plan.columns << ", partitions [";
  llvm::interleaveComma(plan.partitions, out,
                        [&](const Partition &each) { ::print(out, each); });
  out << ']';
  if (plan.slots != PlannedSlots())
    ::print(out, plan.slots);
  if (!plan.dots.empty()) {
    out << ", loop [";
    llvm::interleaveComma(plan.dots, out, [&](const PlannedDot &dot) {
      out << dot.stage << ':' << dot.order;
    });
    out << ']';
  }
  if (plan.maximum == MaximumRule::Speculative)
    out << ", max speculative";
  if (plan.pingPong)
    out << ", ping_pong";
  if (plan.lateRescale)
    out << ", late_rescale";
  if (plan.sumsFirst)
    out << ", sums_first";
  if (plan.persistent)
    out << ", persistent";
  if (plan.cluster != 1)
    out << ", cluster " << plan.cluster;
  if (plan.dynamic)
    out << ", dynamic " << plan.dynamic;
  out << '>';
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

class PlanParser {
public:
  explicit PlanParser(AsmParser &parser) : parser(parser) {}

  ParseResult parse() {
    SmallVector<int64_t> tile;
    if (parser.parseLess() || parser.parseKeyword("tile"))
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseDimensionList(tile, /*allowDynamic=*/false,
                                  /*withTrailingX=*/false))
      return failure();
    if (tile.size() != 2)
      return parser.emitError(loc, "expected a tile of two sizes, found ")
             << tile.size();
    plan.rows = tile[0];
    plan.columns = tile[1];
    if (parser.parseComma() || parser.parseKeyword("partitions") ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parsePartition(); }))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parseWord())
        return failure();
    return parser.parseGreater();
  }

  SchedulePlan plan;

private:
  /// A letter and a number: w4.
  ParseResult parseNumber(StringRef letter, StringRef word, SMLoc loc,
                          int64_t &number) {
    if (word.consume_front(letter) && !word.getAsInteger(10, number))
      return success();
    return parser.emitError(loc, "expected ")
           << letter << " and a number, found '" << word << "'";
  }

  ParseResult parsePartition() {
    Partition &partition = plan.partitions.emplace_back();
    if (parser.parseKeywordOrString(&partition.name))
      return failure();
    if (succeeded(parser.parseOptionalStar()) &&
        parser.parseInteger(partition.count))
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word) ||
        parseNumber("w", word, loc, partition.warps))
      return failure();
    while (succeeded(parser.parseOptionalKeyword(&word))) {
      if (word == "rows") {
        if (parser.parseInteger(partition.rows))
          return failure();
      } else if (parseNumber("r", word, loc, partition.registers)) {
        return failure();
      }
    }
    return success();
  }

  ParseResult parseSlots() {
    if (parser.parseLBrace() ||
        (succeeded(parser.parseOptionalKeyword("program")) &&
         (parser.parseInteger(plan.slots.program) || parser.parseComma())) ||
        parser.parseKeyword("step") || parser.parseInteger(plan.slots.step))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parseMoreSlots())
        return failure();
    return parser.parseRBrace();
  }

  ParseResult parseMoreSlots() {
    if (succeeded(parser.parseOptionalKeyword("exchange")))
      return parser.parseInteger(plan.slots.exchange);
    if (succeeded(parser.parseOptionalKeyword("narrow")))
      return parser.parseInteger(plan.slots.narrow);
    return ParseResult(failure(
        parser.parseKeyword("scores") ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(plan.slots.scores.emplace_back());
        })));
  }

  ParseResult parseWord() {
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    if (word == "slots")
      return parseSlots();
    if (word == "loop")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        PlannedDot &dot = plan.dots.emplace_back();
        return ParseResult(failure(parser.parseInteger(dot.stage) ||
                                   parser.parseColon() ||
                                   parser.parseInteger(dot.order)));
      });
    if (word == "cluster")
      return parser.parseInteger(plan.cluster);
    if (word == "dynamic")
      return parser.parseInteger(plan.dynamic);
    if (word == "max") {
      plan.maximum = MaximumRule::Speculative;
      return parser.parseKeyword("speculative");
    }
    bool *flag = llvm::StringSwitch<bool *>(word)
                     .Case("ping_pong", &plan.pingPong)
                     .Case("late_rescale", &plan.lateRescale)
                     .Case("sums_first", &plan.sumsFirst)
                     .Case("persistent", &plan.persistent)
                     .Default(nullptr);
    if (!flag)
      return parser.emitError(loc, "expected slots, loop, max, ping_pong, "
                                   "late_rescale, sums_first, persistent, "
                                   "cluster or dynamic, found '")
             << word << "'";
    *flag = true;
    return success();
  }

  AsmParser &parser;
};

} // namespace

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  PlanParser text(parser);
  if (text.parse())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    text.plan);
}
