//===- Hash.cpp - digests of the code that cases run ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hash.h"
#include "CaseMemory.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Launch/ChooseLaunch.h"
#include "fa/Plan/Machine.h"
#include "fa/Runtime/AttentionArguments.h"
#include "fa/Runtime/EmulatorPlan.h"

#include "fa/Schedule/PlanText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace fa;
using namespace fa::matrix;

CodeHasher::CodeHasher(std::string arch, std::string schedule)
    : arch(std::move(arch)), schedule(std::move(schedule)),
      context(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

/// The launch of a case without its memory: that of the problem, q, k, v and
/// what lies behind the inputs as the case says. A tensor that is shifted has
/// an address that only its elements divide.
static std::vector<LaunchArgument> describe(const Case &c) {
  std::vector<LaunchArgument> arguments = describeArguments(c.problem);
  if (!c.gaps && !c.shifted && !c.far)
    return arguments;
  alignas(256) static char memory[256]; // nothing reads it
  const AttentionProblem &p = c.problem;
  // Behind the inputs: out and lse, of gradients those, their cotangents and
  // what is asked for.
  size_t tail = p.lse ? 2 : 1;
  if (p.backward)
    tail = 3 + p.backward->dlse + p.gradients().size();
  size_t placed = p.valuesInKeys ? 2 : 3; // without v
  for (auto [n, argument] : enumerate(arguments)) {
    if (n >= placed && n + tail < arguments.size())
      continue;
    ArrayRef<int64_t> sizes(argument.sizes.begin(), argument.sizes.end());
    void *data = c.shifted ? memory + byteSize(argument.type) : nullptr;
    argument = LaunchArgument::tensor(data, argument.type, sizes,
                                      placedStrides(c, sizes));
  }
  return arguments;
}

CompileOptions CodeHasher::optionsFor(int64_t splits) const {
  CompileOptions options;
  options.arch = arch;
  options.asked.schedule = schedule;
  options.asked.splits = splits;
  return options;
}

Error CodeHasher::plan(const AttentionProblem &p, int64_t splits,
                       Program &program) {
  auto module = buildAttention(context, p);
  if (!module)
    return module.takeError();
  auto kernels = planKernels(**module, "attention", optionsFor(splits));
  if (!kernels)
    return kernels.takeError();
  program.planned = PlannedProgram{std::move(*module), std::move(*kernels)};
  return Error::success();
}

Expected<std::vector<std::string>> CodeHasher::findKernels(const Case &c,
                                                           Program &program) {
  // With few threads, and with so many that no launch keeps all busy.
  constexpr int64_t manyThreads = 1 << 20;
  std::vector<std::pair<LaunchMachine, int64_t>> machines = {
      {kHost, 1}, {LaunchMachine::host(manyThreads), 1}};
  if (isNvidiaArch(arch) || isAmdArch(arch)) {
    auto info = findGpuMachine(arch);
    if (!info)
      return info.takeError();
    machines = {{{info->processors, info->costs}, kMaxResidentBlocks},
                {{EmulatorPlan::numProcessors, info->costs}, 1}};
  }
  std::vector<std::string> symbols;
  for (const auto &[machine, residentBlocks] : machines) {
    auto found = toExpected(
        findCandidates(program.planned.kernels,
                       PlannedLaunch{describe(c), machine, residentBlocks}));
    if (!found)
      return found.takeError();
    for (std::string &symbol : *found)
      if (!is_contained(symbols, symbol))
        symbols.push_back(std::move(symbol));
  }
  return symbols;
}

/// Adds the sections of `object` but for the linker's version.
static Error addSections(StringRef object, SHA256 &digest) {
  auto file = object::ObjectFile::createObjectFile({object, "code"});
  if (!file)
    return file.takeError();
  for (const object::SectionRef &section : (*file)->sections()) {
    auto name = section.getName();
    if (!name)
      return name.takeError();
    auto contents = section.getContents();
    if (!contents)
      return contents.takeError();
    if (*name == ".comment")
      continue;
    digest.update(*name);
    digest.update(*contents);
  }
  return Error::success();
}

Expected<std::string> CodeHasher::hashKernel(Program &program, StringRef symbol,
                                             int64_t splits) {
  CompileOptions options = optionsFor(splits);
  options.kernels = {symbol.str()};
  mlir::OwningOpRef<mlir::ModuleOp> copy = program.planned.module->clone();
  Emit form = isNvidiaArch(arch) ? Emit::PTX
              : isAmdArch(arch)  ? Emit::Hsaco
                                 : Emit::Object;
  auto code = emitPlanned(*copy, program.planned.kernels, options, form);
  if (!code)
    return code.takeError();
  SHA256 digest;
  if (form == Emit::PTX)
    digest.update(*code);
  else if (Error error = addSections(*code, digest))
    return error;
  return toHex(digest.final(), /*LowerCase=*/true);
}

Expected<std::vector<std::string>> CodeHasher::plansOf(const Case &c) {
  Program &program = programs[programName(c)];
  if (program.planned.kernels.empty())
    if (Error error = plan(withoutSizes(c.problem), c.splits, program))
      return error;
  auto symbols = findKernels(c, program);
  if (!symbols)
    return symbols.takeError();
  std::string text = printPlans(*program.planned.module);
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  std::vector<std::string> plans;
  for (StringRef line : lines)
    if (is_contained(*symbols, line.drop_front(!line.empty()).split(' ').first))
      plans.push_back(line.str());
  return plans;
}

Expected<CodeHasher::Hashes> CodeHasher::hash(const Case &c) {
  AttentionProblem p = withoutSizes(c.problem);
  Program &program = programs[programName(c)];
  if (program.planned.kernels.empty())
    if (Error error = plan(p, c.splits, program))
      return error;
  auto symbols = findKernels(c, program);
  if (!symbols)
    return symbols.takeError();
  Hashes hashes;
  for (const std::string &symbol : *symbols) {
    std::string &hash = program.hashes[symbol];
    if (hash.empty()) {
      auto made = hashKernel(program, symbol, c.splits);
      if (!made)
        return made.takeError();
      hash = std::move(*made);
    }
    hashes.emplace_back(symbol, hash);
  }
  return hashes;
}
