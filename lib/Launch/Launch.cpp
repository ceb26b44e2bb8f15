//===- Launch.cpp - what a launch on any target takes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Launch.h"

#include "fa/Launch/ChooseLaunch.h"

#include <algorithm>
#include <bit>
#include <limits>

using namespace fa;

void fa::fillContiguousStrides(std::span<const int64_t> sizes,
                               std::span<int64_t> strides) {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step))
      step = std::numeric_limits<int64_t>::max();
  }
}

LaunchArgument LaunchArgument::tensor(void *data, ElementType type,
                                      std::span<const int64_t> sizes,
                                      std::span<const int64_t> strides) {
  LaunchArgument result;
  result.isTensor = true;
  result.type = type;
  result.data = data;
  result.sizes.assign(sizes);
  result.strides.assign(strides);
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

Result<const KernelInfo *>
fa::selectKernel(std::span<const KernelInfo> kernels,
                 std::span<const LaunchArgument> arguments) {
  assert(!kernels.empty() && "a plan has kernels");
  auto choice = chooseLaunch(kernels, arguments, /*processors=*/1, Workspace());
  if (!choice)
    return choice.takeFailure();
  return &choice->kernels.front();
}

Result<int64_t> fa::evaluateGrid(const KernelInfo &kernel,
                                 std::span<const LaunchArgument> arguments,
                                 int64_t (&extents)[3]) {
  auto sizeOf = [&](int64_t argument, int64_t dim) {
    return arguments[argument].sizes[dim];
  };
  return evaluateGrid(kernel, sizeOf, extents);
}

Result<int64_t> fa::evaluateGrid(
    const KernelInfo &kernel,
    const std::function<int64_t(int64_t argument, int64_t dim)> &sizeOf,
    int64_t (&extents)[3]) {
  int64_t count = 1;
  for (size_t d = 0; d < 3; ++d) {
    extents[d] = 1;
    if (d >= kernel.grid.size())
      continue;
    auto extent = kernel.grid[d].evaluate(sizeOf);
    if (!extent || __builtin_mul_overflow(count, *extent, &count))
      return makeFailure("the grid of @", kernel.symbol,
                         " has more programs than 64 bits can count");
    extents[d] = *extent;
  }
  return count;
}

Result<int64_t> fa::countBlocks(const KernelInfo &kernel, int64_t programs,
                                int64_t inARow, int64_t places) {
  if (programs > std::numeric_limits<int32_t>::max())
    return makeFailure("@", kernel.symbol, ": expected at most ",
                       std::numeric_limits<int32_t>::max(), " programs, found ",
                       programs);
  if (!kernel.persistent)
    return programs / kernel.programs + (programs % kernel.programs != 0);
  // A cluster runs as many programs at a time, the last one of a row of them
  // perhaps fewer.
  int64_t ofRow = (inARow + kernel.cluster - 1) / kernel.cluster;
  int64_t clusters = inARow > 0 ? programs / inARow * ofRow : 0;
  int64_t most = std::max<int64_t>(places / kernel.cluster, 1);
  return std::min(clusters, most) * kernel.cluster;
}

size_t fa::countWords(const KernelInfo &kernel) {
  size_t words = 3;
  for (const ArgumentInfo &info : kernel.args)
    words += 1 + info.sizes.size() + info.strides.size();
  return words;
}

void fa::packWords(std::span<const LaunchArgument> arguments,
                   const int64_t (&extents)[3], std::span<int64_t> words) {
  auto next = std::copy(std::begin(extents), std::end(extents), words.begin());
  for (const LaunchArgument &argument : arguments) {
    *next++ = argument.isTensor ? reinterpret_cast<intptr_t>(argument.data)
                                : static_cast<int64_t>(argument.bits);
    if (!argument.isTensor)
      continue;
    next = std::copy(argument.sizes.begin(), argument.sizes.end(), next);
    next = std::copy(argument.strides.begin(), argument.strides.end(), next);
  }
}
