//===- NvidiaInfo.cpp - facts about NVIDIA architectures ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

static constexpr NvidiaInfo kArchitectures[] = {
    {"sm_80", 80, 166912, "+ptx80", false, false},
    {"sm_86", 86, 101376, "+ptx80", false, false},
    {"sm_89", 89, 101376, "+ptx80", false, false},
    {"sm_90", 90, 232448, "+ptx80", false, true},
    {"sm_90a", 90, 232448, "+ptx80", true, true},
};

std::string fa::listNvidiaArchs() {
  std::string known;
  for (const NvidiaInfo &info : kArchitectures)
    known += (known.empty() ? "" : ", ") + info.name.str();
  return known;
}

Expected<NvidiaInfo> fa::getNvidiaInfo(StringRef arch) {
  for (const NvidiaInfo &info : kArchitectures)
    if (info.name == arch)
      return info;
  return createStringError("unknown architecture '" + arch + "', expected " +
                           listNvidiaArchs());
}

const NvidiaInfo *fa::findNvidiaInfo(int64_t computeCapability) {
  const NvidiaInfo *best = nullptr;
  for (const NvidiaInfo &info : kArchitectures)
    if (info.hasWarpgroups ? info.computeCapability == computeCapability
                           : info.computeCapability <= computeCapability)
      best = &info;
  return best;
}
