//===- SpecFuzzer.cpp - attention SPECs -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/AttentionProblem.h"

using namespace fa;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto spec = parseAttentionSpec(text);
  if (!spec) {
    llvm::consumeError(spec.takeError());
    return 0;
  }
  spec->applyDefaults();
  if (llvm::Error error = spec->problem.verify()) {
    llvm::consumeError(std::move(error));
    return 0;
  }
  // A problem's own text is that problem.
  std::string once = spec->problem.str();
  auto again = parseAttentionSpec(once);
  if (!again)
    llvm::report_fatal_error(again.takeError());
  if (again->problem.str() != once)
    llvm::report_fatal_error("a SPEC is not what it says");
  return 0;
}
