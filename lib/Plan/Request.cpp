//===- Request.cpp - what plans are asked for -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Request.h"

using namespace llvm;
using namespace fa;

Expected<PlanRequest> fa::makeRequest(Expected<Machine> machine,
                                      StringRef constraints,
                                      int64_t sharedBytes) {
  if (!machine)
    return machine.takeError();
  auto asked = parseConstraints(constraints);
  if (!asked)
    return asked.takeError();
  if (sharedBytes)
    machine->sharedBytes = sharedBytes;
  return PlanRequest{std::move(*machine), std::move(*asked)};
}

Expected<PlanRequest> fa::parseRequest(StringRef machine, StringRef constraints,
                                       int64_t sharedBytes) {
  return makeRequest(findMachine(machine), constraints, sharedBytes);
}
