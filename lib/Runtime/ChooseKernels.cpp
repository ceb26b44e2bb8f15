//===- ChooseKernels.cpp - what a launch needs of a program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ChooseKernels.h"

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
  artifact.kernels = std::move(*kernels);
  return artifact;
}

Expected<KernelsChosen>
fa::chooseKernels(DiskCache &cache, mlir::ModuleOp module, StringRef entry,
                  const PlannedLaunch &launch, CompileOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  CompileOptions how = options;
  how.kernels.clear();
  std::optional<PlannedProgram> planned;
  auto plan = [&]() -> Expected<CachedArtifact> {
    auto planNow = [&] { return planAll(module, entry, how, planned); };
    auto key = makeCacheKey(module, entry, how);
    if (key && cache.isOn() && !how.emulate) {
      key->text = "kernels without code\n" + key->text;
      return cache.get(*key, planNow);
    }
    consumeError(key.takeError()); // the compilation says what is wrong
    auto artifact = planNow();
    if (!artifact)
      return artifact.takeError();
    return CachedArtifact{std::move(*artifact), CacheOutcome::Off};
  }();
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
