//===- fa-run.cpp - compiles a program, launches and checks it ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Numerics/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace fa;
using namespace fa::run;

static int fail(Error error, ExitCode code) {
  errs() << "fa-run: error: " << toString(std::move(error)) << "\n";
  return code;
}

static int listTargets() {
  outs() << "cpu   this machine's CPU\n"
            "cuda  not available: this build has no NVIDIA target\n"
            "hip   not available: this build has no AMD target\n";
  return Success;
}

/// Writes `text` to the file `path`, or to standard output.
static Error writeText(StringRef path, StringRef text) {
  if (path.empty() || path == "-") {
    outs() << text;
    return Error::success();
  }
  return writeToOutput(path, [&](raw_ostream &out) {
    out << text;
    return Error::success();
  });
}

static Expected<Emit> parseForm(StringRef form) {
  std::pair<StringLiteral, Emit> forms[] = {{"tile", Emit::Tile},
                                            {"kernel", Emit::Kernel},
                                            {"llvm", Emit::LLVM},
                                            {"asm", Emit::Asm},
                                            {"object", Emit::Object}};
  for (auto [name, value] : forms)
    if (form == name)
      return value;
  return createStringError("--emit: expected tile, kernel, llvm, asm, object "
                           "or report, found '" +
                           form + "'");
}

static Expected<std::string> describe(Job &job, const Options &options) {
  auto artifact = compileForHost(*job.module, job.entry, options.compile);
  if (!artifact)
    return artifact.takeError();
  std::string text;
  raw_string_ostream out(text);
  out << "target " << artifact->target << ", arch " << artifact->arch
      << ", object " << artifact->object.size() << " bytes\n";
  for (const KernelInfo &kernel : artifact->kernels)
    out << "kernel @" << kernel.symbol << " entry @" << kernel.entry << " tile "
        << formatSizes(kernel.tile) << " scratch " << kernel.scratchBytes
        << " bytes, " << kernel.args.size() << " arguments\n";
  return text;
}

static int emit(Job &job, const Options &options) {
  Expected<std::string> text = [&]() -> Expected<std::string> {
    if (options.emit == "report")
      return describe(job, options);
    auto form = parseForm(options.emit);
    if (!form)
      return form.takeError();
    return emitForHost(*job.module, options.compile, *form);
  }();
  if (!text)
    return fail(text.takeError(), BadInput);
  if (Error error = writeText(options.output, *text))
    return fail(std::move(error), BadInput);
  return Success;
}

/// Runs once, or to measure at least seven times and half a second.
static Expected<Timing> launch(const HostPlan &plan, const Job &job,
                               bool bench) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  auto begin = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (bench)
    if (Error error = plan.launch(job.arguments))
      return error;
  do {
    auto start = Clock::now();
    if (Error error = plan.launch(job.arguments))
      return error;
    times.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start)
            .count());
  } while (bench && (times.size() < 7 || elapsed() < 0.5));
  llvm::sort(times);
  return Timing{times[times.size() / 2], times.front(), times.back(),
                static_cast<int64_t>(times.size())};
}

static Error writeOutputs(const Job &job, const Options &options) {
  size_t next = 0;
  for (const auto &[name, tensor] : job.outputs) {
    if (name == "lse") {
      if (!options.lse.empty())
        if (Error error = writeNpy(options.lse, tensor))
          return error;
    } else if (next < options.out.size()) {
      // Back to the order in memory that the user works with.
      bool bshd = job.problem && job.problem->layoutBshd;
      if (Error error = writeNpy(options.out[next++],
                                 bshd ? tensor.permuted({0, 2, 1, 3}) : tensor))
        return error;
    }
  }
  if (next < options.out.size())
    return createStringError("expected at most " + Twine(next) +
                             " --out, found " + Twine(options.out.size()));
  return Error::success();
}

static int runJob(Job &job, const Options &options) {
  if (options.compile.arch != "host")
    return fail(createStringError("--arch: expected host to run, found '" +
                                  options.compile.arch +
                                  "' (it is for --emit)"),
                BadInput);
  if (options.check && !job.problem) {
    job.reference = findReference(*job.module, job.entry);
    if (job.reference.empty())
      return fail(createStringError("--check: expected a kernel with a "
                                    "'reference' function, found none"),
                  BadInput);
    job.original = job.module->clone();
  }
  auto artifact = compileForHost(*job.module, job.entry, options.compile);
  if (!artifact)
    return fail(artifact.takeError(), BadInput);
  if (!job.problem)
    if (Error error =
            prepareFileArguments(job, options, artifact->kernels.back()))
      return fail(std::move(error), BadInput);
  auto device = std::make_shared<HostDevice>(options.threads);
  auto plan = HostPlan::load(std::move(*artifact), device);
  if (!plan)
    return fail(plan.takeError(), DeviceFailed);
  auto kernel = (*plan)->select(job.arguments);
  if (!kernel)
    return fail(kernel.takeError(), BadInput);
  auto timing = launch(**plan, job, options.bench);
  if (!timing)
    return fail(timing.takeError(), DeviceFailed);
  Report report{
      options, job, (*plan)->artifact(), **kernel, device->numThreads(),
      *timing, {}};
  if (options.check) {
    auto checks = job.problem ? checkAttention(job) : checkFile(job);
    if (!checks)
      return fail(checks.takeError(), BadInput);
    report.checks = std::move(*checks);
  }
  if (Error error = writeOutputs(job, options))
    return fail(std::move(error), BadInput);
  std::string text;
  raw_string_ostream out(text);
  if (options.json)
    printJson(report, out);
  else
    printReport(report, out);
  if (Error error = writeText(options.json.value_or(""), text))
    return fail(std::move(error), BadInput);
  bool pass =
      llvm::all_of(report.checks, [](const OutputCheck &c) { return c.pass; });
  return pass ? Success : CheckFailed;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  auto options = parseOptions(argc, argv);
  if (!options)
    return fail(options.takeError(), BadInput);
  if (options->listTargets)
    return listTargets();
  if (options->target != "cpu")
    return fail(createStringError("--target: '" + options->target +
                                  "' is not available, found cpu"),
                DeviceFailed);
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto job = options->attention ? prepareAttention(context, *options)
                                : loadFile(context, *options);
  if (!job)
    return fail(job.takeError(), BadInput);
  return options->emit.empty() ? runJob(*job, *options) : emit(*job, *options);
}
