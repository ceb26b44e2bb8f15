//===- SchedulePlan.cpp - who computes what of a kernel, and when ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/SchedulePlan.h"

#include "fa/Support/LaunchLimits.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// Registers of a multiprocessor, threads of a warp, and what setmaxnreg takes
/// (PTX ISA, "setmaxnreg").
static constexpr int64_t kRegisters = 65536, kLanes = 32, kRegisterStep = 8,
                         kLeastRegisters = 24, kMostRegisters = 256;

/// Of a thread, as long as all have as many (lib/Conversion/TileGPUToNVVM).
static constexpr int64_t kMostOfAll = 248;

/// Programs that a block takes before it runs them: others could have run them.
static constexpr int64_t kMostAhead = 8;

const Partition *SchedulePlan::find(StringRef name) const {
  auto found = find_if(
      partitions, [&](const Partition &each) { return each.name == name; });
  return found == partitions.end() ? nullptr : &*found;
}

int64_t SchedulePlan::consumers() const {
  const Partition *compute = find("compute");
  return compute ? compute->count : 1;
}

int64_t SchedulePlan::warps() const {
  const Partition *compute = find("compute");
  return compute ? compute->warps : partitions.back().warps;
}

static int64_t countThreads(ArrayRef<Partition> partitions) {
  int64_t threads = 0;
  for (const Partition &each : partitions)
    threads += each.count * each.warps * kLanes;
  return threads;
}

/// Of a thread, where `blocks` share a processor's registers evenly.
static int64_t shareOfThread(ArrayRef<Partition> partitions, int64_t blocks) {
  int64_t most = kRegisters / blocks / countThreads(partitions);
  return std::min(most / kRegisterStep * kRegisterStep, kMostOfAll);
}

/// Registers of a block; those that say nothing have `share` for each thread.
static int64_t countRegisters(ArrayRef<Partition> partitions, int64_t share) {
  int64_t registers = 0;
  for (const Partition &each : partitions)
    registers += each.count * each.warps * kLanes *
                 (each.registers ? each.registers : share);
  return registers;
}

int64_t SchedulePlan::residentBlocks() const {
  if (any_of(partitions, [](const Partition &each) { return !each.registers; }))
    return 1;
  int64_t registers = countRegisters(partitions, /*share=*/0);
  int64_t blocks = std::max<int64_t>(kRegisters / registers, 1);
  // What they begin with is rounded down.
  while (blocks > 1 &&
         shareOfThread(partitions, blocks) * countThreads(partitions) <
             registers)
    --blocks;
  return blocks;
}

int64_t SchedulePlan::registersAtStart() const {
  return shareOfThread(partitions, residentBlocks());
}

bool SchedulePlan::isShortOfRegisters() const {
  constexpr int64_t enough = 224;
  const Partition *compute = find("compute");
  return compute && compute->registers && compute->registers < enough;
}

static hash_code hash(const Partition &partition) {
  return hash_combine(partition.name, partition.count, partition.warps,
                      partition.registers, partition.rows);
}

hash_code fa::hash_value(const SchedulePlan &plan) {
  hash_code code = hash_combine(
      plan.rows, plan.columns, plan.slots.program, plan.slots.step,
      plan.slots.narrow, hash_combine_range(plan.slots.scores),
      plan.slots.exchange, plan.maximum, plan.pingPong, plan.lateRescale,
      plan.sumsFirst, plan.persistent, plan.cluster, plan.dynamic);
  for (const Partition &partition : plan.partitions)
    code = hash_combine(code, hash(partition));
  for (const PlannedDot &dot : plan.dots)
    code = hash_combine(code, dot.stage, dot.order);
  return code;
}

//===----------------------------------------------------------------------===//
// What a block can run
//===----------------------------------------------------------------------===//

static std::string whyInvalid(const Partition &partition) {
  std::string name = "partition '" + partition.name + "': ";
  auto found = [&](const char *what, int64_t number) {
    return name + "expected " + what + ", found " + std::to_string(number);
  };
  if (partition.count < 1)
    return found("a group of warps at least", partition.count);
  if (!isPowerOf2_64(partition.warps) || partition.warps > 32)
    return found("1 to 32 warps, a power of two", partition.warps);
  if (partition.rows < 0)
    return found("rows of at least 0", partition.rows);
  int64_t registers = partition.registers;
  if (registers && (registers % kRegisterStep || registers < kLeastRegisters ||
                    registers > kMostRegisters))
    return found("registers in steps of 8 from 24 to 256", registers);
  return "";
}

/// Registers are a warpgroup's to give away, and one warp of it loads or
/// stores.
static std::string whyInvalidRoles(ArrayRef<Partition> partitions) {
  static constexpr StringLiteral names[] = {"load", "convert", "compute",
                                            "store"};
  bool isKnown = partitions.front().name == "load";
  auto known = std::begin(names);
  for (const Partition &each : partitions) {
    known = std::find(known, std::end(names), each.name);
    isKnown &= known != std::end(names);
  }
  if (!isKnown || !any_of(partitions, [](const Partition &each) {
        return each.name == "compute";
      }))
    return "expected partitions 'load' and 'compute', perhaps 'convert' "
           "between them and 'store' behind them, where there are several";
  for (const Partition &each : partitions) {
    if (each.warps != 4)
      return "partition '" + each.name +
             "': expected the 4 warps of a warpgroup, found " +
             std::to_string(each.warps);
    if (each.name != "compute" && each.count != 1)
      return "partition '" + each.name +
             "': expected a group of warps, found " +
             std::to_string(each.count);
  }
  return "";
}

/// What one partition takes another gives, of the registers with which the
/// block begins, as many for each of its threads: else those who take wait for
/// ever.
static std::string whyTooManyRegisters(ArrayRef<Partition> partitions) {
  int64_t share = shareOfThread(partitions, /*blocks=*/1);
  int64_t most = countThreads(partitions) * share;
  int64_t registers = countRegisters(partitions, share);
  if (partitions.size() == 1 || registers <= most)
    return "";
  return "expected partitions of " + std::to_string(most) +
         " registers at most, found " + std::to_string(registers);
}

static std::string whyInvalidTogether(const SchedulePlan &plan) {
  if (plan.partitions.empty())
    return "expected a partition at least, found none";
  for (const Partition &each : plan.partitions) {
    if (std::string why = whyInvalid(each); !why.empty())
      return why;
    if (plan.find(each.name) != &each)
      return "expected partitions of different names, found '" + each.name +
             "' twice";
  }
  if (std::string why = whyTooManyRegisters(plan.partitions); !why.empty())
    return why;
  return plan.isSpecialized() ? whyInvalidRoles(plan.partitions) : "";
}

/// Why no step can begin `dots` as they say.
static std::string whyInvalid(ArrayRef<PlannedDot> dots) {
  std::vector<bool> isTaken(dots.size());
  for (const PlannedDot &dot : dots) {
    if (dot.stage != 0 && dot.stage != 1)
      return "expected dots of stage 0 or 1, found " +
             std::to_string(dot.stage);
    if (dot.order < 0 || dot.order >= int64_t(dots.size()) ||
        isTaken[dot.order])
      return "expected an order of the loop's " + std::to_string(dots.size()) +
             " dots, each place once, found " + std::to_string(dot.order) +
             (dot.order >= 0 && dot.order < int64_t(dots.size()) ? " twice"
                                                                 : "");
    isTaken[dot.order] = true;
  }
  if (!dots.empty() && all_of(dots, [](PlannedDot dot) { return dot.stage; }))
    return "expected a dot of stage 0 at least, found none";
  return "";
}

std::string fa::whyInvalid(const SchedulePlan &plan) {
  if (std::string why = whyInvalidTogether(plan); !why.empty())
    return why;
  if (plan.rows < 0 || plan.columns < 0)
    return "expected a tile of sizes of at least 0, found " +
           std::to_string(plan.rows) + "x" + std::to_string(plan.columns);
  const PlannedSlots &slots = plan.slots;
  int64_t least = plan.isSpecialized() ? 1 : 0;
  if (slots.program < least || slots.step < least)
    return "expected a slot of each tile at least, found program " +
           std::to_string(slots.program) + " and step " +
           std::to_string(slots.step);
  if (plan.sumsFirst && slots.step < 2)
    return "expected two slots of a step's tiles at least beside sums_first, "
           "where the next tile is awaited before this one is released, "
           "found " +
           std::to_string(slots.step);
  bool converts = plan.find("convert") != nullptr;
  if (slots.narrow < 0 || (slots.narrow && !converts))
    return "expected slots of tiles that are widened, narrow, where there is a "
           "partition 'convert', found " +
           std::to_string(slots.narrow);
  if (any_of(slots.scores, [](int64_t number) { return number < 0; }))
    return "expected slots of scores of at least 0";
  if (slots.exchange < 0)
    return "expected slots of exchanged tiles of at least 0, found " +
           std::to_string(slots.exchange);
  if (!plan.dots.empty() && !plan.isSpecialized())
    return "expected dots of a loop where warps are specialized, found " +
           std::to_string(plan.dots.size()) + " beside one partition";
  if (std::string why = ::whyInvalid(plan.dots); !why.empty())
    return why;
  if (plan.cluster < 1 || plan.cluster > kMaxCluster ||
      !isPowerOf2_64(plan.cluster))
    return "expected a cluster of 1, 2, 4 or 8 blocks, found " +
           std::to_string(plan.cluster);
  if (plan.dynamic < 0 || plan.dynamic > kMostAhead)
    return "expected 0 to " + std::to_string(kMostAhead) +
           " programs that a block takes ahead, found " +
           std::to_string(plan.dynamic);
  if (plan.dynamic && (!plan.isSpecialized() || !plan.persistent ||
                       plan.cluster > 1 || plan.slots.narrow))
    return "expected programs to be taken in turn by persistent blocks of "
           "specialized warps, without clusters and without one that converts, "
           "found others";
  return "";
}
