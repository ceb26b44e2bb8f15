//===- Launch.cpp - what a launch on any target takes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "CheckArguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <limits>

using namespace llvm;
using namespace fa;

LaunchArgument LaunchArgument::tensor(void *data, ElementType type,
                                      ArrayRef<int64_t> sizes,
                                      ArrayRef<int64_t> strides) {
  LaunchArgument result;
  result.isTensor = true;
  result.type = type;
  result.data = data;
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides.assign(strides.begin(), strides.end());
  return result;
}

LaunchArgument LaunchArgument::f32(float value) {
  LaunchArgument result;
  result.type = ElementType::F32;
  result.bits = std::bit_cast<uint32_t>(value);
  return result;
}

LaunchArgument LaunchArgument::index(int64_t value) {
  LaunchArgument result;
  result.type = ElementType::I64;
  result.bits = static_cast<uint64_t>(value);
  return result;
}

Expected<const KernelInfo *>
fa::selectKernel(const Artifact &artifact, ArrayRef<LaunchArgument> arguments) {
  if (Error error = checkArguments(artifact.kernels.back(), arguments))
    return error;
  for (const KernelInfo &kernel : artifact.kernels) {
    Error mismatch = checkVariant(kernel, arguments);
    if (!mismatch)
      return &kernel;
    // The last variant is the most general: its reason is the one to give.
    if (&kernel == &artifact.kernels.back())
      return mismatch;
    consumeError(std::move(mismatch));
  }
  llvm_unreachable("a plan has kernels");
}

Expected<int64_t> fa::evaluateGrid(const KernelInfo &kernel,
                                   ArrayRef<LaunchArgument> arguments,
                                   int64_t (&extents)[3]) {
  int64_t count = 1;
  for (size_t d = 0; d < 3; ++d) {
    extents[d] = 1;
    if (d >= kernel.grid.size())
      continue;
    auto extent = kernel.grid[d].evaluate([&](int64_t argument, int64_t dim) {
      return arguments[argument].sizes[dim];
    });
    if (!extent || MulOverflow(count, *extent, count))
      return createStringError("the grid of @" + kernel.symbol +
                               " has more programs than 64 bits can count");
    extents[d] = *extent;
  }
  return count;
}

Expected<int64_t> fa::evaluateLinearGrid(const KernelInfo &kernel,
                                         ArrayRef<LaunchArgument> arguments,
                                         int64_t (&extents)[3]) {
  auto count = evaluateGrid(kernel, arguments, extents);
  if (count && *count > std::numeric_limits<int32_t>::max())
    return createStringError("@" + kernel.symbol +
                             ": expected at most "
                             "2147483647 programs, found " +
                             Twine(*count));
  return count;
}

Error fa::sharedMemoryError(const KernelInfo &kernel, StringRef device,
                            int64_t limit) {
  return createStringError("@" + kernel.symbol + " needs " +
                           Twine(kernel.sharedBytes) +
                           " bytes of shared memory, " + device + " has " +
                           Twine(limit) + "; a smaller --tile helps");
}

SmallVector<int64_t, 64> fa::packWords(ArrayRef<LaunchArgument> arguments,
                                       ArrayRef<int64_t> extents) {
  SmallVector<int64_t, 64> words(extents);
  for (const LaunchArgument &argument : arguments) {
    if (!argument.isTensor) {
      words.push_back(static_cast<int64_t>(argument.bits));
      continue;
    }
    words.push_back(reinterpret_cast<intptr_t>(argument.data));
    append_range(words, argument.sizes);
    append_range(words, argument.strides);
  }
  return words;
}
