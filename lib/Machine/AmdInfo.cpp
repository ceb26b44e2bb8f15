//===- AmdInfo.cpp - facts about AMD architectures ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Machine/AmdInfo.h"

#include <algorithm>

using namespace llvm;
using namespace fa;

static constexpr AmdInfo kArchitectures[] = {
    {"gfx90a", 65536, 32, 4, 64, 32, false, false, 1, 104},
    {"gfx942", 65536, 32, 4, 32, 16, false, false, 8, 38},
    {"gfx950", 163840, 64, 8, 32, 16, true, true, 8, 32},
};

unsigned AmdInfo::diesOf(int64_t processors) const {
  if (!processors)
    return dies;
  int64_t nearest = (processors + processorsOfDie / 2) / processorsOfDie;
  return std::clamp<int64_t>(nearest, 1, dies);
}

std::string fa::listAmdArchs() {
  std::string known;
  for (const AmdInfo &info : kArchitectures)
    known += (known.empty() ? "" : ", ") + info.name.str();
  return known;
}

Expected<AmdInfo> fa::getAmdInfo(StringRef arch) {
  for (const AmdInfo &info : kArchitectures)
    if (info.name == arch)
      return info;
  return createStringError("unknown architecture '" + arch + "', expected " +
                           listAmdArchs());
}
