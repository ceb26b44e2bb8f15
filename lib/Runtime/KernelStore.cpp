//===- KernelStore.cpp - kernels, each compiled once ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/KernelStore.h"

#include "fa/Target/CompileKernel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace fa;

StoredKernel::StoredKernel(KernelInfo given, std::string text,
                           const CompileOptions &options, DiskCache &cache)
    : info(std::move(given)), options(options), cache(cache),
      text(std::move(text)) {
  // By itself it is a plan of one kernel, which follows no other and hands
  // nothing over: workspace is arguments like all others.
  info.follows = false;
  info.workspace.clear();
  info.splitKeys.steps.clear();
  info.leastKeys.steps.clear();
  info.splits = info.keysOfSplit = 0;
  info.dynamic = false;
  info.manyPrograms = info.leastBusy = 0;
  this->options.kernels.clear();
}

Error StoredKernel::compileLocked(const Progress &progress) {
  CompileOptions how = options;
  how.progress = progress;
  auto compileNow = [&] { return compileKernel(text, info, how); };
  auto compiled = [&]() -> Expected<Artifact> {
    auto key = makeCacheKey(text, info.entry, how);
    if (!key || !cache.isOn()) {
      consumeError(key.takeError()); // the compilation says what is wrong
      return compileNow();
    }
    key->text = "one kernel, from S7\n" + key->text;
    auto found = cache.get(*key, compileNow);
    if (!found)
      return found.takeError();
    return std::move(found->artifact);
  }();
  if (!compiled)
    return compiled.takeError();
  code = std::make_shared<const Artifact>(std::move(*compiled));
  text = std::string();
  return Error::success();
}

Expected<std::shared_ptr<const Artifact>>
StoredKernel::get(const Progress &progress) {
  std::lock_guard lock(mutex);
  if (!failed.empty())
    return createStringError(std::exchange(failed, ""));
  if (!code)
    if (Error error = compileLocked(progress))
      return error;
  return code;
}

void StoredKernel::compileAhead(const Progress &progress) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || code || !failed.empty())
    return;
  handleAllErrors(
      compileLocked(progress), [](const CancelledError &) {},
      [&](const ErrorInfoBase &error) { failed = error.message(); });
}

std::shared_ptr<StoredKernel> KernelStore::find(const KernelInfo &info,
                                                std::string text,
                                                const CompileOptions &options) {
  XXH128_hash_t hash = xxh3_128bits(arrayRefFromStringRef(text));
  std::string name = utohexstr(hash.high64) + " " + utohexstr(hash.low64);
  std::lock_guard lock(mutex);
  auto it = kernels.find(name);
  if (it != kernels.end())
    if (auto kernel = it->second.lock())
      return kernel;
  // Kernels that nobody has any more make room.
  SmallVector<StringRef> unused;
  for (auto &entry : kernels)
    if (entry.second.expired())
      unused.push_back(entry.first());
  for (StringRef key : unused)
    kernels.erase(key);
  auto kernel =
      std::make_shared<StoredKernel>(info, std::move(text), options, cache);
  kernels[name] = kernel;
  return kernel;
}
