//===- NpyFuzzer.cpp - .npy files that are not trusted --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/Npy.h"

using namespace fa;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef file(reinterpret_cast<const char *>(data), size);
  auto tensor = parseNpy("input", file, ElementType::BF16);
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return 0;
  }
  // What was accepted can be read to its last element.
  llvm::SmallVector<int64_t> last;
  for (int64_t extent : tensor->sizes()) {
    if (extent == 0)
      return 0;
    last.push_back(extent - 1);
  }
  (void)tensor->at(last);
  return 0;
}
