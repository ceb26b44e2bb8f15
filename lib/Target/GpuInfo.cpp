//===- GpuInfo.cpp - what is known of every GPU ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/GpuInfo.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Machine/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

static int64_t processorsOf(const NvidiaInfo &info) { return info.processors; }

static int64_t processorsOf(const AmdInfo &info) {
  return int64_t(info.dies) * info.processorsOfDie;
}

template <typename Info> static Expected<GpuInfo> common(Expected<Info> info) {
  if (!info)
    return info.takeError();
  return GpuInfo{info->name.str(), info->sharedLimit, processorsOf(*info)};
}

Expected<GpuInfo> fa::getGpuInfo(StringRef arch) {
  return arch.starts_with("gfx") ? common(getAmdInfo(arch))
                                 : common(getNvidiaInfo(arch));
}

std::string fa::listGpuArchs() {
  return listNvidiaArchs() + ", " + listAmdArchs();
}
