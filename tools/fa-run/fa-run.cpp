//===- fa-run.cpp - compiles a program, launches and checks it ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"
#include "Job.h"

#include "Triton/Triton.h"
#include "fa/Fusion/Passes.h"
#include "fa/Numerics/Npy.h"
#include "fa/Target/Bundle.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

int fa::run::fail(Error error, ExitCode code) {
  errs() << "fa-run: error: " << toString(std::move(error)) << "\n";
  return code;
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
  std::pair<StringLiteral, Emit> forms[] = {
      {"tile", Emit::Tile},     {"kernel", Emit::Kernel},
      {"plan", Emit::Plan},     {"tgpu", Emit::TileGPU},
      {"ptx", Emit::PTX},       {"cubin", Emit::Cubin},
      {"llvm", Emit::LLVM},     {"asm", Emit::Asm},
      {"object", Emit::Object}, {"hsaco", Emit::Hsaco}};
  for (auto [name, value] : forms)
    if (form == name)
      return value;
  return createStringError(
      "--emit: expected tile, kernel, plan, tgpu, llvm, asm, "
      "object, ptx, cubin, hsaco, report, cache-key or bundle, found '" +
      form + "'");
}

static Expected<std::string> describe(Job &job, const Options &options) {
  auto artifact = compileToShow(job, options, options.compile);
  if (!artifact)
    return artifact.takeError();
  std::string text;
  raw_string_ostream out(text);
  out << "target " << artifact->target << ", arch " << artifact->arch
      << ", object " << artifact->object.size() << " bytes\n";
  for (const KernelInfo &kernel : artifact->kernels) {
    out << "kernel @" << kernel.symbol << " entry @" << kernel.entry << " tile "
        << formatSizes(kernel.tile);
    if (kernel.threads)
      out << " threads " << kernel.threads << " stages " << kernel.stages
          << " shared " << kernel.sharedBytes << " registers "
          << kernel.registers << " stack " << kernel.stackBytes << " spills "
          << kernel.spillBytes;
    else
      out << " scratch " << kernel.scratchBytes;
    out << " bytes, " << kernel.numGiven() << " arguments";
    if (kernel.follows)
      out << ", after the one above";
    else if (!kernel.splitKeys.steps.empty())
      out << ", keys in "
          << (kernel.splits ? std::to_string(kernel.splits) : "chosen")
          << " splits";
    if (kernel.parts > 1)
      out << ", in " << kernel.parts << " parts";
    if (kernel.cluster > 1)
      out << ", in clusters of " << kernel.cluster;
    if (kernel.fewPrograms && kernel.parts > 1)
      out << ", where that is cheaper";
    else if (kernel.fewPrograms)
      out << ", for up to " << kernel.fewPrograms
          << " programs a multiprocessor";
    if (!kernel.price.empty())
      out << ", of few keys where it is predicted to take least";
    out << "\n";
  }
  return text;
}

static Expected<std::string> printCacheKey(Job &job, const Options &options) {
  CompileOptions how = options.compile;
  if (options.launch)
    if (auto planned = planLaunch(job, how); !planned)
      return planned.takeError();
  auto key = makeCacheKey(*job.module, job.entry, how);
  if (!key)
    return key.takeError();
  return key->hash() + "\n" + key->text;
}

/// Compiles for each architecture of the list and writes the files.
static Error emitBundle(Job &job, const Options &options) {
  if (options.output.empty() || options.output == "-")
    return createStringError("--emit=bundle: expected -o DIR, found none");
  SmallVector<StringRef> archs;
  StringRef(options.compile.arch).split(archs, ',');
  std::vector<Artifact> artifacts;
  for (StringRef arch : archs) {
    CompileOptions how = options.compile;
    how.arch = arch;
    auto artifact = compileToShow(job, options, how);
    if (!artifact)
      return artifact.takeError();
    artifacts.push_back(std::move(*artifact));
  }
  auto files = makeBundle(artifacts);
  if (!files)
    return files.takeError();
  return writeBundle(options.output, *files);
}

static int emit(Job &job, const Options &options) {
  if (options.emit == "bundle") {
    if (Error error = emitBundle(job, options))
      return fail(std::move(error), BadInput);
    return Success;
  }
  Expected<std::string> text = [&]() -> Expected<std::string> {
    if (options.emit == "report")
      return describe(job, options);
    if (options.emit == "cache-key")
      return printCacheKey(job, options);
    auto form = parseForm(options.emit);
    if (!form)
      return form.takeError();
    CompileOptions how = options.compile;
    if (!options.launch)
      return fa::emit(*job.module, options.entry, how, *form);
    auto planned = planLaunch(job, how);
    if (!planned)
      return planned.takeError();
    return emitPlanned(*planned->module, std::move(planned->kernels), how,
                       *form);
  }();
  if (!text)
    return fail(text.takeError(), BadInput);
  if (Error error = writeText(options.output, *text))
    return fail(std::move(error), BadInput);
  return Success;
}

/// The file for what has a name of its own; null: it is the next --out.
static const std::string *findPath(const Options &options, StringRef name) {
  std::pair<StringLiteral, const std::string *> paths[] = {
      {"lse", &options.lse},     {"dq", &options.dq},
      {"dk", &options.dk},       {"dv", &options.dv},
      {"dbias", &options.dbias}, {"dslopes", &options.dslopes},
      {"dsink", &options.dsink}, {"dscale", &options.dscale}};
  for (auto [known, path] : paths)
    if (name == known)
      return path;
  return nullptr;
}

static Error writeOutputs(const Job &job, const Options &options) {
  size_t next = 0;
  for (const auto &[name, tensor] : job.outputs) {
    const std::string *path = findPath(options, name);
    if (!path && next < options.out.size())
      path = &options.out[next++];
    if (!path || path->empty())
      continue;
    // Back to the order in memory that the user works with.
    bool bshd = job.problem && job.problem->layoutBshd && name != "lse";
    if (Error error = writeNpy(*path, bshd ? exchangeHeads(tensor) : tensor))
      return error;
  }
  if (next < options.out.size())
    return createStringError("expected at most " + Twine(next) +
                             " --out, found " + Twine(options.out.size()));
  return Error::success();
}

static Expected<std::vector<OutputCheck>> check(Job &job) {
  if (job.checker)
    return job.checker(job);
  if (!job.problem)
    return checkFile(job);
  auto reference = evaluateReference(job);
  if (!reference)
    return reference.takeError();
  return compare(job, *reference);
}

static int runJob(Job &job, const Options &options) {
  bool isFile = !options.file.empty();
  if (isFile)
    findGradientFile(job);
  if (options.check && isFile) {
    job.reference = findReference(*job.module, job.entry);
    if (job.reference.empty())
      return fail(createStringError("--check: expected a kernel with a "
                                    "'reference' function, found none"),
                  BadInput);
    job.original = job.module->clone();
    mlir::PassManager pm(job.original->getContext());
    pm.addPass(createTileInlineCalls());
    if (failed(pm.run(*job.original)))
      return fail(createStringError("--check: the reference's calls could not "
                                    "be inlined"),
                  BadInput);
    if (job.forward)
      if (Error error = differentiateReference(*job.original))
        return fail(std::move(error), BadInput);
    findFusedGradients(job, options.compile.fusion);
  }
  bool hasArguments = !isFile;
  if (job.raised) {
    if (Error error = chooseRaised(job, options))
      return fail(std::move(error), BadInput);
    hasArguments = true;
  }
  auto place =
      findRunTarget(options.target, options.compile.hostCpu, options.threads);
  if (!place)
    return fail(place.takeError(), DeviceFailed);
  auto compiled = compileFor(*place, job, options);
  if (!compiled)
    return fail(compiled.takeError(), BadInput);
  Artifact &artifact = compiled->artifact;
  if (!hasArguments)
    if (Error error =
            prepareFileArguments(job, options, artifact.kernels.back()))
      return fail(std::move(error), BadInput);
  // Arguments that do not fit are the caller's; what comes after, the device's.
  if (auto choice =
          toExpected(chooseLaunch(artifact.kernels, job.arguments,
                                  /*processors=*/1, Workspace::any()));
      !choice)
    return fail(choice.takeError(), BadInput);
  auto execution = execute(*place, std::move(artifact), job.arguments, options);
  if (!execution)
    return fail(execution.takeError(), DeviceFailed);
  execution->cache = compiled->outcome;
  Report report{options, job, *execution, {}};
  if (options.check) {
    auto checks = check(job);
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
  if (options->listTargets) {
    outs() << listPlaces();
    return Success;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  triton::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto job = options->attention ? prepareAttention(context, *options)
             : options->merge   ? prepareMerge(context, *options)
             : options->append  ? prepareAppend(context, *options)
                                : loadFile(context, *options);
  if (!job)
    return fail(job.takeError(), BadInput);
  if (!options->emit.empty())
    return emit(*job, *options);
  return options->tune ? tune(*job, *options) : runJob(*job, *options);
}
