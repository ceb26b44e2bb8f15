//===- GpuPlan.cpp - an artifact, loaded on a card ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/GpuPlan.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Machine/NvidiaInfo.h"
#include "fa/Plan/Machine.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;

Expected<std::string> fa::archOf(const GpuDevice &device) {
  if (device.isHip()) {
    auto info = getAmdInfo(device.gcnArch());
    if (!info)
      return createStringError(device.name() + ": " +
                               toString(info.takeError()));
    return info->name.str();
  }
  const NvidiaInfo *info = findNvidiaInfo(device.computeCapability());
  if (!info)
    return createStringError(device.name() + " has compute capability " +
                             Twine(device.computeCapability() / 10) + "." +
                             Twine(device.computeCapability() % 10) +
                             ", expected 8.0 or more");
  return info->name.str();
}

int64_t fa::diesOf(const GpuDevice &device) {
  if (!device.isHip())
    return 0;
  auto info = getAmdInfo(device.gcnArch());
  if (info)
    return info->diesOf(device.numProcessors());
  consumeError(info.takeError());
  return 0;
}

LaunchMachine fa::launchMachineOf(const GpuDevice &device) {
  LaunchCosts costs;
  auto arch = archOf(device);
  auto machine = arch ? findGpuMachine(*arch) : arch.takeError();
  if (machine)
    costs = machine->costs;
  else
    consumeError(machine.takeError());
  return launchMachineOf(device, costs);
}

/// What the driver loads.
static const std::string &imageOf(const Artifact &artifact) {
  return artifact.object.empty() ? artifact.ptx : artifact.object;
}

Expected<std::unique_ptr<GpuPlan>>
GpuPlan::load(Artifact artifact, std::shared_ptr<GpuDevice> device) {
  auto module = GpuModule::load(artifact.kernels, artifact.arch,
                                imageOf(artifact).c_str(), std::move(device),
                                artifact.costs);
  if (!module)
    return toError(module.takeFailure());
  std::unique_ptr<GpuPlan> loaded(new GpuPlan);
  loaded->module = std::move(*module);
  loaded->plan = std::move(artifact);
  loaded->plan.kernels = loaded->module->kernels();
  return loaded;
}

std::unique_ptr<GpuPlan> GpuPlan::create(Artifact artifact,
                                         std::shared_ptr<GpuDevice> device) {
  std::unique_ptr<GpuPlan> plan(new GpuPlan);
  plan->module =
      GpuModule::create(artifact.kernels, std::move(device), artifact.costs);
  plan->plan = std::move(artifact);
  plan->plan.kernels = plan->module->kernels();
  return plan;
}

Expected<KernelInfo> GpuPlan::add(size_t number, const Artifact &code) {
  return toExpected(module->add(number, code.arch, imageOf(code).c_str()));
}

Expected<LaunchChoice> GpuPlan::choose(ArrayRef<LaunchArgument> arguments,
                                       const Workspace &workspace) const {
  return toExpected(module->choose(arguments, workspace));
}

Error GpuPlan::launch(ArrayRef<LaunchArgument> arguments, void *stream,
                      const Workspace &workspace) const {
  Expected<LaunchChoice> choice = choose(arguments, workspace);
  if (!choice)
    return choice.takeError();
  return launch(*choice, arguments, stream, workspace);
}

Error GpuPlan::launch(const LaunchChoice &choice,
                      ArrayRef<LaunchArgument> arguments, void *stream,
                      const Workspace &workspace) const {
  return toError(module->launch(choice, arguments, workspace, stream));
}

Error GpuPlan::synchronize(void *stream) const {
  return toError(module->device().synchronize(stream));
}

//===----------------------------------------------------------------------===//
// On host memory
//===----------------------------------------------------------------------===//

/// Bytes from element 0 to the end of the last one.
static size_t extentOf(const LaunchArgument &argument) {
  int64_t last = 0;
  for (auto [size, stride] : zip(argument.sizes, argument.strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return (last + 1) * byteSize(argument.type);
}

Expected<SmallVector<LaunchArgument>>
GpuPlan::copyToDevice(ArrayRef<LaunchArgument> arguments,
                      std::vector<GpuBuffer> &buffers) const {
  // What does not fit the kernel may not have the extent that it says.
  auto choice = choose(arguments, Workspace::any());
  if (!choice)
    return choice.takeError();
  SmallVector<LaunchArgument> copies(arguments);
  for (LaunchArgument &argument : copies) {
    if (!argument.isTensor)
      continue;
    // As aligned as the original: what the kernels want at most is 16 bytes.
    auto buffer =
        GpuBuffer::create(module->device(), extentOf(argument),
                          reinterpret_cast<uintptr_t>(argument.data) % 16);
    if (!buffer)
      return buffer.takeError();
    if (extentOf(argument))
      if (Error error = buffer->copyFromHost(argument.data))
        return error;
    argument.data = buffer->data();
    buffers.push_back(std::move(*buffer));
  }
  return copies;
}

Error GpuPlan::copyToHost(ArrayRef<LaunchArgument> arguments,
                          const std::vector<GpuBuffer> &buffers) const {
  size_t next = 0;
  for (auto [argument, info] : zip(arguments, plan.kernels.back().args)) {
    if (!argument.isTensor)
      continue;
    const GpuBuffer &buffer = buffers[next++];
    if (info.access != Access::In && extentOf(argument))
      if (Error error = buffer.copyToHost(argument.data))
        return error;
  }
  return Error::success();
}

Expected<GpuWorkspace>
GpuWorkspace::create(const GpuPlan &plan, ArrayRef<LaunchArgument> arguments) {
  auto choice = plan.choose(arguments, Workspace::any());
  if (!choice)
    return choice.takeError();
  GpuWorkspace result;
  if (choice->workspaceBytes == 0)
    return result;
  auto buffer = GpuBuffer::create(plan.device(), choice->workspaceBytes);
  if (!buffer)
    return buffer.takeError();
  result.bytes = choice->workspaceBytes;
  result.buffer.emplace(std::move(*buffer));
  return result;
}

Error GpuPlan::launchOnHostMemory(ArrayRef<LaunchArgument> arguments) const {
  std::vector<GpuBuffer> buffers;
  auto copies = copyToDevice(arguments, buffers);
  if (!copies)
    return copies.takeError();
  auto workspace = GpuWorkspace::create(*this, *copies);
  if (!workspace)
    return workspace.takeError();
  if (Error error = launch(*copies, nullptr, workspace->get()))
    return error;
  if (Failure failure = module->device().synchronize())
    return toError(failure);
  return copyToHost(arguments, buffers);
}
