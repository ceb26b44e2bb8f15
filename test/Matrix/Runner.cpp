//===- Runner.cpp - compiles, launches and compares a case ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "CaseMemory.h"
#include "Mutate.h"

#include "Tile/Tile.h"
#include "fa/Conversion/TileToHost.h"
#include "fa/Emulator/Passes.h"
#include "fa/Frontend/BuildAttention.h"
#include "fa/Machine/NvidiaInfo.h"
#include "fa/Numerics/ErrorRule.h"
#include "fa/Plan/Machine.h"
#include "fa/Runtime/EmulatorPlan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace fa;
using namespace fa::matrix;

Expected<Target> matrix::openTarget(StringRef name, StringRef hostCpu) {
  Target target;
  if (name == "cuda" || name == "hip") {
    auto kind = name == "hip" ? DriverKind::Hip : DriverKind::Cuda;
    auto card = toExpected(GpuDevice::open(kind, 0));
    if (!card)
      return card.takeError();
    auto arch = archOf(**card);
    if (!arch)
      return arch.takeError();
    target.card = *card;
    target.arch = *arch;
  } else if (name.consume_front("emulator:")) {
    auto info = findGpuMachine(name);
    if (!info)
      return info.takeError();
    target.arch = info->name;
    target.costs = info->costs;
    target.isEmulator = true;
  } else if (name != "cpu") {
    return createStringError("--target: expected cpu, cuda, hip or "
                             "emulator:ARCH, found '" +
                             name + "'");
  } else {
    target.arch = hostCpu;
  }
  target.hostCpu = hostCpu;
  return target;
}

Runner::Runner(StringRef fault, Target target, unsigned threads,
               bool noConflicts)
    : fault(fault), device(std::make_shared<HostDevice>(threads)),
      target(std::move(target)), noConflicts(noConflicts) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

static std::string bytesOf(const CaseMemory &memory) {
  std::string bytes;
  for (const auto &[name, output] : memory.outputs)
    output.inner.forEach(
        [&](char *p) { bytes.append(p, byteSize(output.inner.type())); });
  return bytes;
}

static Expected<std::vector<OutputCheck>>
checkResults(const AttentionProblem &p, const CaseMemory &memory) {
  auto reference = referenceF64(p, memory.inputs);
  if (!reference)
    return reference.takeError();
  auto e0 = unfused(p, memory.inputs);
  if (!e0)
    return e0.takeError();
  std::vector<OutputCheck> checks;
  for (const auto &[name, output] : memory.outputs)
    checks.push_back(name == "lse"
                         ? checkLse(name, output.inner, reference->lse, e0->lse)
                         : checkForward(name, output.inner, reference->out,
                                        e0->out, p.type,
                                        maxAbsValue(memory.inputs)));
  return checks;
}

static Expected<std::vector<OutputCheck>>
checkGradients(const AttentionProblem &p, const CaseMemory &memory) {
  auto reference =
      referenceBackwardF64(p, memory.inputs, memory.backward->cotangents);
  if (!reference)
    return reference.takeError();
  auto e0 = unfusedBackward(p, memory.inputs, *memory.backward);
  if (!e0)
    return e0.takeError();
  std::vector<OutputCheck> checks;
  for (auto [output, exact, rounded] :
       zip_equal(memory.outputs, *reference, *e0))
    checks.push_back(checkGradient(output.first, output.second.inner,
                                   exact.value, rounded.value,
                                   output.second.inner.type(), exact.bound));
  return checks;
}

static Expected<std::string> compare(const AttentionProblem &p,
                                     CaseMemory &memory) {
  auto checks =
      p.backward ? checkGradients(p, memory) : checkResults(p, memory);
  if (!checks)
    return checks.takeError();
  for (const OutputCheck &check : *checks)
    if (!check.pass)
      return check.name + " " + check.why;
  for (auto &[name, output] : memory.outputs)
    if (!output.isIntact())
      return std::string("memory between the rows of an output was written");
  return std::string();
}

Expected<std::string> Runner::run(const Case &c) {
  auto memory = makeMemory(c);
  if (!memory)
    return memory.takeError();
  auto plan = getPlan(c.problem, c.splits, memory->arguments);
  if (!plan)
    return plan.takeError();
  if (Error error = (*plan)(memory->arguments)) {
    // What the emulator finds is a failure of the program.
    if (target.isEmulator)
      return toString(std::move(error));
    return error;
  }
  std::string first = bytesOf(*memory);
  for (int64_t n = 0; n < c.repeat; ++n) {
    if (Error error = (*plan)(memory->arguments))
      return error;
    if (bytesOf(*memory) != first)
      return "launch " + std::to_string(n + 2) + " gave other bits";
  }
  return compare(c.problem, *memory);
}

/// Of a program that was planned these kernels, and what is not one.
static mlir::OwningOpRef<mlir::ModuleOp> copyOf(mlir::ModuleOp module,
                                                ArrayRef<std::string> kernels) {
  mlir::OwningOpRef<mlir::ModuleOp> copy =
      mlir::ModuleOp::create(module.getLoc());
  copy->getOperation()->setAttrs(module->getAttrs());
  for (mlir::Operation &op : *module.getBody()) {
    auto kernel = dyn_cast<tile::KernelOp>(op);
    if (!kernel || is_contained(kernels, kernel.getSymName()))
      copy->push_back(op.clone());
  }
  return copy;
}

/// Whether `fault` is one of tgpu-mutate's.
static bool isGpuFault(StringRef fault) {
  auto atSchedule = isScheduleFault(fault);
  bool known = bool(atSchedule);
  consumeError(atSchedule.takeError());
  return known;
}

Expected<Runner::Launch> Runner::getPlan(AttentionProblem p, int64_t splits,
                                         ArrayRef<LaunchArgument> arguments) {
  p = withoutSizes(std::move(p));
  std::string name = p.str() + " splits=" + std::to_string(splits);
  Program &program = programs[name];
  if (!program.planned.module) {
    auto planned = plan(p, splits);
    if (!planned)
      return planned.takeError();
    program.planned = std::move(*planned);
  }
  const std::vector<KernelInfo> &kernels = program.planned.kernels;
  // A card gets copies, which are aligned as these are.
  PlannedLaunch planned{arguments, machine(),
                        target.card ? kMaxResidentBlocks : 1};
  auto wanted = toExpected(findCandidates(kernels, planned));
  if (!wanted)
    return wanted.takeError();
  Launch &launch = program.plans[join(*wanted, " ")];
  if (launch)
    return launch;
  auto module = copyOf(*program.planned.module, *wanted);
  CompileOptions options = optionsFor(splits);
  options.kernels = std::move(*wanted);
  auto artifact = compilePlanned(*module, kernels, options);
  if (!artifact)
    return artifact.takeError();
  // What a GPU leaves open differs from program to program, not from run to
  // run.
  auto loaded = load(std::move(*artifact), xxh3_64bits(name));
  if (!loaded)
    return loaded.takeError();
  return launch = *loaded;
}

LaunchMachine Runner::machine() const {
  if (target.card)
    return launchMachineOf(*target.card);
  return target.isEmulator
             ? LaunchMachine(EmulatorPlan::numProcessors, target.costs)
             : LaunchMachine::host(device->numThreads());
}

Expected<Runner::Launch> Runner::load(Artifact artifact, uint64_t seed) {
  using Arguments = ArrayRef<LaunchArgument>;
  if (target.card) {
    auto plan = GpuPlan::load(std::move(artifact), target.card);
    if (!plan)
      return plan.takeError();
    return [plan = std::shared_ptr(std::move(*plan))](Arguments arguments) {
      return plan->launchOnHostMemory(arguments);
    };
  }
  if (target.isEmulator) {
    auto plan = EmulatorPlan::load(std::move(artifact), device,
                                   {.seed = seed, .count = noConflicts});
    if (!plan)
      return plan.takeError();
    return [plan = std::shared_ptr(std::move(*plan)),
            noConflicts = noConflicts](Arguments arguments) -> Error {
      auto counters = plan->launch(arguments);
      if (!counters)
        return counters.takeError();
      if (noConflicts && counters->bankConflicts)
        return createStringError(std::to_string(counters->bankConflicts) +
                                 " bank conflicts");
      return Error::success();
    };
  }
  auto plan = HostPlan::load(std::move(artifact), device);
  if (!plan)
    return plan.takeError();
  return [plan = std::shared_ptr(std::move(*plan))](Arguments arguments) {
    return plan->launch(arguments);
  };
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> Runner::build(AttentionProblem p) {
  if (fault == "wrong-alignment" && p.causal != CausalKind::None)
    p.causal = p.causal == CausalKind::TopLeft ? CausalKind::BottomRight
                                               : CausalKind::TopLeft;
  auto module = buildAttention(context, p);
  if (!module)
    return module;
  if (!fault.empty() && fault != "wrong-alignment" && !isGpuFault(fault))
    if (Error error = mutateKernels(**module, fault))
      return error;
  return module;
}

CompileOptions Runner::optionsFor(int64_t splits) const {
  CompileOptions options;
  if (isGpuFault(fault))
    options.mutate = fault;
  options.arch = target.arch;
  options.emulate = target.isEmulator;
  options.hostCpu = target.hostCpu;
  options.asked.splits = splits;
  options.asked.schedule = target.schedule;
  return options;
}

Expected<PlannedProgram> Runner::plan(const AttentionProblem &p,
                                      int64_t splits) {
  auto module = build(p);
  if (!module)
    return module.takeError();
  auto kernels = fa::planKernels(**module, "attention", optionsFor(splits));
  if (!kernels)
    return kernels.takeError();
  return PlannedProgram{std::move(*module), std::move(*kernels)};
}
