//===- CApi.cpp - FlashTile's C interface: contexts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "fa/Launch/ContextOptions.h"
#include "fa/Launch/TargetName.h"
#include "fa/Plan/Machine.h"
#include "fa/Target/HostInfo.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;
using namespace fa;

static thread_local std::string lastError;

const char *faGetLastErrorMessage(void) noexcept { return lastError.c_str(); }

const char *faGetVersion(void) noexcept { return FA_VERSION; }

faStatus fa::fail(faStatus status, const Twine &message) {
  lastError = message.str();
  return status;
}

faStatus fa::fail(faStatus status, const Failure &failure) {
  return fail(status, Twine(failure.message()));
}

faStatus fa::fail(faStatus status, Error error) {
  return fail(status, toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Opens a card and says how to compile for it.
static Error openCard(const TargetName &target, const faContextOptions &options,
                      PlanStore::Options &store) {
  auto card = GpuDevice::open(*target.driver, target.card,
                              options.driver ? options.driver : "");
  if (!card)
    return toError(card.takeFailure());
  auto arch = archOf(**card);
  if (!arch)
    return arch.takeError();
  store.card = *card;
  store.compile.arch = *arch;
  store.compile.dies = diesOf(**card);
  store.compile.ptxas = options.ptxas ? options.ptxas : "";
  return Error::success();
}

/// Says how to compile for the emulator of `arch`.
static Error openEmulator(StringRef arch, PlanStore::Options &store) {
  auto info = findGpuMachine(arch);
  if (!info)
    return info.takeError();
  store.compile.arch = info->name;
  store.compile.emulate = true;
  return Error::success();
}

/// A profiler's library that cannot be used is no reason to fail.
static std::shared_ptr<const Ranges> openRanges(const faContextOptions &options,
                                                const faContextImpl &context) {
  if (!options.ranges)
    return nullptr;
  auto ranges = Ranges::open(options.ranges);
  if (ranges)
    return std::move(*ranges);
  context.log(FA_LOG_WARNING, ranges.takeFailure().message());
  return nullptr;
}

/// The caller's table, for what `store` compiles.
static Error openTuning(const faContextOptions &options,
                        const faContextImpl &context,
                        PlanStore::Options &store) {
  if (!options.tuning)
    return Error::success();
  auto tuning = Tuning::open(options.tuning, store.compile,
                             [&context](const std::string &message) {
                               context.log(FA_LOG_WARNING, message);
                             });
  if (!tuning)
    return tuning.takeError();
  store.tuning = std::move(*tuning);
  return Error::success();
}

/// The CPU that the caller names: one that LLVM knows and that this machine can
/// run code for.
static Error readHostCpu(const faContextOptions &options,
                         CompileOptions &compile) {
  if (!options.hostCpu)
    return Error::success();
  InitializeNativeTarget();
  auto host = getHostInfo(options.hostCpu);
  if (!host)
    return host.takeError();
  if (Error error = checkRunsHere(host->cpu, host->features))
    return error;
  compile.hostCpu = options.hostCpu;
  return Error::success();
}

static CacheOptions readCacheOptions(const faContextOptions &options,
                                     const faContextImpl &context) {
  CacheOptions cache;
  cache.directory = options.cacheDirectory ? options.cacheDirectory : "";
  cache.mode = static_cast<CacheMode>(options.cacheMode);
  if (options.cacheMaxBytes)
    cache.maxBytes = options.cacheMaxBytes;
  cache.report = [&context](const std::string &message) {
    context.log(FA_LOG_WARNING, message);
  };
  return cache;
}

faStatus faContextCreate(const faContextOptions *options,
                         faContext *context) noexcept {
  if (!context)
    return fail(
        FA_ERROR_INVALID_ARGUMENT,
        "faContextCreate: expected a place for the context, found null");
  *context = nullptr;
  auto given = readContextOptions(options);
  if (!given)
    return fail(FA_ERROR_INVALID_ARGUMENT, given.takeFailure());
  StringRef name = given->target ? given->target : "cpu";
  bool isEmulator = name.consume_front("emulator:");
  auto target = parseTargetName(isEmulator ? "cpu" : name);
  if (!target)
    return fail(FA_ERROR_INVALID_ARGUMENT, target.takeFailure());
  auto result = std::make_unique<faContextImpl>();
  result->logTo = given->log;
  result->user = given->user;
  result->ranges = openRanges(*given, *result);
  PlanStore::Options store;
  if (Error error = readHostCpu(*given, store.compile))
    return fail(FA_ERROR_INVALID_ARGUMENT, std::move(error));
  if (target->driver) {
    if (Error error = openCard(*target, *given, store))
      return fail(FA_ERROR_DEVICE, std::move(error));
    if (given->workspacePoolBytes)
      result->workspaces = std::make_unique<WorkspacePool>(
          store.card, given->workspacePoolBytes);
    store.mode = static_cast<CompileMode>(given->compile);
  } else {
    store.compile.arch = store.compile.hostCpu;
    if (isEmulator)
      if (Error error = openEmulator(name, store))
        return fail(FA_ERROR_INVALID_ARGUMENT, std::move(error));
    store.emulation.count = given->counters != 0;
    store.host = createHostDevice(*given);
    result->threads = store.host->numThreads();
  }
  if (Error error = openTuning(*given, *result, store))
    return fail(FA_ERROR_INVALID_ARGUMENT, std::move(error));
  store.cache = readCacheOptions(*given, *result);
  store.note = [context = result.get()](const std::string &message) {
    context->log(FA_LOG_NOTE, message);
  };
  if (given->progress)
    store.compile.progress = [progress = given->progress,
                              user = given->user](StringRef phase) {
      return progress(user, phase.str().c_str()) == 0;
    };
  result->plans = std::make_unique<PlanStore>(std::move(store));
  *context = result.release();
  return FA_SUCCESS;
}

void faContextDestroy(faContext context) noexcept { delete context; }
