//===- AmdInfo.cpp - facts about AMD architectures ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/AmdInfo.h"

using namespace llvm;
using namespace fa;

static constexpr AmdInfo kArchitectures[] = {
    {"gfx90a", 65536, 32, 4, 64, 32, false, 1},
    {"gfx942", 65536, 32, 4, 32, 16, false, 8},
    {"gfx950", 163840, 64, 8, 32, 16, true, 8},
};

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
