//===- PlanStore.cpp - plans, each made once ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/PlanStore.h"

#include "fa/Plan/Machine.h"

using namespace llvm;
using namespace fa;

PlanStore::PlanStore(Options given)
    : options(std::move(given)), cache(options.cache), kernels(cache) {
  if (options.card && options.mode == CompileMode::Background)
    background.emplace();
}

static Error load(Artifact artifact, const PlanStore::Options &options,
                  LoadedPlan &plan) {
  if (options.card) {
    auto loaded = GpuPlan::load(std::move(artifact), options.card);
    if (!loaded)
      return loaded.takeError();
    plan.card = std::move(*loaded);
    return Error::success();
  }
  if (options.compile.emulate) {
    auto loaded = EmulatorPlan::load(std::move(artifact), options.host,
                                     options.emulation);
    if (!loaded)
      return loaded.takeError();
    plan.emulator = std::move(*loaded);
    return Error::success();
  }
  auto loaded = HostPlan::load(std::move(artifact), options.host);
  if (!loaded)
    return loaded.takeError();
  plan.host = std::move(*loaded);
  return Error::success();
}

Expected<PlanStore::Plan> PlanStore::make(mlir::ModuleOp module,
                                          StringRef entry,
                                          const CompileOptions &how,
                                          KernelsChosen chosen) {
  auto compiled =
      compileCached(cache, module, entry, how, std::move(chosen.planned));
  if (!compiled)
    return compiled.takeError();
  compiled->addChoosing(chosen.milliseconds);
  if (options.compile.progress && !options.compile.progress("load"))
    return make_error<CancelledError>();
  auto plan = std::make_shared<LoadedPlan>();
  plan->cache = compiled->outcome;
  if (Error error = load(std::move(compiled->artifact), options, *plan))
    return make_error<LoadError>(std::move(error));
  return plan;
}

Expected<PlanStore::Plan> PlanStore::makeLazy(mlir::ModuleOp module,
                                              StringRef entry,
                                              const CompileOptions &how) {
  auto listed = listKernels(cache, module, entry, how);
  if (!listed)
    return listed.takeError();
  auto plan = std::make_shared<LoadedPlan>();
  plan->cache = listed->plan.outcome;
  plan->card = GpuPlan::create(std::move(listed->plan.artifact), options.card);
  std::vector<std::shared_ptr<StoredKernel>> stored;
  for (auto [info, text] : zip(plan->card->kernels(), listed->texts))
    stored.push_back(kernels.find(info, std::move(text), how));
  plan->lazy = std::make_unique<LazyKernels>(
      *plan->card, std::move(stored), how.progress,
      background ? &*background : nullptr);
  return plan;
}

/// What runs the launches.
static Expected<LaunchMachine> machineOf(const PlanStore::Options &options) {
  if (options.card)
    return launchMachineOf(*options.card);
  if (!options.compile.emulate)
    return LaunchMachine::host(options.host->numThreads());
  auto info = findGpuMachine(options.compile.arch);
  if (!info)
    return info.takeError();
  return LaunchMachine{EmulatorPlan::numProcessors, info->costs};
}

std::shared_ptr<PlanStore::Slot> PlanStore::findSlot(StringRef key) {
  std::lock_guard lock(mutex);
  if (auto it = slots.find(key); it != slots.end())
    return it->second;
  // Programs that nobody has or waits for any more make room.
  SmallVector<StringRef> unused;
  for (auto &entry : slots)
    if (entry.second.use_count() == 1 && entry.second->plan.expired())
      unused.push_back(entry.first());
  for (StringRef name : unused)
    slots.erase(name);
  return slots[key] = std::make_shared<Slot>();
}

Expected<PlanStore::Plan>
PlanStore::prepare(mlir::ModuleOp module, StringRef entry,
                   std::optional<std::vector<LaunchArgument>> launch,
                   const AttentionProblem *problem) {
  CompileOptions how = options.compile;
  KernelsChosen chosen;
  bool isLazy = !launch && options.card && options.mode != CompileMode::Eager;
  if (launch) {
    auto machine = machineOf(options);
    if (!machine)
      return machine.takeError();
    PlannedLaunch planned{std::move(*launch), *machine, kMaxResidentBlocks};
    auto found = problem && options.tuning
                     ? options.tuning->choose(*problem, cache, module, entry,
                                              planned, how)
                     : chooseKernels(cache, module, entry, planned, how);
    if (!found)
      return found.takeError();
    chosen = std::move(*found);
    if (options.note && !chosen.slower.empty())
      options.note(chosen.slower);
  }
  auto makeNow = [&] {
    return isLazy ? makeLazy(module, entry, how)
                  : make(module, entry, how, std::move(chosen));
  };
  auto key = makeCacheKey(module, entry, how);
  if (!key) { // and what is wrong with the options, the compilation says
    consumeError(key.takeError());
    return makeNow();
  }
  std::shared_ptr<Slot> slot = findSlot(key->hash());
  std::lock_guard lock(slot->mutex);
  if (Plan plan = slot->plan.lock())
    return plan;
  auto plan = makeNow();
  if (plan)
    slot->plan = *plan;
  return plan;
}
