//===- ChooseKernels.cpp - what a launch needs of a program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ChooseKernels.h"

#include "fa/Plan/Machine.h"
#include "fa/Target/CompileKernel.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace llvm;
using namespace fa;

char RefusedLaunchError::ID = 0;

/// The program's kernels as an artifact without code, which is what the cache
/// keeps; `planned` becomes what planning left.
static Expected<Artifact> planAll(mlir::ModuleOp module, StringRef entry,
                                  const CompileOptions &options,
                                  std::optional<PlannedProgram> &planned) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  auto kernels = planKernels(*copy, entry, options);
  if (!kernels)
    return kernels.takeError();
  planned = PlannedProgram{std::move(copy), *kernels};
  Artifact artifact;
  artifact.target = isNvidiaArch(options.arch) ? "cuda"
                    : isAmdArch(options.arch)  ? "hip"
                                               : "cpu";
  artifact.arch = options.arch;
  if (artifact.target != "cpu") {
    auto machine = findGpuMachine(options.arch);
    if (!machine)
      return machine.takeError();
    artifact.costs = machine->costs;
  }
  artifact.kernels = std::move(*kernels);
  return artifact;
}

/// What `plan` gives, which the cache keeps in a file of this `kind`.
static Expected<CachedArtifact>
findPlan(DiskCache &cache, mlir::ModuleOp module, StringRef entry,
         const CompileOptions &options, StringRef kind,
         function_ref<Expected<Artifact>()> plan) {
  auto key = makeCacheKey(module, entry, options);
  if (key && cache.isOn() && !options.emulate) {
    key->text = (kind + "\n" + key->text).str();
    return cache.get(*key, plan);
  }
  consumeError(key.takeError()); // the compilation says what is wrong
  auto artifact = plan();
  if (!artifact)
    return artifact.takeError();
  return CachedArtifact{std::move(*artifact), CacheOutcome::Off};
}

Expected<KernelsChosen>
fa::chooseKernels(DiskCache &cache, mlir::ModuleOp module, StringRef entry,
                  const PlannedLaunch &launch, CompileOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  CompileOptions how = options;
  how.kernels.clear();
  std::optional<PlannedProgram> planned;
  auto plan = findPlan(cache, module, entry, how, "kernels without code",
                       [&] { return planAll(module, entry, how, planned); });
  if (!plan)
    return plan.takeError();
  auto names = findCandidates(plan->artifact.kernels, launch);
  if (!names)
    return make_error<RefusedLaunchError>(names.takeFailure());
  std::string slower =
      explainSlower(plan->artifact.kernels, names->back(), launch);
  options.kernels = std::move(*names);
  std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  return KernelsChosen{time.count(), std::move(slower), std::move(planned)};
}

Expected<ListedKernels> fa::listKernels(DiskCache &cache, mlir::ModuleOp module,
                                        StringRef entry,
                                        const CompileOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  StringRef separator = StringLiteral::withInnerNUL("\0"); // in no text
  auto plan = [&]() -> Expected<Artifact> {
    std::optional<PlannedProgram> planned;
    auto artifact = planAll(module, entry, options, planned);
    if (artifact)
      artifact->object =
          join(printKernels(*planned->module, planned->kernels), separator);
    return artifact;
  };
  auto found = findPlan(cache, module, entry, options,
                        "kernels without code, at S7", plan);
  if (!found)
    return found.takeError();
  Artifact &artifact = found->artifact;
  SmallVector<StringRef> texts;
  StringRef(artifact.object).split(texts, separator);
  if (texts.size() != artifact.kernels.size())
    return createStringError("expected texts of " +
                             Twine(artifact.kernels.size()) +
                             " kernels, found " + Twine(texts.size()));
  ListedKernels listed{std::move(*found), {texts.begin(), texts.end()}};
  listed.plan.artifact.object.clear();
  std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  listed.plan.addChoosing(time.count());
  return listed;
}
