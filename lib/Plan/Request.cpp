//===- Request.cpp - what plans are asked for -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Request.h"

using namespace llvm;
using namespace fa;

Expected<PlanRequest> fa::parseRequest(StringRef machine, StringRef constraints,
                                       int64_t sharedBytes) {
  auto found = findMachine(machine);
  if (!found)
    return found.takeError();
  auto asked = parseConstraints(constraints);
  if (!asked)
    return asked.takeError();
  if (sharedBytes)
    found->sharedBytes = sharedBytes;
  return PlanRequest{std::move(*found), std::move(*asked)};
}
