//===- CacheFuzzer.cpp - files of the cache, with a checksum that fits ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CacheEntry.h"

using namespace fa;

/// The input is what follows the checksum: with one that does not fit nothing
/// more would be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string file = sealCacheEntry(
      llvm::StringRef(reinterpret_cast<const char *>(data), size));
  for (llvm::StringRef key : {"", "key"})
    llvm::consumeError(readCacheEntry(CacheKey{key.str()}, file).takeError());
  return 0;
}
