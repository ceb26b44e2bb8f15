//===- TwinFuzzer.cpp - a harness that must find something ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

#include <cstdlib>

/// Says that no SPEC has a window: the first one that has is found.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto spec = fa::parseAttentionSpec(text);
  if (!spec) {
    llvm::consumeError(spec.takeError());
    return 0;
  }
  if (spec->problem.hasWindow())
    std::abort();
  return 0;
}
