//===- HostPlan.cpp - an artifact, loaded and ready to launch -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/HostPlan.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;
using namespace fa;

class HostPlan::Impl {
public:
  Artifact artifact;
  std::shared_ptr<HostDevice> device;
  std::unique_ptr<orc::LLJIT> jit;
  std::vector<HostFunction> functions; ///< of the artifact's kernels
};

HostPlan::HostPlan(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
HostPlan::~HostPlan() = default;

const Artifact &HostPlan::artifact() const { return impl->artifact; }

Expected<std::unique_ptr<HostPlan>>
HostPlan::load(Artifact artifact, std::shared_ptr<HostDevice> device) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto impl = std::make_unique<Impl>();
  impl->artifact = std::move(artifact);
  impl->device = std::move(device);
  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  impl->jit = std::move(*jit);
  // A kernel calls functions of the C library: memcpy, and of libm the scalar
  // ones that a program asks for.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      impl->jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  impl->jit->getMainJITDylib().addGenerator(std::move(*process));
  auto object = MemoryBuffer::getMemBufferCopy(impl->artifact.object,
                                               "flashtile-kernels");
  if (Error error = impl->jit->addObjectFile(std::move(object)))
    return error;
  for (const KernelInfo &kernel : impl->artifact.kernels) {
    auto address = impl->jit->lookup(kernel.symbol);
    if (!address)
      return address.takeError();
    impl->functions.push_back(address->toPtr<HostFunction>());
  }
  return std::unique_ptr<HostPlan>(new HostPlan(std::move(impl)));
}

Expected<LaunchChoice>
HostPlan::choose(ArrayRef<LaunchArgument> arguments) const {
  return toExpected(chooseOnHost(impl->artifact.kernels, arguments));
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
