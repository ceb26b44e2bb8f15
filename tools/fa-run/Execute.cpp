//===- Execute.cpp - a compiled program on a device -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "fa/Launch/TargetName.h"
#include "fa/Plan/Machine.h"
#include "fa/Runtime/EmulatorPlan.h"
#include "fa/Runtime/GpuPlan.h"
#include "fa/Runtime/HostPlan.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace fa;
using namespace fa::run;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static constexpr DriverKind kDrivers[] = {DriverKind::Cuda, DriverKind::Hip};

static Expected<RunTarget> findCard(TargetName name) {
  auto device = toExpected(GpuDevice::open(*name.driver, name.card));
  if (!device)
    return device.takeError();
  auto arch = archOf(**device);
  if (!arch)
    return arch.takeError();
  return RunTarget{std::string(infoOf(*name.driver).target),
                   name,
                   *arch,
                   launchMachineOf(**device),
                   kMaxResidentBlocks,
                   diesOf(**device)};
}

Expected<RunTarget> fa::run::findRunTarget(StringRef target, StringRef hostCpu,
                                           unsigned threads) {
  RunTarget cpu{"cpu", {}, hostCpu.str()};
  cpu.machine = LaunchMachine::host(HostDevice(threads).numThreads());
  if (target.empty()) {
    for (DriverKind kind : kDrivers) {
      auto card = findCard({kind, 0});
      if (card)
        return card;
      consumeError(card.takeError());
    }
    return cpu;
  }
  if (target.consume_front("emulator:")) {
    auto info = findGpuMachine(target);
    if (!info)
      return info.takeError();
    return RunTarget{
        "emulator", {}, info->name, {EmulatorPlan::numProcessors, info->costs}};
  }
  auto parsed = toExpected(parseTargetName(target));
  if (!parsed)
    return parsed.takeError();
  return parsed->driver ? findCard(*parsed) : cpu;
}

/// What card `number` of a driver is, or why it is not available.
static std::string describeCard(DriverKind kind, int number) {
  auto device = toExpected(GpuDevice::open(kind, number));
  if (!device)
    return "not available: " + toString(device.takeError());
  const GpuDevice &card = **device;
  auto arch = archOf(card);
  std::string what = arch ? *arch : toString(arch.takeError());
  return card.name() + ", " + what + ", driver " +
         std::to_string(card.driverVersion());
}

/// Without a driver or a card there is one, which says why.
static int countCards(DriverKind kind) {
  int count = 0;
  if (auto driver = GpuDriver::open(kind, ""))
    (*driver)->DeviceGetCount(&count);
  return std::max(count, 1);
}

std::string fa::run::listPlaces() {
  std::string text = "cpu   this machine's CPU\n";
  for (DriverKind kind : kDrivers)
    for (int number = 0; number < countCards(kind); ++number) {
      std::string name(infoOf(kind).target);
      if (number > 0)
        name += ":" + std::to_string(number);
      text += formatv("{0,-5} {1}\n", name, describeCard(kind, number));
    }
  text +=
      "emulator:sm_80, sm_86, sm_89, sm_90, sm_90a, gfx90a, gfx942, gfx950  "
      "a GPU program, checked, on this machine's CPU\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Calls `launch`, which gives its own time in milliseconds.
static Expected<Timing> measure(bool bench,
                                function_ref<Expected<double>()> launch) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  auto begin = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (bench)
    if (auto warmUp = launch(); !warmUp)
      return warmUp.takeError();
  do {
    auto time = launch();
    if (!time)
      return time.takeError();
    times.push_back(*time);
  } while (bench && (times.size() < 7 || elapsed() < 0.5));
  llvm::sort(times);
  return Timing{times[times.size() / 2], times.front(), times.back(),
                static_cast<int64_t>(times.size())};
}

static Execution makeExecution(const Artifact &artifact,
                               const LaunchChoice &choice, std::string device,
                               const Timing &timing) {
  Execution execution;
  execution.artifact = artifact;
  execution.kernels.assign(choice.kernels.begin(), choice.kernels.end());
  execution.splits = choice.splits;
  execution.workspaceBytes = choice.workspaceBytes;
  execution.device = std::move(device);
  execution.timing = timing;
  return execution;
}

static Expected<Execution> executeOnHost(Artifact artifact,
                                         ArrayRef<LaunchArgument> arguments,
                                         const Options &options) {
  auto device = std::make_shared<HostDevice>(options.threads);
  auto plan = HostPlan::load(std::move(artifact), device);
  if (!plan)
    return plan.takeError();
  auto choice = (*plan)->choose(arguments);
  if (!choice)
    return choice.takeError();
  auto timing = measure(options.bench, [&]() -> Expected<double> {
    auto start = std::chrono::steady_clock::now();
    if (Error error = (*plan)->launch(*choice, arguments))
      return error;
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  });
  if (!timing)
    return timing.takeError();
  return makeExecution((*plan)->artifact(), *choice,
                       std::to_string(device->numThreads()) + " threads",
                       *timing);
}

static Expected<Execution> executeInEmulator(Artifact artifact,
                                             ArrayRef<LaunchArgument> arguments,
                                             const Options &options) {
  auto device = std::make_shared<HostDevice>(options.threads);
  EmulatedProgram::Options how;
  how.seed = options.seed;
  how.count = options.counters;
  auto plan = EmulatorPlan::load(std::move(artifact), device, how);
  if (!plan)
    return plan.takeError();
  auto choice = (*plan)->choose(arguments);
  if (!choice)
    return choice.takeError();
  EmulatorCounters counters;
  auto timing = measure(options.bench, [&]() -> Expected<double> {
    auto start = std::chrono::steady_clock::now();
    auto counted = (*plan)->launch(arguments);
    if (!counted)
      return counted.takeError();
    counters = *counted;
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  });
  if (!timing)
    return timing.takeError();
  Execution execution =
      makeExecution((*plan)->artifact(), *choice,
                    std::to_string(device->numThreads()) + " threads", *timing);
  if (options.counters)
    execution.counters = counters;
  return execution;
}

static Expected<Execution> executeOnCard(TargetName card, Artifact artifact,
                                         ArrayRef<LaunchArgument> arguments,
                                         const Options &options) {
  auto device = toExpected(GpuDevice::open(*card.driver, card.card));
  if (!device)
    return device.takeError();
  auto plan = GpuPlan::load(std::move(artifact), *device);
  if (!plan)
    return plan.takeError();
  std::vector<GpuBuffer> buffers;
  auto copies = (*plan)->copyToDevice(arguments, buffers);
  if (!copies)
    return copies.takeError();
  auto workspace = GpuWorkspace::create(**plan, *copies);
  if (!workspace)
    return workspace.takeError();
  auto choice = (*plan)->choose(*copies, workspace->get());
  if (!choice)
    return choice.takeError();
  auto timer = GpuTimer::create(**device);
  if (!timer)
    return timer.takeError();
  auto timing = measure(options.bench, [&]() -> Expected<double> {
    if (Error error = (*timer)->start())
      return error;
    if (Error error =
            (*plan)->launch(*copies, /*stream=*/nullptr, workspace->get()))
      return error;
    return (*timer)->stop();
  });
  if (!timing)
    return timing.takeError();
  if (Error error = (*plan)->copyToHost(arguments, buffers))
    return error;
  return makeExecution((*plan)->artifact(), *choice,
                       (*device)->name() + ", driver " +
                           std::to_string((*device)->driverVersion()),
                       *timing);
}

Expected<Execution> fa::run::execute(const RunTarget &place, Artifact artifact,
                                     ArrayRef<LaunchArgument> arguments,
                                     const Options &options) {
  if (place.target == "emulator")
    return executeInEmulator(std::move(artifact), arguments, options);
  return place.name.driver
             ? executeOnCard(place.name, std::move(artifact), arguments,
                             options)
             : executeOnHost(std::move(artifact), arguments, options);
}
