//===- CompileCached.cpp - compiles, or takes it from disk ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CompileCached.h"

#include <chrono>

using namespace llvm;
using namespace fa;

Expected<CachedArtifact>
fa::compileCached(DiskCache &cache, mlir::ModuleOp module, StringRef entry,
                  const CompileOptions &options,
                  std::optional<PlannedProgram> planned) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto compileNow = [&] {
    return planned ? compilePlanned(*planned->module,
                                    std::move(planned->kernels), options)
                   : compile(module, entry, options);
  };
  auto withoutCache = [&]() -> Expected<CachedArtifact> {
    auto artifact = compileNow();
    if (!artifact)
      return artifact.takeError();
    return CachedArtifact{std::move(*artifact), CacheOutcome::Off};
  };
  if (!cache.isOn() || options.emulate)
    return withoutCache();
  auto key = makeCacheKey(module, entry, options);
  if (!key) { // and what is wrong with the options, the compilation says
    consumeError(key.takeError());
    return withoutCache();
  }
  auto result = cache.get(*key, compileNow);
  if (result && result->outcome == CacheOutcome::Hit)
    result->artifact.compileMs.total =
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return result;
}
