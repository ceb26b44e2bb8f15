//===- HostLaunch.cpp - launches on the host CPU --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/HostLaunch.h"

using namespace fa;

static Failure failOfMemory(int64_t bytes, unsigned threads) {
  return makeFailure("cannot allocate ", bytes,
                     " bytes of scratch for each of ", threads, " threads");
}

static Failure run(const KernelInfo &kernel, HostFunction function,
                   HostDevice &device,
                   std::span<const LaunchArgument> arguments,
                   unsigned mostThreads) {
  int64_t extents[3];
  Result<int64_t> count = evaluateGrid(kernel, arguments, extents);
  if (!count)
    return count.takeFailure();
  int64_t words[kMaxWords];
  packWords(arguments, extents, words);
  bool ran = device.run(
      *count, kernel.scratchBytes,
      [&](int64_t index, void *scratch) {
        // In the order of a GPU's: kernels number long programs first.
        int64_t rest = index / extents[0];
        function(index % extents[0], rest % extents[1], rest / extents[1],
                 words, scratch);
      },
      mostThreads);
  if (!ran)
    return failOfMemory(kernel.scratchBytes, device.numThreads());
  return {};
}

Failure fa::launchOnHost(const LaunchChoice &choice,
                         std::span<const HostFunction> functions,
                         HostDevice &device,
                         std::span<const LaunchArgument> arguments) {
  HostDevice::Memory memory;
  if (choice.workspaceBytes) {
    memory = device.borrow(choice.workspaceBytes);
    if (!memory.data)
      return failOfMemory(choice.workspaceBytes, /*threads=*/1);
  }
  KernelArguments all(choice, arguments, {memory.data, choice.workspaceBytes});
  Failure failure;
  // A merge of splits is done before other threads are awake.
  bool merges = !choice.kernels.front().splitKeys.steps.empty();
  for (size_t n = 0; n < choice.kernels.size() && !failure; ++n)
    failure = run(choice.kernels[n], functions[n], device, all.get(),
                  n && merges ? 1 : ~0u);
  if (memory.data)
    device.giveBack(memory);
  return failure;
}
