//===- Options.cpp - the command line of fa-run ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "CommandLine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

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
  if (!options.target.empty() && !options.emit.empty())
    return createStringError("--target says where a run is, found '" +
                             options.target +
                             "' beside --emit, whose is "
                             "--arch");
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

/// There is one program.
static Error checkProgram(const Options &options) {
  std::pair<StringLiteral, bool> programs[] = {
      {"FILE.mlir", !options.file.empty()},
      {"--attention", options.attention.has_value()},
      {"--merge", options.merge.has_value()},
      {"--append", options.append.has_value()}};
  StringRef found;
  for (auto [name, isGiven] : programs) {
    if (isGiven && !found.empty())
      return createStringError("expected either " + found + " or " + name +
                               ", found both");
    if (isGiven)
      found = name;
  }
  if (found.empty() && !options.listTargets)
    return createStringError("expected FILE.mlir, --attention SPEC or --q "
                             "F.npy, --merge SPEC or --append SPEC (see "
                             "--help)");
  return Error::success();
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
  if (line.merge.getNumOccurrences())
    options.merge = line.merge;
  if (line.append.getNumOccurrences())
    options.append = line.append;
  options.q = line.q;
  options.k = line.k;
  options.v = line.v;
  options.bias = line.bias;
  options.slopes = line.slopes;
  options.lengths = line.lengths;
  options.documents = line.documents;
  options.sink = line.sink;
  options.rng = line.rng;
  options.offsets = line.offsets;
  options.keyOffsets = line.keyOffsets;
  options.table = line.table;
  options.qScale = line.qScale;
  options.kScale = line.kScale;
  options.vScale = line.vScale;
  options.draft = line.draft;
  options.compile.fusion.assumeNoEmptyRows = line.assumeNoEmptyRows;
  options.compile.fusion.allowNoMax = line.allowNoMax;
  options.in.assign(line.in.begin(), line.in.end());
  options.out.assign(line.out.begin(), line.out.end());
  options.grid = line.grid;
  options.raise = line.raise;
  options.lse = line.lse;
  options.dout = line.dout;
  options.dlse = line.dlse;
  options.forwardOut = line.forwardOut;
  options.forwardLse = line.forwardLse;
  options.dq = line.dq;
  options.dk = line.dk;
  options.dv = line.dv;
  options.dbias = line.dbias;
  options.dslopes = line.dslopes;
  options.dsink = line.dsink;
  options.dscale = line.dscale;
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
  if (Error error = checkProgram(options))
    return error;
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
