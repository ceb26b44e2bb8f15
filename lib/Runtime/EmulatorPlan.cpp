//===- EmulatorPlan.cpp - an artifact, loaded in the emulator -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/EmulatorPlan.h"

#include "Launch.h"

#include "fa/Target/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

Expected<std::unique_ptr<EmulatorPlan>>
EmulatorPlan::load(Artifact artifact, std::shared_ptr<HostDevice> device,
                   EmulatedProgram::Options options) {
  auto info = getNvidiaInfo(artifact.arch);
  if (!info)
    return info.takeError();
  for (const KernelInfo &kernel : artifact.kernels)
    if (kernel.sharedBytes > info->sharedLimit)
      return sharedMemoryError(kernel, info->name, info->sharedLimit);
  std::unique_ptr<EmulatorPlan> loaded(new EmulatorPlan);
  auto program = EmulatedProgram::load(artifact);
  if (!program)
    return program.takeError();
  loaded->program = std::move(*program);
  loaded->plan = std::move(artifact);
  loaded->device = std::move(device);
  loaded->options = options;
  return loaded;
}

Expected<const KernelInfo *>
EmulatorPlan::select(ArrayRef<LaunchArgument> arguments) const {
  return selectKernel(plan, arguments);
}

Expected<EmulatorCounters>
EmulatorPlan::launch(ArrayRef<LaunchArgument> arguments) const {
  Expected<const KernelInfo *> kernel = select(arguments);
  if (!kernel)
    return kernel.takeError();
  int64_t extents[3];
  Expected<int64_t> count = evaluateLinearGrid(**kernel, arguments, extents);
  if (!count)
    return count.takeError();
  if (*count == 0)
    return EmulatorCounters();
  auto words = packWords(arguments, extents);
  auto inParallel = [&](int64_t blocks,
                        const std::function<void(int64_t)> &body) {
    device->run(blocks, 0, [&](int64_t index, void *) { body(index); });
  };
  return program->run(**kernel, arguments, words, *count, options, inParallel);
}
