//===- GpuInfo.cpp - what is known of every GPU ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/GpuInfo.h"

#include "fa/Target/AmdInfo.h"
#include "fa/Target/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

template <typename Info> static Expected<GpuInfo> common(Expected<Info> info) {
  if (!info)
    return info.takeError();
  return GpuInfo{info->name.str(), info->sharedLimit};
}

Expected<GpuInfo> fa::getGpuInfo(StringRef arch) {
  return arch.starts_with("gfx") ? common(getAmdInfo(arch))
                                 : common(getNvidiaInfo(arch));
}

std::string fa::listGpuArchs() {
  return listNvidiaArchs() + ", " + listAmdArchs();
}
