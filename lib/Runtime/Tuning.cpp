//===- Tuning.cpp - a tuning table as a compiler uses it ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/Tuning.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa;

Expected<Tuning> Tuning::open(StringRef path, const CompileOptions &options,
                              Report report) {
  auto table = TuningTable::read(path);
  if (!table)
    return table.takeError();
  auto arch = tuningArch(options.arch);
  if (!arch)
    return arch.takeError();
  auto assembler = assemblerVersion(options);
  if (!assembler)
    return assembler.takeError();
  auto known = table->assemblersOf(*arch);
  if (!known.empty() && !is_contained(known, *assembler))
    report((path + ": nothing of it is used: for " + *arch +
            " it was measured with assembler " + join(known, " and ") +
            ", found " + *assembler)
               .str());
  Tuning tuning;
  tuning.table = std::move(*table);
  tuning.compiler = {std::move(*arch), std::move(*assembler), ""};
  tuning.path = path.str();
  tuning.report = std::move(report);
  return tuning;
}

const TuningEntry *Tuning::apply(const AttentionProblem &problem,
                                 ArrayRef<LaunchArgument> launch,
                                 CompileOptions &options) const {
  auto name = tuningClass(problem, launch);
  if (!name || options.asked != PlanConstraints() || !options.plans.empty())
    return nullptr;
  TuningKey key = compiler;
  key.problem = std::move(*name);
  const TuningEntry *entry = table.find(key);
  if (!entry)
    return nullptr;
  options.asked = entry->asked;
  options.plans = entry->plans;
  options.tuning = entry->digest(key);
  return entry;
}

Expected<KernelsChosen> Tuning::choose(const AttentionProblem &problem,
                                       DiskCache &cache, mlir::ModuleOp module,
                                       StringRef entry,
                                       const PlannedLaunch &launch,
                                       CompileOptions &options) const {
  CompileOptions tuned = options;
  if (apply(problem, launch.arguments, tuned)) {
    auto chosen = chooseKernels(cache, module, entry, launch, tuned);
    if (chosen || chosen.errorIsA<CancelledError>()) {
      options = std::move(tuned);
      return chosen;
    }
    report(path + ": its plan for " + *tuningClass(problem, launch.arguments) +
           " is not used: " + toString(chosen.takeError()));
  }
  return chooseKernels(cache, module, entry, launch, options);
}
