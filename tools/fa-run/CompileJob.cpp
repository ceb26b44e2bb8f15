//===- CompileJob.cpp - a job's kernels for a place -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Plan/Machine.h"
#include "fa/Runtime/AttentionArguments.h"
#include "fa/Runtime/Tuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

static void note(const std::string &message) {
  errs() << "fa-run: note: " << message << "\n";
}

DiskCache fa::run::openCache(const Options &options) {
  CacheOptions caching;
  caching.directory = options.cache;
  caching.report = note;
  return DiskCache(std::move(caching));
}

Expected<CachedArtifact>
fa::run::compileForLaunch(DiskCache &cache, const RunTarget &place, Job &job,
                          CompileOptions &how, const Tuning *tuning) {
  KernelsChosen chosen;
  if (job.problem) {
    PlannedLaunch launch{job.arguments, place.machine, place.residentBlocks};
    auto found =
        tuning ? tuning->choose(*job.problem, cache, *job.module, job.entry,
                                launch, how)
               : chooseKernels(cache, *job.module, job.entry, launch, how);
    if (!found)
      return found.takeError();
    chosen = std::move(*found);
  }
  mlir::OwningOpRef<mlir::ModuleOp> copy = job.module->clone();
  auto compiled =
      compileCached(cache, *copy, job.entry, how, std::move(chosen.planned));
  if (compiled)
    compiled->addChoosing(chosen.milliseconds);
  return compiled;
}

/// The user's table, for compilations with `how`; nothing: there is none.
static Expected<std::optional<Tuning>>
openTable(const Options &options, const Job &job, const CompileOptions &how) {
  if (options.tuning.empty() || !job.problem)
    return std::nullopt;
  auto tuning = Tuning::open(options.tuning, how, note);
  if (!tuning)
    return tuning.takeError();
  return std::move(*tuning);
}

/// The plans that a table chose, in a line.
static std::string describeTuned(const CompileOptions &how) {
  if (how.tuning.empty())
    return "";
  return join(split(StringRef(how.plans).rtrim('\n'), '\n'), "; ");
}

Expected<CachedArtifact> fa::run::compileFor(RunTarget &place, Job &job,
                                             const Options &options) {
  DiskCache cache = openCache(options);
  auto compileOn = [&]() -> Expected<CachedArtifact> {
    CompileOptions how = options.compile;
    how.arch = place.arch;
    if (!how.dies)
      how.dies = place.dies;
    how.emulate = place.target == "emulator";
    auto tuning = openTable(options, job, how);
    if (!tuning)
      return tuning.takeError();
    auto compiled =
        compileForLaunch(cache, place, job, how, *tuning ? &**tuning : nullptr);
    job.tuned = describeTuned(how);
    return compiled;
  };
  auto artifact = compileOn();
  if (!artifact) {
    Error error = artifact.takeError();
    if (giveUpRaised(job, options, error))
      artifact = compileOn();
    else
      artifact = std::move(error);
  }
  if (artifact || !options.target.empty() || place.target == "cpu")
    return artifact;
  note("runs on the CPU: " + toString(artifact.takeError()));
  auto cpu = findRunTarget("cpu", options.compile.hostCpu, options.threads);
  if (!cpu)
    return cpu.takeError();
  place = *cpu;
  return compileOn();
}

/// A launch of `problem` on the largest card of `how.arch`, or on the host.
static Expected<PlannedLaunch> describeLaunch(const AttentionProblem &problem,
                                              const CompileOptions &how) {
  PlannedLaunch launch{describeArguments(problem), kHost, 1};
  if (!isNvidiaArch(how.arch) && !isAmdArch(how.arch))
    return launch;
  auto machine = findGpuMachine(how.arch);
  if (!machine)
    return machine.takeError();
  launch.machine = {machine->processors, machine->costs};
  launch.residentBlocks = kMaxResidentBlocks;
  return launch;
}

Expected<PlannedProgram> fa::run::planLaunch(Job &job, CompileOptions &how) {
  auto launch = describeLaunch(*job.problem, how);
  if (!launch)
    return launch.takeError();
  // What is shown is compiled anew.
  DiskCache none{CacheOptions()};
  auto chosen = chooseKernels(none, *job.module, job.entry, *launch, how);
  if (!chosen)
    return chosen.takeError();
  return std::move(*chosen->planned);
}

Expected<Artifact> fa::run::compileToShow(Job &job, const Options &options,
                                          CompileOptions how) {
  if (!options.launch) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = job.module->clone();
    return compile(*copy, job.entry, how);
  }
  auto planned = planLaunch(job, how);
  if (!planned)
    return planned.takeError();
  return compilePlanned(*planned->module, std::move(planned->kernels), how);
}
