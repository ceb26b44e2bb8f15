//===- TensorMap.cpp - arguments as the tensor memory accelerator reads them =//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/TensorMap.h"

#include <algorithm>
#include <limits>

using namespace fa;

// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
static constexpr int mapUInt8 = 0, mapFloat16 = 6, mapFloat32 = 7,
                     mapBFloat16 = 9, mapSwizzleNone = 0, mapSwizzle128 = 3,
                     mapPromote256 = 3;

/// Of a dimension of the map; more than 32 bits can count where it overflows.
static int64_t sizeOf(const TensorMapInfo &info, const LaunchArgument &argument,
                      size_t dim) {
  int64_t size = argument.sizes[dim], behind = info.rowDim - int64_t(dim);
  if (info.joined && behind == 1)
    return 1;
  if (!info.joined || behind != 0)
    return size;
  return __builtin_mul_overflow(size, argument.sizes[dim - 1], &size)
             ? std::numeric_limits<int64_t>::max()
             : size;
}

bool fa::fitsTensorMap(const TensorMapInfo &info,
                       const LaunchArgument &argument) {
  int64_t bytes = byteSize(argument.type);
  if (info.paged && argument.sizes[info.rowDim] % 8)
    return false;
  for (size_t d = 0; d < argument.sizes.size(); ++d) {
    int64_t size = sizeOf(info, argument, d), stride = argument.strides[d];
    if (size > int64_t(UINT32_MAX))
      return false;
    if (size > 1 && (stride <= 0 || stride >= (int64_t(1) << 40) / bytes))
      return false;
  }
  return true;
}

int64_t fa::groupOf(const KernelInfo &kernel, const TensorMapInfo &info,
                    std::span<const LaunchArgument> arguments) {
  for (const SizeRule &rule : kernel.rules)
    if (info.headDim >= 0 && rule.kind == SizeRule::Multiple &&
        rule.argument == info.argument && rule.dim == info.headDim)
      return arguments[rule.argument].sizes[rule.dim] /
             std::max<int64_t>(arguments[rule.other].sizes[rule.otherDim], 1);
  return 1;
}

/// How much of dimension `dim`, of `size`, a box has.
static int64_t countInBox(const TensorMapInfo &info, int64_t dim, int64_t size,
                          int64_t group) {
  auto powerOfTwo = [](int64_t number) { return number & -number; };
  int64_t heads = std::clamp<int64_t>(group, 1, info.rows);
  if (dim == info.headDim)
    return heads;
  if (dim != info.rowDim)
    return 1;
  if (info.paged && size > 0)
    return std::min(powerOfTwo(info.rows), powerOfTwo(size));
  return info.headDim < 0 ? info.rows : info.rows / heads;
}

TensorMapShape fa::shapeOf(const TensorMapInfo &info,
                           const LaunchArgument &argument, int64_t group) {
  TensorMapShape shape = {};
  shape.rank = argument.sizes.size();
  assert(shape.rank >= 2 && shape.rank <= TensorMapShape::maxRank &&
         "the compiler asks for no others");
  auto bytes = static_cast<uint64_t>(byteSize(argument.type));
  int64_t all[TensorMapShape::maxRank];
  std::span<int64_t> dims(all, shape.rank);
  for (size_t n = 0; n < shape.rank; ++n)
    dims[n] = int64_t(shape.rank - 1 - n);
  sortDims(info, dims);
  for (size_t n = 0; n < shape.rank; ++n) {
    // What is empty is never read, what has one row never stepped over.
    int64_t dim = dims[n], size = sizeOf(info, argument, dim);
    shape.sizes[n] = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    shape.strides[n] =
        size > 1 ? static_cast<uint64_t>(argument.strides[dim]) * bytes : 16;
    shape.box[n] = static_cast<uint32_t>(
        n == 0 ? info.columns : countInBox(info, dim, size, group));
  }
  return shape;
}

bool fa::isSwizzled(const TensorMapShape &shape, ElementType type) {
  return shape.box[0] * byteSize(type) <= 128;
}

std::optional<int> fa::tensorMapType(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return mapFloat16;
  case ElementType::BF16:
    return mapBFloat16;
  case ElementType::F32:
    return mapFloat32;
  default:
    return byteSize(type) == 1 ? std::optional(mapUInt8) : std::nullopt;
  }
}

Failure fa::encodeTensorMap(const GpuDriver &cuda, const TensorMapInfo &info,
                            const LaunchArgument &argument, int64_t group,
                            TensorMap &map) {
  if (!cuda.TensorMapEncodeTiled)
    return makeFailure("the NVIDIA driver is too old: expected one that has "
                       "cuTensorMapEncodeTiled");
  TensorMapShape shape = shapeOf(info, argument, group);
  uint32_t steps[TensorMapShape::maxRank];
  std::fill(std::begin(steps), std::end(steps), 1);
  return cuda.check(
      cuda.TensorMapEncodeTiled(
          &map, *tensorMapType(argument.type),
          static_cast<uint32_t>(shape.rank), argument.data, shape.sizes,
          shape.strides + 1, shape.box, steps,
          /*interleave=*/0,
          isSwizzled(shape, argument.type) ? mapSwizzle128 : mapSwizzleNone,
          mapPromote256,
          /*outside=*/0),
      "argument ", info.argument, ": cuTensorMapEncodeTiled");
}

size_t TensorMapCache::placeOf(const void *data, const TensorMapShape &shape) {
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4):
  // neighbours lie apart.
  uint64_t key = reinterpret_cast<uintptr_t>(data) / 16 + shape.box[1];
  return key * 0x9e3779b97f4a7c15u >> (64 - entryBits);
}

Failure TensorMapCache::get(const GpuDriver &cuda, const TensorMapInfo &info,
                            const LaunchArgument &argument, int64_t group,
                            TensorMap &map) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || entries.empty() || !argument.data)
    return encodeTensorMap(cuda, info, argument, group, map);
  TensorMapShape shape = shapeOf(info, argument, group);
  Entry &entry = entries[placeOf(argument.data, shape)];
  if (entry.data != argument.data || entry.type != argument.type ||
      entry.shape != shape) {
    entry.data = nullptr;
    if (Failure failure =
            encodeTensorMap(cuda, info, argument, group, entry.map))
      return failure;
    entry.data = argument.data;
    entry.type = argument.type;
    entry.shape = shape;
  }
  map = entry.map;
  return {};
}
