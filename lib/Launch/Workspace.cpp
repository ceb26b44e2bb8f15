//===- Workspace.cpp - what kernels of a launch hand over -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include <algorithm>

using namespace fa;

std::optional<int64_t> fa::evaluate(const SizeExpr &expr,
                                    std::span<const LaunchArgument> arguments) {
  return expr.evaluate([&](int64_t argument, int64_t dim) {
    return arguments[argument].sizes[dim];
  });
}

/// A tensor of the workspace without its memory; nothing if a size overflows.
static std::optional<LaunchArgument>
workspaceShape(const KernelInfo &kernel, size_t number, int64_t splits,
               std::span<const LaunchArgument> given) {
  const ArgumentInfo &info = kernel.args[kernel.numGiven() + number];
  int64_t sizes[kMaxRank] = {splits}, strides[kMaxRank];
  size_t rank = 1;
  for (const SizeExpr &expr : kernel.workspace[number].sizes) {
    auto size = evaluate(expr, given);
    if (!size || *size < 0)
      return std::nullopt;
    sizes[rank++] = *size;
  }
  fillContiguousStrides(std::span(sizes, rank), std::span(strides, rank));
  return LaunchArgument::tensor(nullptr, info.type, std::span(sizes, rank),
                                std::span(strides, rank));
}

/// Bytes of such a tensor, rounded up so that another one can stand behind it.
static std::optional<size_t> bytesOf(const LaunchArgument &tensor) {
  int64_t bytes = byteSize(tensor.type);
  for (int64_t size : tensor.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  if (__builtin_add_overflow(bytes, int64_t(kWorkspaceAlignment) - 1, &bytes))
    return std::nullopt;
  return size_t(bytes) / kWorkspaceAlignment * kWorkspaceAlignment;
}

std::optional<size_t> fa::countBytes(const KernelInfo &kernel, int64_t splits,
                                     std::span<const LaunchArgument> given) {
  size_t sum = 0;
  for (size_t n = 0; n < kernel.workspace.size(); ++n) {
    auto tensor = workspaceShape(kernel, n, splits, given);
    auto bytes = tensor ? bytesOf(*tensor) : std::nullopt;
    if (!bytes || __builtin_add_overflow(sum, *bytes, &sum))
      return std::nullopt;
  }
  return sum;
}

KernelArguments::KernelArguments(const LaunchChoice &choice,
                                 std::span<const LaunchArgument> given,
                                 const Workspace &workspace)
    : all(given) {
  const KernelInfo &kernel = choice.kernels.front();
  if (kernel.workspace.empty())
    return;
  std::copy(given.begin(), given.end(), storage);
  auto *memory = static_cast<char *>(workspace.data);
  for (size_t n = 0; n < kernel.workspace.size(); ++n) {
    LaunchArgument &tensor = storage[given.size() + n];
    // Neither overflows: the bytes were counted.
    tensor = *workspaceShape(kernel, n, choice.splits, given);
    tensor.data = memory;
    memory += *bytesOf(tensor);
  }
  all = std::span(storage, kernel.args.size());
}
