//===- BundleFuzzer.cpp - metadata of bundles -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Launch.h"
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
      for (const ArgumentInfo &info : kernel.args) {
        size_t rank = info.sizes.size();
        arguments.push_back(info.isMemRef
                                ? LaunchArgument::tensor(memory, info.type,
                                                         std::span(sizes, rank),
                                                         std::span(sizes, rank))
                                : LaunchArgument::f32(1));
      }
      int64_t extents[3];
      (void)evaluateGrid(kernel, arguments, extents);
      (void)selectKernel(std::span(&kernel, 1), arguments);
    }
  return 0;
}
