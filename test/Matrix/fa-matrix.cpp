//===- fa-matrix.cpp - many attention problems against the reference ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa-matrix [--mutate=FAULT] [--target=TARGET] [--host-cpu=NAME]
// [--without=WORD]
//           [--threads=N] [--part=K/N] [--no-conflicts]
//           [--schedule=persistent|clusters|roles|plain] FILE
// fa-matrix ... --line=LINE [--line=LINE ...]
// fa-matrix ... --random=COUNT [--seed=SEED]
// fa-matrix --hash=ARCH [--schedule=...] [--part=K/N] FILE
// fa-matrix --plans=ARCH [--schedule=...] FILE
//
// TARGET is cpu, cuda, hip (the first card) or emulator:ARCH; what runs on this
// machine is code for NAME, a CPU that LLVM knows, of which this machine has
// all features; lines with WORD are left out; of N parts the K-th runs;
// --no-conflicts: a problem whose kernels meet bank conflicts in the emulator
// fails; with a schedule that is asked for there are no kernels for few
// programs. Each line of FILE is a SPEC of fa-run with alternatives,
// `sq={1|64|239}`, which are all combined, and with words of its own:
//   gaps      strides with gaps, NaN in between, which must stay
//   shifted   bases that are only aligned to an element
//   poison    NaN and infinities in K and V beyond the lengths
//   logits=X  queries multiplied by X
//   apart=X   X added to queries and taken from keys: scores far below 0
//   values=X  values multiplied by X
//   fill=X    the bias is X in every second element
//   far       heads that lie more than 2^31 elements apart
//   repeat=N  N more launches, which must give the same bits
//   splits=N  of the keys where queries are few
// --random draws problems of all features instead. Every output is full of NaN
// before the launch. Each problem prints a line as it ends, and a failure the
// call that gives it again; the last line counts them. With a
// fault planted in the kernel (those of Mutate.h and, of GPU programs, of
// tgpu-mutate), failures are expected: that is how the harness itself is
// tested.
//
// --hash runs nothing: it prints the version of LLVM and, for each problem and
// each kernel that a launch of it may run on ARCH (as fa-run's --arch), a line
// SPEC, symbol and SHA-256 of the code with tabs between
// (test/CodeHashes/code_hashes.py). --plans prints their plans instead: each
// plan once, where it is first met, and for each SPEC the numbers of its
// kernels' or why it is refused (test/Plan).
//
//===----------------------------------------------------------------------===//

#include "Hash.h"
#include "Runner.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

using namespace llvm;
using namespace fa;
using namespace fa::matrix;

namespace {

struct Options {
  StringRef fault, target = "cpu", hostCpu = "host", without, schedule, file;
  StringRef hash;  ///< not empty: the architecture whose code is hashed
  StringRef plans; ///< not empty: the architecture whose plans are printed
  std::vector<StringRef> lines; ///< none: those of the file or random ones
  int64_t random = 0;
  unsigned seed = 0, threads = 0, part = 1, parts = 1;
  bool noConflicts = false;
};

} // namespace

static int fail(const Twine &what) {
  errs() << "fa-matrix: error: " << what << "\n";
  return 2;
}

/// The number of an option, at least `least`.
static Error readNumber(StringRef option, StringRef text, auto least,
                        auto &number) {
  if (!text.getAsInteger(10, number) && number >= least)
    return Error::success();
  return createStringError("--" + option + ": expected a number of at least " +
                           Twine(least) + ", found '" + text + "'");
}

static Error readPart(StringRef text, Options &options) {
  auto [number, of] = text.split('/');
  if (!number.getAsInteger(10, options.part) &&
      !of.getAsInteger(10, options.parts) && options.part >= 1 &&
      options.part <= options.parts)
    return Error::success();
  return createStringError("--part: expected K/N with 1 <= K <= N, found '" +
                           text + "'");
}

static Error readOption(StringRef argument, Options &options) {
  if (argument.consume_front("--mutate="))
    options.fault = argument;
  else if (argument.consume_front("--target="))
    options.target = argument;
  else if (argument.consume_front("--host-cpu="))
    options.hostCpu = argument;
  else if (argument.consume_front("--hash="))
    options.hash = argument;
  else if (argument.consume_front("--plans="))
    options.plans = argument;
  else if (argument.consume_front("--schedule="))
    options.schedule = argument;
  else if (argument.consume_front("--without="))
    options.without = argument;
  else if (argument == "--no-conflicts")
    options.noConflicts = true;
  else if (argument.consume_front("--line="))
    options.lines.push_back(argument);
  else if (argument.consume_front("--random="))
    return readNumber("random", argument, 1, options.random);
  else if (argument.consume_front("--seed="))
    return readNumber("seed", argument, 0u, options.seed);
  else if (argument.consume_front("--part="))
    return readPart(argument, options);
  else if (argument.consume_front("--threads="))
    return readNumber("threads", argument, 0u, options.threads);
  else if (argument.starts_with("-") || !options.file.empty())
    return createStringError("expected an option or one file, found '" +
                             argument + "'");
  else
    options.file = argument;
  return Error::success();
}

/// Of the programs that `lines` have the part's, all lines of each side by
/// side, so that no part compiles what another one does.
static Expected<std::vector<std::string>>
takePrograms(ArrayRef<std::string> lines, const Options &options) {
  std::map<std::string, std::set<std::string>> programs;
  for (const std::string &line : lines) {
    auto c = parseCase(line);
    if (!c)
      return createStringError(line + ": " + toString(c.takeError()));
    programs[programName(*c)].insert(line);
  }
  std::vector<std::string> taken;
  for (auto [n, program] : enumerate(programs))
    if (n >= programs.size() * (options.part - 1) / options.parts &&
        n < programs.size() * options.part / options.parts)
      llvm::append_range(taken, program.second);
  return taken;
}

/// The lines to run, expanded.
static Expected<std::vector<std::string>> makeLines(const Options &options) {
  std::vector<std::string> lines;
  lines.reserve(options.random);
  std::mt19937 random(options.seed);
  for (int64_t n = 0; n < options.random; ++n)
    lines.push_back(randomLine(random));
  for (StringRef line : options.lines)
    expand(line, lines);
  if (lines.empty())
    if (Error error = readLines(options.file, lines))
      return error;
  if (!options.without.empty())
    llvm::erase_if(lines, [&](StringRef line) {
      return is_contained(split(line, ' '), options.without);
    });
  if (!options.hash.empty() || !options.plans.empty())
    return takePrograms(lines, options);
  // Neighbours share a compilation: parts are runs of lines.
  auto boundary = [&](size_t part) {
    return lines.begin() + lines.size() * part / options.parts;
  };
  return std::vector(boundary(options.part - 1), boundary(options.part));
}

static int hashLines(const std::vector<std::string> &lines,
                     const Options &options) {
  CodeHasher hasher(options.hash.str(), options.schedule.str());
  outs() << "# LLVM " << llvmVersion() << "\n";
  for (const std::string &line : lines) {
    auto c = parseCase(line);
    if (!c)
      return fail(line + ": " + toString(c.takeError()));
    auto hashes = hasher.hash(*c);
    if (!hashes)
      return fail(line + ": " + toString(hashes.takeError()));
    for (const auto &[symbol, hash] : *hashes)
      outs() << line << "\t" << symbol << "\t" << hash << "\n";
  }
  return 0;
}

static int printPlanTable(const std::vector<std::string> &lines,
                          const Options &options) {
  CodeHasher planner(options.plans.str(), options.schedule.str());
  std::map<std::string, size_t> numbers;
  for (const std::string &line : lines) {
    auto c = parseCase(line);
    if (!c)
      return fail(line + ": " + toString(c.takeError()));
    auto plans = planner.plansOf(*c);
    if (!plans) {
      std::string why = toString(plans.takeError());
      outs() << line << ": refused: " << StringRef(why).split('\n').first
             << "\n";
      continue;
    }
    std::string taken;
    for (const std::string &plan : *plans) {
      auto [known, isNew] = numbers.try_emplace(plan, numbers.size());
      if (isNew)
        outs() << known->second << ": " << plan << "\n";
      taken += " " + std::to_string(known->second);
    }
    outs() << line << ":" << taken << "\n";
  }
  return 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  Options options;
  for (StringRef argument : ArrayRef(argv, argc).drop_front())
    if (Error error = readOption(argument, options))
      return fail(toString(std::move(error)));
  auto lines = makeLines(options);
  if (!lines)
    return fail(toString(lines.takeError()));
  PlanConstraints asked;
  asked.schedule = options.schedule.str();
  if (std::string why = whyInvalid(asked); !why.empty())
    return fail("--" + why);
  if (!options.hash.empty())
    return hashLines(*lines, options);
  if (!options.plans.empty())
    return printPlanTable(*lines, options);
  auto target = openTarget(options.target, options.hostCpu);
  if (!target)
    return fail(toString(target.takeError()));
  target->schedule = options.schedule;
  if (options.noConflicts && !target->isEmulator)
    return fail("--no-conflicts: expected an emulator as --target, found '" +
                options.target + "'");
  Runner runner(options.fault, *target, options.threads, options.noConflicts);
  int64_t failed = 0;
  for (const std::string &line : *lines) {
    auto c = parseCase(line);
    if (!c)
      return fail(line + ": " + toString(c.takeError()));
    auto wrong = runner.run(*c);
    if (!wrong)
      return fail(line + ": " + toString(wrong.takeError()));
    if (wrong->empty()) {
      outs() << "PASS " << line << "\n";
    } else {
      ++failed;
      outs() << "FAIL " << line << "\n     " << *wrong << "\n     fa-matrix "
             << (options.target == "cpu"
                     ? ""
                     : "--target=" + options.target.str() + " ")
             << (options.hostCpu == "host"
                     ? ""
                     : "--host-cpu=" + options.hostCpu.str() + " ")
             << (options.schedule.empty()
                     ? ""
                     : "--schedule=" + options.schedule.str() + " ")
             << "--line=\"" << line << "\"\n";
    }
    outs().flush(); // who waits sees how far it is
  }
  outs() << lines->size() - failed << " passed, " << failed << " failed\n";
  return failed || lines->empty() ? 1 : 0;
}
