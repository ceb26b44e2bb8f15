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
  StringMap<HostFunction> functions;
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
    impl->functions[kernel.symbol] = address->toPtr<HostFunction>();
  }
  return std::unique_ptr<HostPlan>(new HostPlan(std::move(impl)));
}

Expected<const KernelInfo *>
HostPlan::select(ArrayRef<LaunchArgument> arguments) const {
  return selectKernel(impl->artifact, arguments);
}

Error HostPlan::launch(ArrayRef<LaunchArgument> arguments) const {
  Expected<const KernelInfo *> kernel = select(arguments);
  if (!kernel)
    return kernel.takeError();
  return launch(**kernel, arguments);
}

Error HostPlan::launch(const KernelInfo &kernel,
                       ArrayRef<LaunchArgument> arguments) const {
  return toError(launchOnHost(kernel, impl->functions.lookup(kernel.symbol),
                              *impl->device, arguments));
}
