//===- DiskCache.cpp - compiled programs on disk --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's LockFileManager and TempFile are not used: both install signal
// handlers in the host program's process, and a lock file outlives who wrote
// it. The kernel's own lock ends with its process, however that ends.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/DiskCache.h"

#include "fa/Runtime/BuildId.h"
#include "fa/Runtime/CacheEntry.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace llvm;
using namespace fa;

/// What `pruneCache` takes for files of a cache.
static constexpr StringLiteral kPrefix = "llvmcache-";

StringRef fa::name(CacheOutcome outcome) {
  constexpr StringLiteral names[] = {"off", "miss", "hit"};
  return names[static_cast<size_t>(outcome)];
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

/// Why this file or folder is not this user's alone; empty if it is.
static std::string distrust(const sys::fs::file_status &status) {
  if (status.getUser() != geteuid())
    return "expected the owner " + std::to_string(geteuid()) + ", found " +
           std::to_string(status.getUser());
  if (status.permissions() & (sys::fs::group_write | sys::fs::others_write))
    return "expected that its owner alone can write it";
  return "";
}

DiskCache::DiskCache(CacheOptions options) : options(std::move(options)) {
  usable = !this->options.directory.empty() && prepareDirectory();
}

bool DiskCache::prepareDirectory() {
  const std::string &directory = options.directory;
  if (compilerBuildId().empty()) {
    reportOnce("this build cannot be told from others: it has no build id "
               "(-Wl,--build-id)");
    return false;
  }
  if (options.mode == CacheMode::ReadWrite)
    if (std::error_code error = sys::fs::create_directories(
            directory, /*IgnoreExisting=*/true, sys::fs::owner_all)) {
      reportOnce("cannot create '" + directory + "': " + error.message());
      return false;
    }
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(directory, status)) {
    reportOnce("cannot use '" + directory + "': " + error.message());
    return false;
  }
  std::string why =
      sys::fs::is_directory(status) ? distrust(status) : "expected a folder";
  if (why.empty())
    return true;
  reportOnce("cannot use '" + directory + "': " + why);
  return false;
}

std::string DiskCache::pathOf(StringRef name) const {
  SmallString<128> path(options.directory);
  sys::path::append(path, name);
  return path.str().str();
}

void DiskCache::reportOnce(const Twine &message) {
  std::call_once(reported, [&] {
    if (options.report)
      options.report(("cache: " + message + "; going on without it").str());
  });
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Of what may fail without a consequence.
static void ignore(std::error_code) {}

/// The bytes of a file of this user. They are read, not mapped: a file that
/// shrinks meanwhile would take a mapping's reader with it.
static Expected<std::unique_ptr<MemoryBuffer>> readOwnFile(StringRef path,
                                                           bool touch) {
  if (!sys::fs::is_regular_file(path)) // a pipe would not let go of us
    return createStringError("expected a file");
  auto file = sys::fs::openNativeFileForRead(path);
  if (!file)
    return file.takeError();
  scope_exit close([&] { ignore(sys::fs::closeFile(*file)); });
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(*file, status))
    return errorCodeToError(error);
  if (std::string why = distrust(status); !why.empty())
    return createStringError(why);
  // What was used last goes last.
  if (touch)
    ignore(sys::fs::setLastAccessAndModificationTime(
        *file, std::chrono::system_clock::now()));
  return errorOrToExpected(
      MemoryBuffer::getOpenFile(*file, path, status.getSize(),
                                /*RequiresNullTerminator=*/false,
                                /*IsVolatile=*/true));
}

std::optional<Artifact> DiskCache::read(const CacheKey &key, bool isLast) {
  std::string path = pathOf((kPrefix + key.hash()).str());
  if (!sys::fs::exists(path))
    return std::nullopt;
  auto artifact = [&]() -> Expected<Artifact> {
    auto bytes = readOwnFile(path, options.mode == CacheMode::ReadWrite);
    if (!bytes)
      return bytes.takeError();
    return readCacheEntry(key, (*bytes)->getBuffer());
  }();
  if (artifact)
    return std::move(*artifact);
  std::string why = toString(artifact.takeError());
  // Another process may have made room meanwhile.
  if (isLast && options.report && sys::fs::exists(path))
    options.report("cache: '" + path + "' is not used: " + why);
  return std::nullopt;
}

Error DiskCache::writeFile(StringRef name, StringRef bytes) {
  SmallString<128> temporary;
  int descriptor;
  if (std::error_code error = sys::fs::createUniqueFile(
          pathOf(kPrefix.str() + "%%%%%%%%.tmp"), descriptor, temporary,
          sys::fs::OF_None, sys::fs::owner_read | sys::fs::owner_write))
    return errorCodeToError(error);
  raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << bytes;
  out.close();
  std::error_code error = out.error();
  out.clear_error();
  if (!error)
    error = sys::fs::rename(temporary, pathOf(name));
  if (error)
    ignore(sys::fs::remove(temporary));
  return errorCodeToError(error);
}

void DiskCache::write(const CacheKey &key, const Artifact &artifact) {
  auto bytes = writeCacheEntry(key, artifact);
  Error error = bytes ? writeFile((kPrefix + key.hash()).str(), *bytes)
                      : bytes.takeError();
  if (error)
    return reportOnce("cannot write into '" + options.directory +
                      "': " + toString(std::move(error)));
  CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0); // each time
  policy.MaxSizeBytes = options.maxBytes;
  policy.Expiration = std::chrono::seconds(0); // age alone is no reason
  pruneCache(options.directory, policy);
}

//===----------------------------------------------------------------------===//
// One process at a time
//===----------------------------------------------------------------------===//

/// One process compiles, others wait: a lock of the kernel's on one of 256
/// small files, chosen by the key, which stay. Another key of the same file
/// makes a process wait in vain. The lock is the process's: a thread that lets
/// go of the file lets go for the others, too, which costs a second compilation
/// somewhere and nothing else.
class DiskCache::Lock {
public:
  explicit Lock(const std::string &path) {
    error = sys::fs::openFileForReadWrite(
        path, descriptor, sys::fs::CD_OpenAlways, sys::fs::OF_None,
        sys::fs::owner_read | sys::fs::owner_write);
    if (!error)
      error = sys::fs::lockFile(descriptor);
  }
  ~Lock() {
    if (descriptor >= 0)
      ::close(descriptor); // and with it goes the lock
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

  std::error_code error;

private:
  int descriptor = -1;
};

Expected<CachedArtifact>
DiskCache::get(const CacheKey &key,
               function_ref<Expected<Artifact>()> compile) {
  auto compiled = [&](CacheOutcome outcome) -> Expected<CachedArtifact> {
    auto artifact = compile();
    if (!artifact)
      return artifact.takeError();
    return CachedArtifact{std::move(*artifact), outcome};
  };
  bool writes = options.mode == CacheMode::ReadWrite;
  if (usable)
    if (auto artifact = read(key, /*isLast=*/!writes))
      return CachedArtifact{std::move(*artifact), CacheOutcome::Hit};
  if (options.mode == CacheMode::Only)
    return createStringError("expected the program in the cache '" +
                             options.directory +
                             "', which is all that may be used, found none");
  if (!usable || !writes)
    return compiled(usable ? CacheOutcome::Miss : CacheOutcome::Off);
  Lock lock(pathOf("lock-" + key.hash().substr(0, 2)));
  if (lock.error)
    reportOnce("cannot write into '" + options.directory +
               "': " + lock.error.message());
  else if (auto artifact = read(key, /*isLast=*/true))
    // Of the process that had the lock.
    return CachedArtifact{std::move(*artifact), CacheOutcome::Hit};
  auto result = compiled(CacheOutcome::Miss);
  if (result && !lock.error)
    write(key, result->artifact);
  return result;
}
