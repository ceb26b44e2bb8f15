//===- GpuInfo.h - what is known of every GPU -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_GPUINFO_H
#define FA_TARGET_GPUINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fa {

struct GpuInfo {
  std::string name;    ///< sm_80, gfx942
  int64_t sharedLimit; ///< bytes of shared memory a block may have
  int64_t processors;  ///< of the largest card of the architecture
};

/// Of NVIDIA's and AMD's tables. An architecture that is in neither is an error
/// that lists those of the vendor that its name is spelt like.
llvm::Expected<GpuInfo> getGpuInfo(llvm::StringRef arch);

/// The names of all, with commas between.
std::string listGpuArchs();

} // namespace fa

#endif // FA_TARGET_GPUINFO_H
