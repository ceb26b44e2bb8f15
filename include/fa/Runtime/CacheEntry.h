//===- CacheEntry.h - a compilation as a file -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CACHEENTRY_H
#define FA_RUNTIME_CACHEENTRY_H

#include "fa/Runtime/CacheKey.h"

namespace fa {

/// The bytes of a file that keeps what `key` gave: the key, the plan as in a
/// bundle (docs/ahead-of-time.md), the code, and a checksum of all that.
llvm::Expected<std::string> writeCacheEntry(const CacheKey &key,
                                            const Artifact &artifact);

/// Such a file of what stands behind the checksum.
std::string sealCacheEntry(llvm::StringRef body);

/// Reads such a file, which is not trusted: what is cut short, changed, of
/// another key or not sound is an error. The times of the compilation are not
/// kept.
llvm::Expected<Artifact> readCacheEntry(const CacheKey &key,
                                        llvm::StringRef bytes);

} // namespace fa

#endif // FA_RUNTIME_CACHEENTRY_H
