//===- TensorMap.cpp - arguments as the tensor memory accelerator reads them =//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/TensorMap.h"

#include <algorithm>

using namespace fa;

bool fa::fitsTensorMap(const TensorMapInfo &info,
                       const LaunchArgument &argument) {
  int64_t bytes = byteSize(argument.type);
  for (size_t d = 0; d < argument.sizes.size(); ++d) {
    int64_t size = argument.sizes[d], stride = argument.strides[d];
    if (size > int64_t(UINT32_MAX))
      return false;
    if (size > 1 && (stride <= 0 || stride >= (int64_t(1) << 40) / bytes))
      return false;
  }
  return true;
}

Failure fa::encodeTensorMap(const CudaDriver &cuda, const TensorMapInfo &info,
                            const LaunchArgument &argument, TensorMap &map) {
  if (!cuda.TensorMapEncodeTiled)
    return makeFailure("the NVIDIA driver is too old: expected one that has "
                       "cuTensorMapEncodeTiled");
  constexpr size_t most = 5;
  uint64_t sizes[most], strides[most];
  uint32_t box[most], steps[most];
  size_t rank = argument.sizes.size();
  assert(rank >= 2 && rank <= most && "the compiler asks for no others");
  auto bytes = static_cast<uint64_t>(byteSize(argument.type));
  // Innermost first.
  for (size_t n = 0; n < rank; ++n) {
    size_t d = rank - 1 - n;
    // What is empty is never read, what has one row never stepped over.
    sizes[n] = static_cast<uint64_t>(std::max<int64_t>(argument.sizes[d], 1));
    strides[n] = argument.sizes[d] > 1
                     ? static_cast<uint64_t>(argument.strides[d]) * bytes
                     : 16;
    box[n] = n == 0                      ? static_cast<uint32_t>(info.columns)
             : int64_t(d) == info.rowDim ? static_cast<uint32_t>(info.rows)
                                         : 1;
    steps[n] = 1;
  }
  int type = argument.type == ElementType::F16 ? CudaDriver::mapFloat16
                                               : CudaDriver::mapBFloat16;
  return cuda.check(
      cuda.TensorMapEncodeTiled(&map, type, static_cast<uint32_t>(rank),
                                argument.data, sizes, strides + 1, box, steps,
                                /*interleave=*/0, CudaDriver::mapSwizzle128,
                                CudaDriver::mapPromote256, /*outside=*/0),
      "argument ", info.argument, ": cuTensorMapEncodeTiled");
}
