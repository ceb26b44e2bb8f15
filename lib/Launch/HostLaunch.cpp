//===- HostLaunch.cpp - launches on the host CPU --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/HostLaunch.h"

using namespace fa;

Failure fa::launchOnHost(const KernelInfo &kernel, HostFunction function,
                         HostDevice &device,
                         std::span<const LaunchArgument> arguments) {
  int64_t extents[3];
  Result<int64_t> count = evaluateGrid(kernel, arguments, extents);
  if (!count)
    return count.takeFailure();
  int64_t words[kMaxWords];
  packWords(arguments, extents, words);
  bool ran = device.run(
      *count, kernel.scratchBytes, [&](int64_t index, void *scratch) {
        int64_t id0 = index % extents[0], rest = index / extents[0];
        function(id0, rest % extents[1], rest / extents[1], words, scratch);
      });
  if (!ran)
    return makeFailure("cannot allocate ", kernel.scratchBytes,
                       " bytes of scratch for each of ", device.numThreads(),
                       " threads");
  return {};
}
