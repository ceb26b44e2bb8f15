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

class CudaBundlePlan final : public BundlePlan {
public:
  CudaBundlePlan(std::shared_ptr<const CudaModule> module, bool checkPointers)
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
  std::shared_ptr<const CudaModule> module;
  bool checkPointers;
};

} // namespace

static Result<std::shared_ptr<const CudaModule>>
loadModule(const Bundle &bundle, const PrepareOptions &options) {
  auto device = CudaDevice::open(options.target.card, options.driver);
  if (!device)
    return device.takeFailure();
  int capability = (*device)->computeCapability();
  const BundleTarget *target = bundle.findCudaTarget(capability);
  if (!target)
    return makeFailure(bundle.entry, ": expected code for ", (*device)->name(),
                       ", which has compute capability ", capability / 10, ".",
                       capability % 10, ", found code for ",
                       bundle.listArchs());
  auto module = CudaModule::load(target->kernels, target->arch,
                                 target->code.c_str(), *device);
  if (!module)
    return module.takeFailure();
  return std::shared_ptr<const CudaModule>(std::move(*module));
}

Result<std::shared_ptr<const CudaModule>>
LoadedBundle::findModule(const PrepareOptions &options) {
  // Held while the driver loads: a second thread waits for the first's module.
  std::lock_guard lock(mutex);
  std::erase_if(modules,
                [](const CardModule &m) { return m.module.expired(); });
  for (const CardModule &known : modules)
    if (known.driver == options.driver && known.card == options.target.card)
      if (auto module = known.module.lock())
        return module;
  auto module = loadModule(bundle, options);
  if (module)
    modules.push_back({options.driver, options.target.card, *module});
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
    return chooseLaunch(kernels, arguments, /*processors=*/1, Workspace());
  }

  Failure launch(const LaunchChoice &choice,
                 std::span<const LaunchArgument> arguments, const Workspace &,
                 void *) const override {
    const KernelInfo &kernel = choice.kernels.front();
    return launchOnHost(kernel, functions[&kernel - kernels.data()], *device,
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
  if (!options.target.isCuda)
    return prepareOnHost(options);
  auto module = findModule(options);
  if (!module)
    return module.takeFailure();
  return std::unique_ptr<BundlePlan>(
      new CudaBundlePlan(std::move(*module), options.checkPointers));
}
