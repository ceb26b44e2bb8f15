//===- EmulatorPlan.cpp - an artifact, loaded in the emulator -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/EmulatorPlan.h"

#include "fa/Plan/Machine.h"
#include "fa/Runtime/ToError.h"
#include "fa/Target/HostInfo.h"

#include <limits>

using namespace llvm;
using namespace fa;

Expected<std::unique_ptr<EmulatorPlan>>
EmulatorPlan::load(Artifact artifact, std::shared_ptr<HostDevice> device,
                   EmulatedProgram::Options options) {
  if (Error error = checkRunsHere(artifact.hostCpu, artifact.features))
    return error;
  auto info = findGpuMachine(artifact.arch);
  if (!info)
    return info.takeError();
  for (const KernelInfo &kernel : artifact.kernels) {
    // What no card would launch.
    if (Failure failure = checkKernel(kernel))
      return toError(failure);
    if (kernel.sharedBytes > info->sharedBytes)
      return createStringError(
          "@" + kernel.symbol + " needs " + Twine(kernel.sharedBytes) +
          " bytes of shared memory, " + info->name + " has " +
          Twine(info->sharedBytes) + "; a smaller --tile helps");
  }
  std::unique_ptr<EmulatorPlan> loaded(new EmulatorPlan);
  auto program =
      EmulatedProgram::load({artifact.object, artifact.sites, artifact.arch,
                             artifact.hostCpu, artifact.features});
  if (!program)
    return program.takeError();
  loaded->program = std::move(*program);
  loaded->plan = std::move(artifact);
  loaded->device = std::move(device);
  loaded->options = options;
  return loaded;
}

Expected<LaunchChoice>
EmulatorPlan::choose(ArrayRef<LaunchArgument> arguments) const {
  return toExpected(chooseLaunch(
      plan.kernels, arguments, {numProcessors, plan.costs}, Workspace::any()));
}

Expected<EmulatorCounters>
EmulatorPlan::launch(ArrayRef<LaunchArgument> arguments) const {
  Expected<LaunchChoice> choice = choose(arguments);
  if (!choice)
    return choice.takeError();
  // A number in workspace that no kernel has written is a NaN.
  std::vector<float> memory(choice->workspaceBytes / sizeof(float) +
                                kWorkspaceAlignment,
                            std::numeric_limits<float>::quiet_NaN());
  Workspace workspace;
  workspace.bytes = choice->workspaceBytes;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  workspace.data = reinterpret_cast<void *>(
      alignTo(reinterpret_cast<uintptr_t>(memory.data()), kWorkspaceAlignment));
  KernelArguments all(*choice, arguments, workspace);
  EmulatorCounters sum;
  for (const KernelInfo &kernel : choice->kernels) {
    auto counted = run(kernel, all.get());
    if (!counted)
      return counted.takeError();
    sum += *counted;
  }
  return sum;
}

Expected<EmulatorCounters>
EmulatorPlan::run(const KernelInfo &kernel,
                  ArrayRef<LaunchArgument> arguments) const {
  int64_t extents[3];
  Expected<int64_t> count =
      toExpected(evaluateGrid(kernel, arguments, extents));
  if (!count)
    return count.takeError();
  if (*count <= 0)
    return EmulatorCounters();
  Expected<int64_t> blocks = toExpected(
      countBlocks(kernel, *count, extents[0], numProcessors * kernel.cluster));
  if (!blocks)
    return blocks.takeError();
  if (kernel.dynamic)
    *static_cast<int32_t *>(arguments.back().data) = 0;
  SmallVector<int64_t> words(countWords(kernel));
  packWords(arguments, extents, words);
  auto inParallel = [&](int64_t blocks,
                        const std::function<void(int64_t)> &body) {
    device->run(blocks, 0, [&](int64_t index, void *) { body(index); });
  };
  return program->run(kernel, arguments, words, *blocks, options, inParallel);
}
