//===- Tune.cpp - the fastest options for a problem, measured -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Launch/GpuDevice.h"
#include "fa/Runtime/ToError.h"
#include "fa/Runtime/Tune.h"
#include "fa/Target/Bundle.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::run;

std::string fa::run::describe(const PlanConstraints &asked) {
  std::string text = printConstraints(asked);
  return text.empty() ? "the rules" : text;
}

namespace {

/// A bar on a terminal; elsewhere a line for each candidate.
class Progress {
public:
  explicit Progress(size_t count) : count(count) {}

  void begin(size_t n, StringRef what) const {
    if (!isTerminal)
      return;
    size_t done = width * n / count;
    errs() << "\r\x1b[K[" << std::string(done, '#')
           << std::string(width - done, '.') << "] " << n + 1 << "/" << count
           << " " << what;
    errs().flush();
  }
  void end(size_t n, StringRef what, const CandidateResult &result) const {
    if (isTerminal)
      return;
    errs() << n + 1 << "/" << count << " " << what << ": ";
    if (result.reason.empty())
      errs() << format("%.4f ms", result.ms) << "\n";
    else
      errs() << result.reason << "\n";
  }
  void finish() const {
    if (isTerminal)
      errs() << "\r\x1b[K";
  }

private:
  static constexpr size_t width = 30;
  size_t count;
  bool isTerminal = sys::Process::StandardErrIsDisplayed();
};

/// Compiles, runs, checks and measures candidates.
class Bench {
public:
  Bench(Job &job, const Options &given, const RunTarget &place,
        std::vector<PlanConstraints> candidates, AttentionReference reference)
      : candidates(std::move(candidates)), job(job), options(given),
        place(place), reference(std::move(reference)), cache(openCache(given)),
        results(this->candidates.size()) {
    options.bench = true;
  }

  Expected<size_t> run() {
    Progress progress(candidates.size());
    auto fastest = findFastest(
        candidates.size(), [&](size_t n) -> Expected<CandidateResult> {
          progress.begin(n, describe(candidates[n]));
          results[n] = measure(n);
          progress.end(n, describe(candidates[n]), results[n]);
          return results[n];
        });
    progress.finish();
    return fastest;
  }

  /// How many have code of their own, right or wrong.
  size_t countPrograms() const { return seen.size(); }
  double msOf(size_t n) const { return results[n].ms; }
  const std::string &device() const { return deviceName; }

  const std::vector<PlanConstraints> candidates;

private:
  CandidateResult measure(size_t n) {
    CompileOptions how = options.compile;
    how.arch = place.arch;
    how.asked = candidates[n];
    auto compiled = compileForLaunch(cache, place, job, how);
    if (!compiled)
      return {0, firstLine(compiled.takeError())};
    auto [same, isNew] = seen.try_emplace(codeOf(compiled->artifact), n);
    if (!isNew)
      return {0, "the same code as " + describe(candidates[same->second])};
    // What the candidate before it wrote does not count.
    for (auto &[name, tensor] : job.outputs)
      tensor.fill(std::numeric_limits<double>::quiet_NaN());
    auto execution =
        execute(place, std::move(compiled->artifact), job.arguments, options);
    if (!execution)
      return {0, firstLine(execution.takeError())};
    deviceName = execution->device;
    for (const OutputCheck &check : compare(job, reference))
      if (!check.pass)
        return {0, "wrong: " + check.name + " does not pass the check"};
    return {execution->timing.median, ""};
  }

  static std::string firstLine(Error error) {
    return StringRef(toString(std::move(error))).split('\n').first.str();
  }

  Job &job;
  Options options;
  RunTarget place;
  AttentionReference reference;
  DiskCache cache;
  StringMap<size_t> seen; ///< code, and whose it is
  std::vector<CandidateResult> results;
  std::string deviceName;
};

} // namespace

/// What is wrong with asking for a search.
static Error checkOptions(const Job &job, const Options &options,
                          const RunTarget &place) {
  if (!job.problem)
    return createStringError("--tune: expected --attention, found a file");
  if (place.target == "emulator")
    return createStringError("--tune: expected a card or the CPU, found the "
                             "emulator, whose time says nothing");
  if (options.compile.asked != PlanConstraints())
    return createStringError("--tune: expected no options that it searches, "
                             "found --" +
                             printConstraints(options.compile.asked));
  if (options.tuning.empty())
    return createStringError("--tune: expected --tuning=FILE to write, found "
                             "none");
  return Error::success();
}

static Expected<TuningKey> keyOf(const Job &job, const Options &options,
                                 const RunTarget &place) {
  CompileOptions how = options.compile;
  how.arch = place.arch;
  auto arch = tuningArch(how.arch);
  if (!arch)
    return arch.takeError();
  auto assembler = assemblerVersion(how);
  if (!assembler)
    return assembler.takeError();
  auto problem = tuningClass(*job.problem, job.arguments);
  if (!problem)
    return createStringError("--tune: expected rows as of dense tensors");
  return TuningKey{std::move(*arch), std::move(*assembler),
                   std::move(*problem)};
}

/// The table as it is now: another process may have written it meanwhile.
static Expected<TuningTable> readTable(const Options &options) {
  return sys::fs::exists(options.tuning) ? TuningTable::read(options.tuning)
                                         : TuningTable();
}

static Error writeEntry(const Options &options, const TuningKey &key,
                        TuningEntry entry) {
  auto table = readTable(options);
  if (!table)
    return table.takeError();
  table->set(key, std::move(entry));
  return table->write(options.tuning);
}

static int tuneOn(const RunTarget &place, Job &job, const Options &options) {
  auto key = keyOf(job, options, place);
  if (!key)
    return fail(key.takeError(), BadInput);
  // What is wrong with the table is said before a minute of measurements.
  if (auto table = readTable(options); !table)
    return fail(table.takeError(), BadInput);
  auto candidates = listCandidates(place.arch);
  if (!candidates)
    return fail(candidates.takeError(), BadInput);
  auto reference = evaluateReference(job);
  if (!reference)
    return fail(reference.takeError(), BadInput);
  Bench bench(job, options, place, std::move(*candidates),
              std::move(*reference));
  auto fastest = bench.run();
  if (!fastest)
    return fail(fastest.takeError(), CheckFailed);
  TuningEntry entry{bench.candidates[*fastest], bench.msOf(*fastest),
                    bench.msOf(0), bench.device()};
  outs() << "program  " << job.program << "\n"
         << "target   " << key->arch << ", " << entry.device << ", assembler "
         << key->assembler << "\n"
         << "fastest  " << describe(entry.asked)
         << format(", %.4f ms (the rules %.4f ms)", entry.ms, entry.rulesMs)
         << ", of " << bench.countPrograms() << " programs\n";
  if (bench.countPrograms() < 2) {
    outs() << "table    unchanged: there is no choice for this problem\n";
    return Success;
  }
  if (Error error = writeEntry(options, *key, std::move(entry)))
    return fail(std::move(error), BadInput);
  outs() << "table    " << options.tuning << ": " << key->problem << "\n";
  return Success;
}

int fa::run::tune(Job &job, const Options &options) {
  auto place = findRunTarget(options.target, options.compile.hostCpu);
  if (!place)
    return fail(place.takeError(), DeviceFailed);
  if (Error error = checkOptions(job, options, *place))
    return fail(std::move(error), BadInput);
  std::shared_ptr<GpuDevice> card;
  if (place->name.driver) { // keeps the card's context between candidates
    auto device =
        toExpected(GpuDevice::open(*place->name.driver, place->name.card));
    if (!device)
      return fail(device.takeError(), DeviceFailed);
    card = std::move(*device);
  }
  return tuneOn(*place, job, options);
}
