//===- HostPlan.cpp - an artifact, loaded and ready to launch -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/HostPlan.h"

#include "fa/Target/HostInfo.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace fa;

class HostPlan::Impl {
public:
  Impl(Artifact artifact, std::shared_ptr<HostDevice> device,
       std::unique_ptr<orc::ExecutorProcessControl> process)
      : artifact(std::move(artifact)), device(std::move(device)),
        session(std::move(process)), linker(session) {}
  ~Impl() { cantFail(session.endSession()); }

  Error link();

  Artifact artifact;
  std::shared_ptr<HostDevice> device;
  /// ORC's linker alone: there is nothing to compile, and LLJIT makes code
  /// generators of the host for it.
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer linker;
  std::vector<HostFunction> functions; ///< of the artifact's kernels
};

HostPlan::HostPlan(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
HostPlan::~HostPlan() = default;

const Artifact &HostPlan::artifact() const { return impl->artifact; }

Error HostPlan::Impl::link() {
  orc::JITDylib &library = session.createBareJITDylib("flashtile");
  // A kernel calls functions of the C library: memcpy, and of libm the scalar
  // ones that a program asks for.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      /*GlobalPrefix=*/'\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  if (Error error = linker.add(
          library,
          MemoryBuffer::getMemBufferCopy(artifact.object, "flashtile-kernels")))
    return error;
  for (const KernelInfo &kernel : artifact.kernels) {
    auto symbol = session.lookup({&library}, kernel.symbol);
    if (!symbol)
      return symbol.takeError();
    functions.push_back(symbol->getAddress().toPtr<HostFunction>());
  }
  return Error::success();
}

/// Code for this machine has AMX where the system was asked and grants it
/// (getHostInfo); for a CPU that was named nobody has looked yet.
static Error checkNamedCpu(const Artifact &artifact) {
  if (Error error = checkRunsHere(artifact.arch, artifact.features))
    return error;
  if (!artifact.features.empty())
    return Error::success();
  auto host = getHostInfo(artifact.arch);
  if (!host)
    return host.takeError();
  if (host->tileDots && !host->emulatesTiles && !requestMatrixTiles())
    return createStringError(
        "code for '" + artifact.arch +
        "' needs the registers of AMX, which the system does not grant");
  return Error::success();
}

Expected<std::unique_ptr<HostPlan>>
HostPlan::load(Artifact artifact, std::shared_ptr<HostDevice> device) {
  if (Error error = checkNamedCpu(artifact))
    return error;
  auto process = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  auto impl = std::make_unique<Impl>(std::move(artifact), std::move(device),
                                     std::move(*process));
  if (Error error = impl->link())
    return error;
  return std::unique_ptr<HostPlan>(new HostPlan(std::move(impl)));
}

Expected<LaunchChoice>
HostPlan::choose(ArrayRef<LaunchArgument> arguments) const {
  return toExpected(
      chooseOnHost(impl->artifact.kernels, arguments, *impl->device));
}

Error HostPlan::launch(ArrayRef<LaunchArgument> arguments) const {
  Expected<LaunchChoice> choice = choose(arguments);
  if (!choice)
    return choice.takeError();
  return launch(*choice, arguments);
}

Error HostPlan::launch(const LaunchChoice &choice,
                       ArrayRef<LaunchArgument> arguments) const {
  size_t first = choice.kernels.data() - impl->artifact.kernels.data();
  return toError(launchOnHost(choice, std::span(impl->functions).subspan(first),
                              *impl->device, arguments));
}
