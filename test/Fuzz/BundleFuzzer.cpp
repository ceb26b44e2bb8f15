//===- BundleFuzzer.cpp - metadata of bundles -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Loader/Bundle.h"

using namespace fa;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bundle = parseBundleMetadata(
      std::string(reinterpret_cast<const char *>(data), size));
  if (!bundle)
    return 0;
  // Plans that were accepted can be asked: arguments of any sizes are refused
  // or evaluated.
  const int64_t sizes[kMaxRank] = {1, 2, 3, 64, 1, 1, 1, 1};
  for (const BundleTarget &target : bundle->targets)
    for (const KernelInfo &kernel : target.kernels) {
      std::vector<LaunchArgument> arguments;
      static char memory[64];
      std::span given(kernel.args.data(), kernel.numGiven());
      for (const ArgumentInfo &info : given) {
        size_t rank = info.sizes.size();
        arguments.push_back(info.isMemRef
                                ? LaunchArgument::tensor(memory, info.type,
                                                         std::span(sizes, rank),
                                                         std::span(sizes, rank))
                                : LaunchArgument::f32(1));
      }
      (void)selectKernel(std::span(&kernel, 1), arguments);
      auto choice = chooseLaunch(target.kernels, arguments, /*processors=*/108,
                                 Workspace::any());
      if (!choice)
        continue;
      KernelArguments all(*choice, arguments, Workspace());
      int64_t extents[3];
      for (const KernelInfo &chosen : choice->kernels)
        (void)evaluateGrid(chosen, all.get(), extents);
    }
  return 0;
}
