//===- NvidiaInfo.cpp - facts about NVIDIA architectures ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Machine/NvidiaInfo.h"

using namespace llvm;
using namespace fa;

/// The most multiprocessors: A100, A40 and RTX 3090 Ti,
/// L40 and RTX 6000 Ada, H100 SXM and H200, by NVIDIA's white papers.
static constexpr NvidiaInfo kArchitectures[] = {
    {"sm_80", 80, 166912, "+ptx80", false, false, 108},
    {"sm_86", 86, 101376, "+ptx80", false, false, 84},
    {"sm_89", 89, 101376, "+ptx80", false, false, 142},
    {"sm_90", 90, 232448, "+ptx80", false, true, 132},
    {"sm_90a", 90, 232448, "+ptx80", true, true, 132},
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
