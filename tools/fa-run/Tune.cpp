//===- Tune.cpp - the fastest options for a problem, measured -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Launch/GpuDevice.h"
#include "fa/Plan/RankPlans.h"
#include "fa/Runtime/ToError.h"
#include "fa/Runtime/Tune.h"
#include "fa/Target/Bundle.h"
#include "fa/Target/HostInfo.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::run;

/// What a candidate asks of plans.
static std::string describe(const PlanConstraints &asked) {
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

/// Compiles, runs, checks and measures candidates: tiles, then, of the fastest
/// tile, the plans that differ from its first.
class Search {
public:
  Search(Job &job, const Options &given, const RunTarget &place,
         AttentionReference reference)
      : job(job), options(given), place(place), reference(std::move(reference)),
        cache(openCache(given)) {
    options.bench = true;
  }

  /// Which of `candidates` is the fastest.
  Expected<size_t> run(const Machine &machine) {
    candidates = rankTiles(machine, options.compile.asked);
    results.resize(candidates.size());
    auto fastest = measureFrom(0, std::nullopt);
    if (!fastest || machine.isHost() || options.compile.asked.rank)
      return fastest;
    size_t begin = candidates.size();
    for (int64_t rank = 1; rank < kMostPlans; ++rank) {
      candidates.push_back(candidates[*fastest]);
      candidates.back().rank = rank;
    }
    results.resize(candidates.size());
    return measureFrom(begin, *fastest);
  }

  const PlanConstraints &candidate(size_t n) const { return candidates[n]; }
  /// How many have code of their own, right or wrong.
  size_t countPrograms() const { return seen.size(); }
  double msOf(size_t n) const { return results[n].ms; }
  const std::string &device() const { return deviceName; }

  /// The plans of the kernels that candidate `n` runs.
  Expected<std::string> plansOf(size_t n) {
    CompileOptions how = optionsOf(n);
    PlannedLaunch launch{job.arguments, place.machine, place.residentBlocks};
    auto chosen = chooseKernels(cache, *job.module, job.entry, launch, how);
    if (!chosen)
      return chosen.takeError();
    mlir::OwningOpRef<mlir::ModuleOp> copy = job.module->clone();
    return emit(*copy, job.entry, how, Emit::Plan);
  }

private:
  /// The fastest of those from `begin` on and of `best`, which was measured.
  Expected<size_t> measureFrom(size_t begin, std::optional<size_t> best) {
    SmallVector<size_t> numbers;
    if (best)
      numbers.push_back(*best);
    size_t known = numbers.size();
    append_range(numbers, seq(begin, candidates.size()));
    Progress progress(numbers.size() - known);
    auto fastest = findFastest(numbers.size(),
                               [&](size_t at) -> Expected<CandidateResult> {
                                 size_t n = numbers[at];
                                 if (at < known)
                                   return results[n];
                                 std::string what = describe(candidates[n]);
                                 progress.begin(at - known, what);
                                 results[n] = measure(n);
                                 progress.end(at - known, what, results[n]);
                                 return results[n];
                               });
    progress.finish();
    if (!fastest)
      return fastest;
    return numbers[*fastest];
  }

  CompileOptions optionsOf(size_t n) const {
    CompileOptions how = options.compile;
    how.arch = place.arch;
    how.asked = candidates[n];
    return how;
  }

  CandidateResult measure(size_t n) {
    CompileOptions how = optionsOf(n);
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
  std::vector<PlanConstraints> candidates;
  std::vector<CandidateResult> results;
  std::string deviceName;
};

} // namespace

/// What is wrong with asking for a search.
static Error checkOptions(const Job &job, const Options &options,
                          const RunTarget &place) {
  if (!job.problem)
    return createStringError(
        "--tune: expected --attention, found " +
        Twine(options.file.empty() ? "another program" : "a file"));
  if (job.problem->backward)
    return createStringError("--tune: expected a forward, whose options it "
                             "searches, found 'backward'");
  if (place.target == "emulator")
    return createStringError("--tune: expected a card or the CPU, found the "
                             "emulator, whose time says nothing");
  if (!options.compile.plans.empty())
    return createStringError("expected either --tune or --plan, found both");
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

/// The machine that a search is for.
static Expected<Machine> machineOf(StringRef arch) {
  if (isNvidiaArch(arch) || isAmdArch(arch))
    return findGpuMachine(arch);
  auto host = getHostInfo(arch);
  if (!host)
    return host.takeError();
  return hostMachine({host->vectorBits, host->vectorRegisters, host->pairDots,
                      host->tileDots});
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
  auto machine = machineOf(place.arch);
  if (!machine)
    return fail(machine.takeError(), BadInput);
  auto reference = evaluateReference(job);
  if (!reference)
    return fail(reference.takeError(), BadInput);
  Search search(job, options, place, std::move(*reference));
  auto fastest = search.run(*machine);
  if (!fastest)
    return fail(fastest.takeError(), CheckFailed);
  auto plans = search.plansOf(*fastest);
  if (!plans)
    return fail(plans.takeError(), CheckFailed);
  TuningEntry entry{search.candidate(*fastest), std::move(*plans),
                    search.msOf(*fastest), search.msOf(0), search.device()};
  std::string found = describe(entry.asked);
  entry.asked.rank = 0; // the plans say it
  outs() << "program  " << job.program << "\n"
         << "target   " << key->arch << ", " << entry.device << ", assembler "
         << key->assembler << "\n"
         << "fastest  " << found
         << format(", %.4f ms (the rules %.4f ms)", entry.ms, entry.rulesMs)
         << ", of " << search.countPrograms() << " programs\n";
  for (StringRef line : split(StringRef(entry.plans).rtrim('\n'), '\n'))
    outs() << "plan     " << line << "\n";
  if (search.countPrograms() < 2) {
    outs() << "table    unchanged: there is no choice for this problem\n";
    return Success;
  }
  if (Error error = writeEntry(options, *key, std::move(entry)))
    return fail(std::move(error), BadInput);
  outs() << "table    " << options.tuning << ": " << key->problem << "\n";
  return Success;
}

int fa::run::tune(Job &job, const Options &options) {
  auto place =
      findRunTarget(options.target, options.compile.hostCpu, options.threads);
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
