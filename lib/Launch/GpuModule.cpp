//===- GpuModule.cpp - a plan's kernels on a card -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/GpuModule.h"

#include "fa/Launch/CardCosts.h"
#include "fa/Launch/TensorMap.h"

#include <cassert>

using namespace fa;

/// Words of 64 bits in 4 KiB, what every driver takes as a kernel's parameters
/// (CUDA C++ Programming Guide, "__global__ Function Parameters").
static constexpr size_t kParameterWords = 512;

/// The driver's log explains a failure.
Result<void *> GpuModule::loadImage(std::string_view arch, const void *image) {
  const GpuDriver &driver = card->driver();
  // CU_JIT_ERROR_LOG_BUFFER and its size, which travels as a pointer; HIP has
  // the same numbers and writes nothing.
  char log[4096] = {};
  int options[] = {5, 6};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  void *module = nullptr;
  int status = driver.ModuleLoadDataEx(&module, image, 2, options, values);
  if (Failure failure = driver.check(status, "cannot load the kernels for ",
                                     arch, log[0] ? ": " : "", log))
    return failure;
  modules.push_back(module);
  return module;
}

/// The words, and behind them the tensor maps, each aligned to its 64 bytes.
static size_t countParameterWords(const KernelInfo &kernel) {
  constexpr size_t map = sizeof(TensorMap) / 8, alignment = 8;
  size_t words = countWords(kernel);
  if (kernel.tensorMaps.empty())
    return words;
  return (words + alignment - 1) / alignment * alignment +
         kernel.tensorMaps.size() * map;
}

unsigned GpuModule::askedShared(const KernelInfo &kernel) const {
  return card->isHip() ? 0 : static_cast<unsigned>(kernel.sharedBytes);
}

bool GpuModule::hasEarlyLaunch() const {
  // CUDA 12.3 is the first whose graphs have such launches (CUDA Programming
  // Guide, "CUDA Graphs", edge data), and a launch may be captured.
  return card->driver().LaunchKernelEx && card->driverVersion() >= 12030;
}

Failure GpuModule::allowShared(void *function, const KernelInfo &kernel) const {
  const GpuDriver &driver = card->driver();
  if (card->isHip())
    return {};
  // A multiprocessor holds blocks of two kernels if they want the same part of
  // its memory as cache: as little as the kernel before. It is a hint.
  if (kernel.beginsEarly && hasEarlyLaunch())
    driver.FuncSetAttribute(function, GpuDriver::functionSharedCarveout, 100);
  return driver.check(
      driver.FuncSetAttribute(function, GpuDriver::functionMaxDynamicShared,
                              static_cast<int>(kernel.sharedBytes)),
      "@", kernel.symbol, ": cuFuncSetAttribute");
}

Result<void *> GpuModule::prepare(void *module, KernelInfo &kernel) {
  const GpuDriver &driver = card->driver();
  if (kernel.sharedBytes > card->sharedLimit())
    return makeFailure("@", kernel.symbol, " needs ", kernel.sharedBytes,
                       " bytes of shared memory, ", card->name(), " has ",
                       card->sharedLimit(), "; a smaller --tile helps");
  if (kernel.tensorMaps.size() > kMaxTensorMaps)
    return makeFailure("@", kernel.symbol, " needs ", kernel.tensorMaps.size(),
                       " tensor maps, a kernel may have ", kMaxTensorMaps);
  if (size_t words = countParameterWords(kernel); words > kParameterWords)
    return makeFailure("@", kernel.symbol, " needs ", words,
                       " words of parameters, a kernel may have ",
                       kParameterWords);
  void *function = nullptr;
  if (Failure failure = driver.check(
          driver.ModuleGetFunction(&function, module, kernel.symbol.c_str()),
          "cannot find @", kernel.symbol))
    return failure;
  if (Failure failure = allowShared(function, kernel))
    return failure;
  int value = 0;
  if (!driver.FuncGetAttribute(&value, GpuDriver::functionNumRegs, function))
    kernel.registers = value;
  if (!driver.FuncGetAttribute(&value, GpuDriver::functionLocalBytes, function))
    kernel.stackBytes = value;
  if (!driver.OccupancyMaxActiveBlocksPerMultiprocessor(
          &value, function, static_cast<int>(kernel.threads),
          askedShared(kernel)) &&
      value > 0)
    kernel.residentBlocks = value;
  return function;
}

LaunchMachine fa::launchMachineOf(const GpuDevice &card,
                                  const LaunchCosts &costs) {
  return {card.numProcessors(),
          findCosts({.computeCapability = card.computeCapability(),
                     .processors = card.numProcessors(),
                     .bandwidth = card.bandwidth()},
                    costs)};
}

GpuModule::GpuModule(std::vector<KernelInfo> kernels,
                     std::shared_ptr<GpuDevice> device,
                     const LaunchCosts &costs)
    : infos(std::move(kernels)), card(std::move(device)),
      machine(launchMachineOf(*card, costs)), functions(infos.size()) {
  if (std::ranges::any_of(infos, [](const KernelInfo &kernel) {
        return !kernel.tensorMaps.empty();
      }))
    tensorMaps.reserve();
}

Result<std::unique_ptr<GpuModule>>
GpuModule::load(std::vector<KernelInfo> kernels, std::string_view arch,
                const void *image, std::shared_ptr<GpuDevice> device,
                const LaunchCosts &costs) {
  std::unique_ptr<GpuModule> result(
      new GpuModule(std::move(kernels), std::move(device), costs));
  GpuDevice::Current current(*result->card);
  if (Failure failure = current.failure())
    return failure;
  auto module = result->loadImage(arch, image);
  if (!module)
    return module.takeFailure();
  for (size_t n = 0; n < result->infos.size(); ++n) {
    auto function = result->prepare(*module, result->infos[n]);
    if (!function)
      return function.takeFailure();
    result->functions[n] = *function;
  }
  return result;
}

std::unique_ptr<GpuModule> GpuModule::create(std::vector<KernelInfo> kernels,
                                             std::shared_ptr<GpuDevice> device,
                                             const LaunchCosts &costs) {
  std::unique_ptr<GpuModule> result(
      new GpuModule(std::move(kernels), std::move(device), costs));
  result->residentBlocks =
      std::vector<std::atomic<int64_t>>(result->infos.size());
  return result;
}

Result<KernelInfo> GpuModule::add(size_t number, std::string_view arch,
                                  const void *image) {
  GpuDevice::Current current(*card);
  if (Failure failure = current.failure())
    return failure;
  auto module = loadImage(arch, image);
  if (!module)
    return module.takeFailure();
  KernelInfo kernel = infos[number];
  auto function = prepare(*module, kernel);
  if (!function)
    return function.takeFailure();
  residentBlocks[number].store(kernel.residentBlocks);
  functions[number].store(*function, std::memory_order_release);
  return kernel;
}

GpuModule::~GpuModule() {
  if (modules.empty())
    return;
  GpuDevice::Current current(*card);
  for (void *module : modules)
    card->driver().ModuleUnload(module);
}

int64_t GpuModule::countPlaces(const KernelInfo &kernel) const {
  // Blocks of a cluster are on different processors.
  if (kernel.cluster > 1)
    return card->numProcessors();
  int64_t blocks = residentBlocks.empty()
                       ? kernel.residentBlocks
                       : residentBlocks[&kernel - infos.data()].load();
  return card->numProcessors() * std::max<int64_t>(blocks, 1);
}

Failure GpuModule::launch(const LaunchChoice &choice,
                          std::span<const LaunchArgument> arguments,
                          const Workspace &workspace, void *stream) const {
  KernelArguments all(choice, arguments, workspace);
  std::optional<GpuDevice::Current> current;
  for (const KernelInfo &kernel : choice.kernels) {
    Grid grid;
    Result<int64_t> count = evaluateGrid(kernel, all.get(), grid.extents);
    if (!count)
      return count.takeFailure();
    if (*count <= 0)
      continue;
    Result<int64_t> blocks =
        countBlocks(kernel, *count, grid.extents[0], countPlaces(kernel));
    if (!blocks)
      return blocks.takeFailure();
    grid.blocks = *blocks;
    int64_t most = card->driver().info().maxGridThreads;
    if (grid.blocks > most / kernel.threads)
      return makeFailure("@", kernel.symbol, ": expected at most ", most,
                         " threads in a grid, found ", grid.blocks,
                         " blocks of ", kernel.threads);
    if (!current)
      current.emplace(*card);
    if (Failure failure = current->failure())
      return failure;
    // What is in front of it in the stream is no kernel if it has a counter.
    grid.isEarly = kernel.beginsEarly && !kernel.dynamic && hasEarlyLaunch();
    if (Failure failure = resetCounter(kernel, all.get(), stream))
      return failure;
    if (Failure failure = enqueue(kernel, all.get(), grid, stream))
      return failure;
  }
  return {};
}

/// The stream does so before the kernel begins, in each replay of a graph, too.
/// Launches that run at a time have workspace of their own.
Failure GpuModule::resetCounter(const KernelInfo &kernel,
                                std::span<const LaunchArgument> arguments,
                                void *stream) const {
  if (!kernel.dynamic)
    return {};
  const GpuDriver &driver = card->driver();
  auto counter = reinterpret_cast<uintptr_t>(arguments.back().data);
  return driver.check(driver.MemsetD32Async(counter, 0, 1, stream),
                      "cannot set the counter of @", kernel.symbol, " to 0");
}

/// In the card's context: encoding a tensor map asks the current one what its
/// device can do.
Failure GpuModule::enqueue(const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments,
                           const Grid &grid, void *stream) const {
  int64_t words[kParameterWords];
  packWords(arguments, grid.extents, words);
  void *parameters[1 + kMaxTensorMaps] = {words};
  TensorMap maps[kMaxTensorMaps];
  for (size_t n = 0; n < kernel.tensorMaps.size(); ++n) {
    const TensorMapInfo &info = kernel.tensorMaps[n];
    if (Failure failure =
            tensorMaps.get(card->driver(), info, arguments[info.argument],
                           groupOf(kernel, info, arguments), maps[n]))
      return failure;
    parameters[1 + n] = &maps[n];
  }
  const GpuDriver &driver = card->driver();
  void *function = functions[&kernel - infos.data()];
  assert(function && "a kernel that is launched is loaded");
  auto blocks = static_cast<unsigned>(grid.blocks);
  auto threads = static_cast<unsigned>(kernel.threads);
  int status;
  if (grid.isEarly) {
    LaunchConfig::Attribute early = {
        GpuDriver::launchProgrammaticSerialization, 1, {}};
    LaunchConfig config = {{blocks, 1, 1}, {threads, 1, 1}, askedShared(kernel),
                           stream,         &early,          1};
    status = driver.LaunchKernelEx(&config, function, parameters, nullptr);
  } else {
    status =
        driver.LaunchKernel(function, blocks, 1, 1, threads, 1, 1,
                            askedShared(kernel), stream, parameters, nullptr);
  }
  return driver.check(status, "cannot launch @", kernel.symbol);
}

Failure
GpuModule::checkPointers(std::span<const LaunchArgument> arguments) const {
  if (card->readsHostMemory())
    return {};
  GpuDevice::Current current(*card);
  if (Failure failure = current.failure())
    return failure;
  for (size_t n = 0; n < arguments.size(); ++n) {
    if (!arguments[n].isTensor || !arguments[n].data)
      continue;
    // The driver does not know memory that it did not allocate or register.
    unsigned memoryType = 0;
    if (card->driver().PointerGetAttribute(
            &memoryType, GpuDriver::pointerMemoryType,
            reinterpret_cast<uintptr_t>(arguments[n].data)))
      return makeFailure("argument ", n, ": expected memory that ",
                         card->name(),
                         " can reach, found a pointer that its "
                         "driver does not know (host memory?)");
  }
  return {};
}
