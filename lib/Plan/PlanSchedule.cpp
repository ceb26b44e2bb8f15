//===- PlanSchedule.cpp - the schedule of a kernel ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/PlanSchedule.h"

#include "Races.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace fa;

/// A line of a tile in shared memory, as wide as the swizzle.
static constexpr int64_t kLineBytes = 128;

/// Channels begin where a swizzle does.
static constexpr int64_t kSwizzleBytes = 1024;

/// Of the 232 that a thread of two warpgroups has, or the 224 beside rows that
/// are counted from an origin; the rest are numbers and vectors. With 216 of
/// 224, and 220 of 232, ptxas 13.0.88 serializes products (gradients of queries
/// with head dimensions of 240 and 248 beside values of 64).
static constexpr int64_t kLateRegisters = 200;

/// Programs that a block takes before it runs them, of two consumers and of
/// more: on an H100 1.0 to 1.13 and 0.96 to 1.04 of the rate of the other
/// number (bench/results/2026-11-27-h100-packed.md).
static constexpr int64_t kProgramsAhead = 2, kProgramsAheadOfThree = 1;

/// Two and three warpgroups that compute have 232 and 160 registers a thread
/// (setmaxnreg); four would wait for more than there are.
static constexpr int64_t kMostConsumers = 3;

//===----------------------------------------------------------------------===//
// Specialized warps
//===----------------------------------------------------------------------===//

/// Registers of a thread for the results of dots that are needed at a time:
/// ptxas runs dots one by one where more are, as gradients of keys have them
/// above D 128.
static constexpr int64_t kResultRegisters = 208;

/// Of few keys: two blocks share a processor, one of which waits for its tiles
/// beside what the other computes
/// (bench/results/2026-11-27-h100-few-keys.md).
static constexpr int64_t kPairedLoad = 40, kPairedCompute = 216;

/// Of a product of matrices whose operands are fetched each step, at most.
static constexpr int64_t kProductSlots = 4;

std::string fa::whyNotSpecialized(int64_t consumers) {
  if (consumers <= kMostConsumers)
    return "";
  return "its rows are those of " + std::to_string(consumers) +
         " warpgroups, where a block has registers for three";
}

/// Sums, and either what is computed of tiles alone or what comes of that.
static int64_t resultRegisters(const LoopFacts &facts) {
  int64_t sums = 0, first = 0, second = 0;
  for (const LoopFacts::StepDot &dot : facts.dots) {
    int64_t registers = dot.columns / 2; // 64 rows by 128 threads
    (dot.accumulates ? sums : dot.hasOwnLeft ? second : first) += registers;
  }
  return sums + std::max(first, second);
}

std::string fa::whyNotSpecialized(const LoopFacts &facts) {
  bool areThree = facts.consumers == kMostConsumers;
  int64_t most = areThree ? kColumnsOfFive : kColumnsOfFour;
  for (const LoopFacts::StepDot &dot : facts.dots)
    if (facts.widens() && facts.consumers > 1 && dot.columns > most)
      return "a dot has " + std::to_string(dot.columns) + " columns, where " +
             (areThree ? "three" : "two") + " warpgroups have registers for " +
             std::to_string(most) + " beside one that widens tiles";
  // Of few queries memory is the bound, and each warp widens its own operands
  // in registers.
  if (facts.widens() && facts.isForFewQueries)
    return "its queries are few, for which tiles of 8 bits are widened in "
           "registers";
  int64_t registers = resultRegisters(facts);
  if (registers <= kResultRegisters)
    return "";
  return "the results of a step's dots take " + std::to_string(registers) +
         " registers of a thread, where there are " +
         std::to_string(kResultRegisters);
}

static int64_t sum(const std::vector<int64_t> &bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
}

/// Of the tiles of one step.
static int64_t stepBytes(const LoopFacts &facts) {
  int64_t bytes = facts.consumers * sum(facts.leftBytes);
  for (const LoopFacts::StepTile &tile : facts.step)
    bytes += tile.bytes;
  return bytes;
}

int64_t fa::bytesOf(const LoopFacts &facts, const PlannedSlots &slots) {
  int64_t bytes =
      kBarrierBytes + facts.consumers * kLineBytes * facts.lineRows +
      facts.rampBytes + slots.program * sum(facts.programBytes) +
      slots.program / facts.consumers * sum(facts.wholeBytes) +
      slots.exchange * sum(facts.exchangeBytes) +
      slots.step * stepBytes(facts) + slots.narrow * sum(facts.narrowBytes) +
      facts.consumers * sum(facts.narrowProgramBytes);
  for (auto [number, each] : zip(slots.scores, facts.scoreBytes))
    bytes += number * each;
  for (int64_t each : facts.vectorBytes)
    bytes += alignTo(slots.step * each, kSwizzleBytes);
  return bytes;
}

namespace {

class SpecializedSchedule {
public:
  SpecializedSchedule(const LoopFacts &facts, const ScheduleRules &rules)
      : facts(facts), rules(rules), consumers(facts.consumers) {}

  SchedulePlan plan() {
    SchedulePlan plan;
    plan.partitions = choosePartitions();
    plan.dots = chooseLoop();
    plan.slots.step = chooseStepSlots(plan.dots);
    plan.slots.narrow = chooseNarrowSlots(plan.slots.step);
    plan.slots.program = chooseProgramSlots(plan.slots);
    plan.slots.scores = chooseScoreSlots(plan.slots.step);
    plan.slots.exchange = chooseExchangeSlots(plan.slots.step);
    plan.sumsFirst = addsTwice();
    plan.maximum = chooseMaximum(plan.slots);
    plan.pingPong = takesTurns();
    // Three have no registers for an output that waits for its factor.
    plan.lateRescale = consumers < kMostConsumers;
    plan.persistent = rules.persistent;
    // Of few queries a group of heads has a tile or two.
    plan.cluster = facts.cluster           ? facts.cluster
                   : facts.isForFewQueries ? 1
                                           : rules.cluster;
    if (facts.hasCounter && plan.persistent && plan.cluster == 1 &&
        !facts.widens())
      plan.dynamic =
          consumers < kMostConsumers ? kProgramsAhead : kProgramsAheadOfThree;
    return plan;
  }

private:
  /// Registers of a thread when the warpgroup that loads has given away what it
  /// does not need: multiples of 8 (PTX ISA, setmaxnreg) that share 65536. Rows
  /// that are counted from an origin and end in their argument take more: with
  /// 40, values that both partitions read spill.
  std::vector<Partition> choosePartitions() const {
    Partition load, compute;
    load.name = "load";
    compute.name = "compute";
    compute.count = consumers;
    compute.rows = kWarpgroupRows;
    if (facts.widens())
      return besideConverter(load, compute);
    if (consumers == kMostConsumers) {
      load.registers = 32;
      compute.registers = 160;
    } else if (consumers > 1) {
      load.registers = facts.hasOrigin ? 56 : 40;
      compute.registers = facts.hasOrigin ? 224 : 232;
    } else if (facts.isForFewKeys) {
      load.registers = kPairedLoad;
      compute.registers = kPairedCompute;
    }
    return {load, compute};
  }

  /// With a warpgroup that widens tiles, which has what three loads of 16 bytes
  /// bring, and become, in registers. Of less than 224 ptxas keeps addresses of
  /// slots in the registers of threads, not in uniform ones: 0.9 of the rate.
  /// Three that compute begin with 96 each, like the others
  /// (bench/results/2026-11-29-h200-fp8.md).
  std::vector<Partition> besideConverter(Partition load,
                                         Partition compute) const {
    Partition convert;
    convert.name = "convert";
    load.registers = consumers > 1 ? 32 : 56;
    convert.registers = consumers > 1 ? 32 : 72;
    compute.registers = consumers > 1 ? 224 : 240;
    if (consumers == kMostConsumers) {
      load.registers = 32;
      convert.registers = 40;
      compute.registers = 136;
    }
    return {load, convert, compute};
  }

  int64_t stepBytes() const { return ::stepBytes(facts); }

  /// Slots that tiles which are widened have at least.
  int64_t leastNarrow() const { return facts.narrowBytes.empty() ? 0 : 1; }

  /// Slots that what groups exchange has at least.
  int64_t leastExchange() const { return facts.exchangeBytes.empty() ? 0 : 1; }

  /// What is left of the shared memory beside `slots` slots of each tile of a
  /// step and one for each consumer of the others.
  int64_t roomBeside(int64_t slots) const {
    return rules.sharedBytes -
           bytesOf(facts,
                   {consumers, slots, leastNarrow(), {}, leastExchange()});
  }

  /// Whether several dots of a step read a tile, and who computes them
  /// exchanges nothing.
  bool sharesTiles() const {
    return !addsTwice() && facts.exchangeBytes.empty() &&
           any_of(facts.step, [](const LoopFacts::StepTile &tile) {
             return tile.readers > 1;
           });
  }

  /// Whether there are slots for the tile that a late dot holds, for that of
  /// its step, and one to fetch to.
  bool hasRoomToHold() const {
    return !rules.sharedBytes || roomBeside(3) >= 0;
  }

  /// Whether a late dot holds a tile that others of its step have read.
  bool holdsTiles(const std::vector<PlannedDot> &dots) const {
    return sharesTiles() &&
           any_of(dots, [](const PlannedDot &dot) { return dot.stage; });
  }

  /// Late dots that hold tiles take 1.55 of the time in MLA's decode where
  /// there is no third slot (bench/results/2026-11-26-h100-mla.md).
  int64_t chooseStepSlots(const std::vector<PlannedDot> &dots) const {
    int64_t bytes = stepBytes(), slots = rules.stages;
    if (!rules.givenSlots && !facts.leftBytes.empty())
      return chooseProductSlots();
    if (!rules.givenSlots && holdsTiles(dots) && hasRoomToHold())
      slots = std::max<int64_t>(slots, 3);
    int64_t keys = facts.step.empty() ? 0 : facts.step.back().keys;
    if (!facts.isForFewKeys && keys < rules.channelKeys &&
        bytes <= keys * rules.channelKeyBytes &&
        (!rules.sharedBytes || roomBeside(3) >= 0))
      slots = std::max<int64_t>(slots, 3);
    // What is fetched meanwhile has slots of its own.
    if (facts.widens() && !rules.givenSlots && rules.sharedBytes)
      while (slots > 1 && roomBeside(slots) < 0)
        --slots;
    bool areApart = consumers > 1 && facts.beginsApart;
    return areApart && 2 * slots * bytes <= rules.apartBytes ? 2 * slots
                                                             : slots;
  }

  /// Where both operands of a product are fetched each step, nothing else than
  /// slots hides how long that takes.
  int64_t chooseProductSlots() const {
    int64_t slots = kProductSlots;
    while (slots > rules.stages && roomBeside(slots) < 0)
      --slots;
    return slots;
  }

  /// Of tiles that are widened: a second one where there is room for it.
  int64_t chooseNarrowSlots(int64_t step) const {
    bool fits = roomBeside(step) >= sum(facts.narrowBytes);
    return leastNarrow() && fits ? 2 : leastNarrow();
  }

  /// A slot for each consumer, or two, where programs begin before the end of
  /// others and there is room.
  int64_t chooseProgramSlots(PlannedSlots slots) const {
    if (!rules.overlapPrograms || !rules.persistent ||
        !facts.scoreBytes.empty() || !facts.hasSomeKeys)
      return consumers;
    slots.program = 2 * consumers;
    slots.exchange = leastExchange();
    bool fits = bytesOf(facts, slots) <= rules.sharedBytes;
    return fits ? 2 * consumers : consumers;
  }

  /// As far as there is room, a slot for each consumer, or two where all can
  /// have them.
  std::vector<int64_t> chooseScoreSlots(int64_t step) const {
    int64_t room = roomBeside(step), bytes = 0;
    std::vector<int64_t> slots;
    for (int64_t each : facts.scoreBytes) {
      bool fits = bytes + consumers * each <= room;
      bytes += fits ? consumers * each : 0;
      slots.push_back(fits ? consumers : 0);
    }
    if (2 * bytes <= room)
      for (int64_t &number : slots)
        number *= 2;
    return slots;
  }

  /// With a second slot consumers wait for each other once a step, not twice.
  int64_t chooseExchangeSlots(int64_t step) const {
    if (facts.exchangeBytes.empty())
      return 0;
    return roomBeside(step) >= sum(facts.exchangeBytes) ? 2 : 1;
  }

  /// Whether a step adds to two sums, as gradients of keys and values are: they
  /// leave few registers. Their dots are a step late, begin together when both
  /// left operands are there, and are done before those of the next tile begin,
  /// which run beside what is computed of the first of them (by hand 617 to 692
  /// TFLOP/s of four dots at D 128, 542 to 551 where they are not waited for;
  /// bench/results/2026-11-26-h100-backward.md).
  bool addsTwice() const {
    return facts.exchangeBytes.empty() && countSums() > 1 && sumsComputed();
  }

  /// Whether sums are of what is computed of other dots.
  bool sumsComputed() const {
    return countSums() > 0 && countSums() < int64_t(facts.dots.size());
  }

  int64_t countSums() const {
    return count_if(facts.dots, [](const LoopFacts::StepDot &dot) {
      return dot.accumulates;
    });
  }

  /// Dots that add up come last, but where there are two (addsTwice). They are
  /// a step late where there are registers for it: what the next step computes
  /// runs beside them (FlashAttention-3, section 3.2;
  /// bench/results/2026-11-25-h100-backward-loops.md). Else each begins when
  /// its left operand is there. Those that wait for what groups exchange come
  /// between or, beside late ones, behind.
  std::vector<PlannedDot> chooseLoop() const {
    bool fits = facts.hasSoftmax || lateRegisters() <= kLateRegisters;
    bool areLate = addsTwice() || (sumsComputed() && fits &&
                                   (!sharesTiles() || hasRoomToHold()));
    std::vector<size_t> turns(facts.dots.size());
    std::iota(turns.begin(), turns.end(), 0);
    auto turnOf = [&](size_t number) {
      const LoopFacts::StepDot &dot = facts.dots[number];
      if (addsTwice())
        return dot.accumulates ? 0 : 1;
      if (dot.readsExchange)
        return areLate ? 2 : 1;
      return dot.accumulates ? 1 : 0;
    };
    sort(turns, [&](size_t one, size_t other) {
      return std::pair(turnOf(one), one) < std::pair(turnOf(other), other);
    });
    std::vector<PlannedDot> dots(facts.dots.size());
    for (auto [order, number] : enumerate(turns))
      dots[number] = {areLate && facts.dots[number].accumulates,
                      int64_t(order)};
    return dots;
  }

  /// Registers of a thread for tiles where sums are late: results in 32 bits,
  /// of 64 rows by 128 threads, and left operands in 16 of two steps.
  int64_t lateRegisters() const {
    int64_t registers = 0;
    for (const LoopFacts::StepDot &dot : facts.dots)
      registers += dot.columns / 2 + (dot.hasOwnLeft ? 2 * (dot.depth / 4) : 0);
    return registers;
  }

  /// What pays was measured (bench/results/schedule-notes.md, "Speculative
  /// maximum"; bench/results/2026-11-22-h200-expected-maxima.md): two consumers
  /// with less depth wait for keys that are released late, those that change
  /// their scores for what they change them by, unless it has two slots.
  MaximumRule chooseMaximum(const PlannedSlots &slots) const {
    if (!facts.hasSoftmax || facts.isForFewKeys)
      return MaximumRule::Lazy;
    bool isFetched = any_of(slots.scores, [](int64_t n) { return n > 0; });
    bool areTwo = all_of(slots.scores, [&](int64_t number) {
      return !number || number >= 2 * consumers;
    });
    bool isDeep = !facts.step.empty() && facts.step.front().columns >= 128;
    bool pays = isFetched ? areTwo : consumers == kMostConsumers || isDeep;
    return pays ? MaximumRule::Speculative : MaximumRule::Lazy;
  }

  /// Ping-pong (bench/results/2026-11-21-h200-turns.md). Gradients' consumers
  /// would all find themselves where they wait for dots, and then all compute,
  /// while the tensor cores wait: those of keys have 1.1 of the rate in turns,
  /// those of queries 1.0 to 1.1 (bench/results/2026-11-30-h200-backward.md).
  bool takesTurns() const {
    if (consumers == 1 || facts.step.size() < 2)
      return false;
    if (!facts.hasSoftmax)
      return sumsComputed() && facts.exchangeBytes.empty();
    int64_t depth = facts.step[0].columns, width = facts.step[1].columns;
    return consumers == kMostConsumers || depth > width ||
           (depth <= 128 && facts.changesScores);
  }

  const LoopFacts &facts;
  const ScheduleRules &rules;
  int64_t consumers;
};

} // namespace

SchedulePlan fa::planSpecialized(const LoopFacts &facts,
                                 const ScheduleRules &rules) {
  return SpecializedSchedule(facts, rules).plan();
}

SchedulePlan fa::planUniform(int64_t rowTiles, const ScheduleRules &rules) {
  SchedulePlan plan;
  Partition all;
  all.name = "all";
  all.warps = bit_floor(
      uint64_t(std::min<int64_t>(rules.warps, std::max<int64_t>(rowTiles, 1))));
  plan.partitions = {all};
  plan.slots.step = rules.givenSlots;
  return plan;
}
