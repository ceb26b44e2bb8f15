//===- LoadedBundle.cpp - a bundle on its devices -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedBundle.h"

using namespace fa;

//===----------------------------------------------------------------------===//
// Cards
//===----------------------------------------------------------------------===//

namespace {

class CardBundlePlan final : public BundlePlan {
public:
  CardBundlePlan(std::shared_ptr<const GpuModule> module, bool checkPointers)
      : module(std::move(module)), checkPointers(checkPointers) {}

  Result<LaunchChoice> choose(std::span<const LaunchArgument> arguments,
                              const Workspace &workspace,
                              void *stream) const override {
    auto choice = module->choose(arguments, workspace);
    if (!choice || !checkPointers)
      return choice;
    if (Failure failure = module->checkPointers(arguments))
      return failure;
    return choice;
  }

  Failure launch(const LaunchChoice &choice,
                 std::span<const LaunchArgument> arguments,
                 const Workspace &workspace, void *stream) const override {
    return module->launch(choice, arguments, workspace, stream);
  }

private:
  std::shared_ptr<const GpuModule> module;
  bool checkPointers;
};

} // namespace

static const BundleTarget *findTarget(const Bundle &bundle,
                                      const GpuDevice &device) {
  return device.isHip() ? bundle.findHipTarget(device.gcnArch())
                        : bundle.findCudaTarget(device.computeCapability());
}

/// "compute capability 7.5" or "architecture gfx1100".
static std::string describeCode(const GpuDevice &device) {
  int capability = device.computeCapability();
  return device.isHip() ? "architecture " + device.gcnArch()
                        : makeText("compute capability ", capability / 10, ".",
                                   capability % 10);
}

static Result<std::shared_ptr<const GpuModule>>
loadModule(const Bundle &bundle, const PrepareOptions &options) {
  auto device = GpuDevice::open(*options.target.driver, options.target.card,
                                options.driver);
  if (!device)
    return device.takeFailure();
  const BundleTarget *target = findTarget(bundle, **device);
  if (!target)
    return makeFailure(bundle.entry, ": expected code for ", (*device)->name(),
                       ", which has ", describeCode(**device),
                       ", found code for ", bundle.listArchs());
  auto module = GpuModule::load(target->kernels, target->arch,
                                target->code.c_str(), *device, target->costs);
  if (!module)
    return module.takeFailure();
  return std::shared_ptr<const GpuModule>(std::move(*module));
}

Result<std::shared_ptr<const GpuModule>>
LoadedBundle::findModule(const PrepareOptions &options) {
  // Held while the driver loads: a second thread waits for the first's module.
  std::lock_guard lock(mutex);
  std::erase_if(modules,
                [](const CardModule &m) { return m.module.expired(); });
  for (const CardModule &known : modules)
    if (known.kind == options.target.driver && known.driver == options.driver &&
        known.card == options.target.card)
      if (auto module = known.module.lock())
        return module;
  auto module = loadModule(bundle, options);
  if (module)
    modules.push_back(
        {*options.target.driver, options.driver, options.target.card, *module});
  return module;
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

namespace {

class HostBundlePlan final : public BundlePlan {
public:
  HostBundlePlan(std::vector<KernelInfo> kernels,
                 std::vector<HostFunction> functions,
                 std::shared_ptr<HostDevice> device)
      : kernels(std::move(kernels)), functions(std::move(functions)),
        device(std::move(device)) {}

  Result<LaunchChoice> choose(std::span<const LaunchArgument> arguments,
                              const Workspace &, void *stream) const override {
    if (stream)
      return makeFailure("expected no stream for the CPU, found one");
    return chooseOnHost(kernels, arguments, *device);
  }

  Failure launch(const LaunchChoice &choice,
                 std::span<const LaunchArgument> arguments, const Workspace &,
                 void *) const override {
    size_t first = choice.kernels.data() - kernels.data();
    return launchOnHost(choice, std::span(functions).subspan(first), *device,
                        arguments);
  }

private:
  std::vector<KernelInfo> kernels;
  std::vector<HostFunction> functions; ///< of `kernels`
  std::shared_ptr<HostDevice> device;
};

} // namespace

Result<std::unique_ptr<BundlePlan>>
LoadedBundle::prepareOnHost(const PrepareOptions &options) const {
  const BundleTarget *target = bundle.findHostTarget();
  if (!target)
    return makeFailure(bundle.entry, ": expected code for cpu, found code for ",
                       bundle.listArchs());
  std::vector<HostFunction> functions;
  for (const KernelInfo &kernel : target->kernels) {
    HostFunction found = nullptr;
    for (const faBundleFunction &function : options.functions)
      if (function.symbol && kernel.symbol == function.symbol)
        found = function.function;
    if (!found)
      return makeFailure("expected @", kernel.symbol, " of ", target->file,
                         " among the functions, found ",
                         options.functions.size(), " without it");
    functions.push_back(found);
  }
  return std::unique_ptr<BundlePlan>(new HostBundlePlan(
      target->kernels, std::move(functions), createHostDevice(options.host)));
}

Result<std::unique_ptr<BundlePlan>>
LoadedBundle::prepare(const PrepareOptions &options) {
  if (!options.target.driver)
    return prepareOnHost(options);
  auto module = findModule(options);
  if (!module)
    return module.takeFailure();
  return std::unique_ptr<BundlePlan>(
      new CardBundlePlan(std::move(*module), options.checkPointers));
}
