//===- Options.cpp - the command line of fa-run ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

namespace {

/// The options. They are built after LLVM's own have left the registry: the
/// command line is fa-run's alone, and some of the names are the same.
struct CommandLine {
  cl::OptionCategory category{"fa-run options"};
  cl::opt<std::string> file{cl::Positional, cl::desc("[FILE.mlir]"),
                            cl::cat(category)};
  cl::opt<std::string> entry{"entry", cl::value_desc("name"),
                             cl::desc("program of the file to run"),
                             cl::cat(category)};
  cl::opt<std::string> attention{
      "attention", cl::value_desc("SPEC"),
      cl::desc("an attention problem: key[=value] separated by spaces"),
      cl::cat(category)};
  cl::opt<std::string> q{"q", cl::value_desc("F.npy"), cl::desc("queries"),
                         cl::cat(category)};
  cl::opt<std::string> k{"k", cl::value_desc("F.npy"), cl::desc("keys"),
                         cl::cat(category)};
  cl::opt<std::string> v{"v", cl::value_desc("F.npy"), cl::desc("values"),
                         cl::cat(category)};
  cl::opt<std::string> bias{"bias", cl::value_desc("F.npy"),
                            cl::desc("additive bias"), cl::cat(category)};
  cl::opt<std::string> slopes{"slopes", cl::value_desc("F.npy"),
                              cl::desc("ALiBi slopes, f32 [hq]"),
                              cl::cat(category)};
  cl::opt<std::string> lengths{"lengths", cl::value_desc("F.npy"),
                               cl::desc("valid keys, int32 [b]"),
                               cl::cat(category)};
  cl::opt<std::string> documents{
      "documents", cl::value_desc("F.npy"),
      cl::desc("ascending document boundaries, int32 [b, n+1]"),
      cl::cat(category)};
  cl::opt<std::string> sink{"sink", cl::value_desc("F.npy"),
                            cl::desc("one more score a head, f32 [hq]"),
                            cl::cat(category)};
  cl::opt<bool> assumeNoEmptyRows{
      "assume-no-empty-rows",
      cl::desc("every row keeps a key: finite sentinels are masks"),
      cl::cat(category)};
  cl::opt<bool> allowNoMax{
      "allow-no-max",
      cl::desc("exp(x) divided by its sum is a softmax as well"),
      cl::cat(category)};
  cl::list<std::string> in{"in", cl::value_desc("F.npy|SIZES|number"),
                           cl::desc("an input, in argument order"),
                           cl::cat(category)};
  cl::list<std::string> out{"out", cl::value_desc("F.npy"),
                            cl::desc("an output, in result order"),
                            cl::cat(category)};
  cl::opt<std::string> lse{"lse", cl::value_desc("F.npy"),
                           cl::desc("write the log-sum-exp"),
                           cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("where to run: cpu, cuda, cuda:N, hip, hip:N or emulator:ARCH "
               "(default: the best present)"),
      cl::cat(category)};
  cl::opt<std::string> arch{
      "arch", cl::init("host"),
      cl::desc("what --emit is for: host, a CPU that LLVM knows, sm_80, "
               "sm_86, sm_89, sm_90, sm_90a, gfx90a, gfx942 or gfx950; several "
               "with commas between for a bundle"),
      cl::cat(category)};
  cl::opt<std::string> hostCpu{
      "host-cpu", cl::init("host"), cl::value_desc("NAME"),
      cl::desc("the CPU that code which runs on this machine is for, the "
               "emulator's, too: a CPU that LLVM knows, such as x86-64-v3, "
               "whose features this machine has (default: this one)"),
      cl::cat(category)};
  cl::opt<unsigned> threads{"threads", cl::init(0),
                            cl::desc("worker threads (0: all cores)"),
                            cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::init(0), cl::desc("of random inputs"),
                         cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::value_desc("form"),
      cl::desc(
          "tile, kernel, plan, tgpu, llvm, asm, object, ptx, cubin, hsaco, "
          "report, cache-key or bundle instead of a run"),
      cl::cat(category)};
  cl::opt<bool> launch{
      "launch",
      cl::desc("with --emit of code: the kernels that a launch of the SPEC's "
               "sizes takes on the largest card of --arch, and no others"),
      cl::cat(category)};
  cl::list<std::string> kernels{
      "kernels", cl::CommaSeparated, cl::value_desc("NAME,..."),
      cl::desc("with --emit of code: these kernels and no others"),
      cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("F"),
      cl::desc("where --emit writes (default: standard output; a "
               "bundle's folder)"),
      cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare with the float64 reference"),
                      cl::cat(category)};
  cl::opt<bool> bench{"bench", cl::desc("measure over several runs"),
                      cl::cat(category)};
  cl::opt<bool> counters{
      "counters",
      cl::desc("in the emulator: count memory requests and matrix products"),
      cl::cat(category)};
  cl::opt<bool> listTargets{"list-targets", cl::desc("say what can be run on"),
                            cl::cat(category)};
  cl::opt<std::string> json{"json", cl::ValueOptional, cl::value_desc("F"),
                            cl::desc("report as JSON"), cl::cat(category)};
  /// What is asked of plans, an option a word.
  std::vector<std::unique_ptr<cl::opt<std::string>>> asked = [this] {
    std::vector<std::unique_ptr<cl::opt<std::string>>> options;
    for (const ConstraintWord &word : constraintWords())
      options.push_back(std::make_unique<cl::opt<std::string>>(
          StringRef(word.key), cl::value_desc(word.value),
          cl::desc(word.meaning), cl::cat(category)));
    return options;
  }();
  cl::opt<int64_t> dies{
      "dies", cl::init(0),
      cl::desc("dies of an AMD card (0: the card's, or of the "
               "largest of the architecture)"),
      cl::cat(category)};
  cl::opt<std::string> plan{
      "plan", cl::value_desc("F"),
      cl::desc(
          "schedules of kernels of a GPU that are given, not chosen: lines "
          "as --emit=plan prints them"),
      cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("path|none"),
      cl::desc("NVIDIA's assembler (default: the one on PATH; none: the "
               "driver's)"),
      cl::cat(category)};
  cl::opt<std::string> mutate{
      "fa-mutate", cl::value_desc("fault"),
      cl::desc("plant a fault in a GPU program, to see it found"),
      cl::cat(category)};
  cl::opt<bool> tune{
      "tune",
      cl::desc("measure which plans are the fastest "
               "for the problem, and write them into the table of --tuning"),
      cl::cat(category)};
  cl::opt<std::string> tuning{
      "tuning", cl::value_desc("F|off"),
      cl::desc("a tuning table, which --tune writes and runs read (default: "
               "tuning.json in the folder of --cache)"),
      cl::cat(category)};
  cl::opt<std::string> cache{
      "cache", cl::value_desc("DIR|off"),
      cl::desc("where compiled programs are kept (default: flashtile in "
               "$XDG_CACHE_HOME or ~/.cache)"),
      cl::cat(category)};
};

} // namespace

static void forgetRegisteredOptions() {
  SmallVector<cl::Option *> registered;
  for (auto &entry : cl::getRegisteredOptions())
    registered.push_back(entry.second);
  for (cl::Option *option : registered)
    option->removeArgument();
}

/// What the options of `line` ask of plans.
static Expected<PlanConstraints> readConstraints(const CommandLine &line) {
  std::string words;
  for (const auto &option : line.asked)
    if (!option->empty())
      words += " " + (option->ArgStr + "=" + option->getValue()).str();
  auto asked = parseConstraints(words);
  if (!asked)
    return asked;
  if (std::string why = whyInvalid(*asked); !why.empty())
    return createStringError("--" + why);
  return asked;
}

/// --arch says what a form is for, --host-cpu what a run's code is for.
static Error checkArch(const Options &options) {
  if (options.compile.arch != "host" &&
      (options.emit.empty() || !options.target.empty()))
    return createStringError(
        "--arch says what --emit is for and goes with no run and no --target, "
        "found '" +
        options.compile.arch +
        "'; the CPU that code which runs is for is --host-cpu");
  if (options.compile.hostCpu != "host" && !options.emit.empty())
    return createStringError("--host-cpu says what a run's code is for, found "
                             "it beside --emit, whose is --arch");
  return Error::success();
}

/// A launch has sizes, and kernels are chosen for it once they are scheduled.
static Error checkLaunch(const Options &options) {
  bool isNamed = !options.compile.kernels.empty();
  if (!options.launch && !isNamed)
    return Error::success();
  if (options.launch && isNamed)
    return createStringError("expected either --launch or --kernels, found "
                             "both");
  StringRef option = isNamed ? "--kernels" : "--launch";
  if (options.launch && !options.attention)
    return createStringError("--launch: expected --attention, whose SPEC has "
                             "the sizes, found a file");
  if (options.emit.empty())
    return createStringError(option + ": expected --emit, found a run, which "
                                      "compiles no other kernels anyway");
  if (options.emit == "tile" || options.emit == "kernel")
    return createStringError(option +
                             ": expected --emit of a form in which "
                             "kernels are chosen, found '" +
                             options.emit + "', which comes before");
  return Error::success();
}

/// Reads the file that --plan names. What it says of schedules is all: nothing
/// else is asked of them.
static Error readPlan(StringRef path, CompileOptions &compile) {
  if (path.empty())
    return Error::success();
  if (std::string asked = printConstraints(compile.asked); !asked.empty())
    return createStringError("expected either --plan or --" +
                             StringRef(asked).split(' ').first +
                             ", found both");
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return createStringError("--plan: " + path + ": " +
                             file.getError().message());
  compile.plans = (*file)->getBuffer().str();
  return Error::success();
}

/// The table that --tuning names; "" is none. The one that nobody named need
/// not be there to be read.
static std::string findTuning(StringRef given, StringRef cache,
                              bool isWritten) {
  if (given == "off")
    return "";
  if (!given.empty() || cache.empty())
    return given.str();
  SmallString<128> path(cache);
  sys::path::append(path, "tuning.json");
  return isWritten || sys::fs::exists(path) ? path.str().str() : "";
}

/// The folder that --cache names; "" is none.
static std::string findCache(StringRef given) {
  if (given == "off")
    return "";
  if (!given.empty())
    return given.str();
  SmallString<128> path;
  if (!sys::path::cache_directory(path))
    return "";
  sys::path::append(path, "flashtile");
  return path.str().str();
}

Expected<Options> fa::run::parseOptions(int argc, char **argv) {
  forgetRegisteredOptions();
  // LLVM keeps pointers to options, and lld, in process, walks them.
  static CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  std::string problems;
  raw_string_ostream errors(problems);
  if (!cl::ParseCommandLineOptions(argc, argv, "FlashTile's runner\n", &errors))
    return createStringError(StringRef(problems).rtrim());
  Options options;
  options.file = line.file;
  options.entry = line.entry;
  bool hasQ = !line.q.empty();
  if (line.attention.getNumOccurrences() || (hasQ && line.file.empty()))
    options.attention = line.attention;
  options.q = line.q;
  options.k = line.k;
  options.v = line.v;
  options.bias = line.bias;
  options.slopes = line.slopes;
  options.lengths = line.lengths;
  options.documents = line.documents;
  options.sink = line.sink;
  options.compile.fusion.assumeNoEmptyRows = line.assumeNoEmptyRows;
  options.compile.fusion.allowNoMax = line.allowNoMax;
  options.in.assign(line.in.begin(), line.in.end());
  options.out.assign(line.out.begin(), line.out.end());
  options.lse = line.lse;
  options.target = line.target;
  options.threads = line.threads;
  options.seed = line.seed;
  options.emit = line.emit;
  options.output = line.output;
  options.launch = line.launch;
  options.compile.kernels.assign(line.kernels.begin(), line.kernels.end());
  options.check = line.check;
  options.bench = line.bench;
  options.counters = line.counters;
  options.listTargets = line.listTargets;
  if (line.json.getNumOccurrences())
    options.json = line.json;
  options.cache = findCache(line.cache);
  options.tune = line.tune;
  options.tuning = findTuning(line.tuning, options.cache, line.tune);
  options.compile.arch = line.arch;
  options.compile.hostCpu = line.hostCpu;
  options.compile.ptxas = line.ptxas;
  options.compile.mutate = line.mutate;
  options.compile.dies = line.dies;
  if (line.dies < 0 || line.dies > 64)
    return createStringError("--dies: expected 0 to 64, found " +
                             Twine(line.dies));
  auto asked = readConstraints(line);
  if (!asked)
    return asked.takeError();
  options.compile.asked = std::move(*asked);
  if (Error error = readPlan(line.plan, options.compile))
    return error;
  if (!options.listTargets && options.file.empty() && !options.attention)
    return createStringError("expected FILE.mlir, --attention SPEC or --q "
                             "F.npy (see --help)");
  if (!options.file.empty() && options.attention)
    return createStringError("expected either FILE.mlir or --attention, found "
                             "both");
  if (!options.emit.empty())
    for (auto [name, given] : {std::pair("--tune", options.tune),
                               std::pair("--bench", options.bench),
                               std::pair("--check", options.check)})
      if (given)
        return createStringError("expected either " + Twine(name) +
                                 " or --emit, found both");
  if (Error error = checkArch(options))
    return error;
  if (Error error = checkLaunch(options))
    return error;
  if (options.threads > 4096)
    return createStringError("--threads: expected at most 4096, found " +
                             Twine(options.threads));
  return options;
}
