//===- DiskCache.h - compiled programs on disk ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_DISKCACHE_H
#define FA_RUNTIME_DISKCACHE_H

#include "fa/Runtime/CacheKey.h"

#include <functional>
#include <mutex>

namespace fa {

enum class CacheMode {
  ReadWrite, ///< keeps what was compiled
  ReadOnly,  ///< uses what is there, writes nothing
  Only       ///< what is not there is an error: nothing is compiled
};

struct CacheOptions {
  std::string directory; ///< "": no cache
  CacheMode mode = CacheMode::ReadWrite;
  uint64_t maxBytes = uint64_t(1) << 30; ///< of all files; the oldest go first
  /// Is told, by any thread, what keeps the cache from its work: a damaged file
  /// each time, a folder that cannot be used once.
  std::function<void(const std::string &message)> report;
};

/// Where an artifact came from.
enum class CacheOutcome { Off, Miss, Hit };

/// "off", "miss" or "hit".
llvm::StringRef name(CacheOutcome outcome);

struct CachedArtifact {
  Artifact artifact;
  CacheOutcome outcome;

  /// Adds milliseconds of `chooseKernels` to those of the compilation.
  void addChoosing(double ms) {
    artifact.compileMs.total += ms;
    if (outcome != CacheOutcome::Hit)
      artifact.compileMs.passes += ms;
  }
};

/// A folder of compiled programs that processes share. Files and folder belong
/// to this user alone: what others own or can write is not read. A file has its
/// name from the moment that it is complete. Whatever is wrong with the folder,
/// programs are compiled without it. Safe to use from several threads.
class DiskCache {
public:
  explicit DiskCache(CacheOptions options);

  /// Whether a folder was asked for, which may be one that cannot be used.
  bool isOn() const { return !options.directory.empty(); }

  /// The artifact of `key`, from the folder or by `compile`, which one process
  /// at a time runs for a key; the others wait for it. Threads of this process
  /// are not kept apart: `PlanStore` does that.
  llvm::Expected<CachedArtifact>
  get(const CacheKey &key,
      llvm::function_ref<llvm::Expected<Artifact>()> compile);

private:
  class Lock;
  bool prepareDirectory();
  /// Whatever is wrong with a file that is there is reported if `isLast`.
  std::optional<Artifact> read(const CacheKey &key, bool isLast);
  void write(const CacheKey &key, const Artifact &artifact);
  llvm::Error writeFile(llvm::StringRef name, llvm::StringRef bytes);
  std::string pathOf(llvm::StringRef name) const;
  void reportOnce(const llvm::Twine &message);

  CacheOptions options;
  bool usable = false;
  std::once_flag reported;
};

} // namespace fa

#endif // FA_RUNTIME_DISKCACHE_H
