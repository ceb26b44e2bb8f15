//===- CacheFuzzer.cpp - files of the cache, with a checksum that fits ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CacheEntry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace fa;

/// The input is what follows the checksum: with one that does not fit nothing
/// more would be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef body(reinterpret_cast<const char *>(data), size);
  std::string hash = llvm::toHex(llvm::SHA256::hash(llvm::ArrayRef(data, size)),
                                 /*LowerCase=*/true);
  std::string file = "flashtile-cache 1\n" + hash + "\n" + body.str();
  for (llvm::StringRef key : {"", "key"})
    llvm::consumeError(readCacheEntry(CacheKey{key.str()}, file).takeError());
  return 0;
}
