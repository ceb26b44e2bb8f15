//===- CApi.cpp - FlashTile's C interface: contexts and launches ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "fa/Launch/ContextOptions.h"
#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/LaunchOptions.h"
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

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// Says, once a plan, that a launch runs slower than another one would. Looks
/// until then alone, and only where somebody is told.
static void noteSlower(faPlanImpl &plan, const LaunchChoice &choice,
                       ArrayRef<LaunchArgument> arguments) {
  const auto &kernels = plan.plan->artifact().kernels;
  if (!plan.context->logTo || plan.saidSlower.load(std::memory_order_relaxed))
    return;
  std::string why =
      explainSlower(kernels, choice.kernels.front().symbol, arguments);
  if (!why.empty() && !plan.saidSlower.exchange(true))
    plan.context->log(FA_LOG_NOTE, why);
}

/// Says, once a plan, that a launch runs `choice` for want of workspace.
static void noteUnsplit(faPlanImpl &plan, const LaunchChoice &choice,
                        const LaunchChoice &wanted, const Failure &why) {
  if (!plan.context->logTo || plan.saidUnsplit.exchange(true))
    return;
  plan.context->log(FA_LOG_NOTE,
                    makeText("@", choice.kernels.front().symbol, " runs, for @",
                             wanted.kernels.front().symbol, " in ",
                             wanted.splits,
                             " splits, which is faster, has no workspace of ",
                             wanted.workspaceBytes, " bytes: ", why.message()));
}

/// What a launch that is given no workspace runs: in the pool's, which it has
/// as long as `lease` is there, or in none.
static Expected<LaunchChoice> chooseInPool(faPlanImpl &plan, void *stream,
                                           ArrayRef<LaunchArgument> arguments,
                                           WorkspacePool::Lease &lease) {
  WorkspacePool *pool = plan.context->workspaces.get();
  bool isTold =
      plan.context->logTo && !plan.saidUnsplit.load(std::memory_order_relaxed);
  if (!plan.plan->card || (!pool && !isTold))
    return plan.plan->choose(arguments, Workspace());
  // Only told of, a kernel need not be there.
  auto wanted = pool ? plan.plan->choose(arguments, Workspace::any())
                     : plan.plan->card->choose(arguments, Workspace::any());
  if (pool && (!wanted || !wanted->workspaceBytes))
    return wanted;
  if (!wanted || !wanted->workspaceBytes || wanted->unknown) {
    consumeError(wanted.takeError());
    return plan.plan->choose(arguments, Workspace());
  }
  auto taken = pool ? pool->take(stream, wanted->workspaceBytes)
                    : makeFailure("none was given, and workspacePoolBytes of "
                                  "the context is 0");
  if (taken) {
    lease = std::move(*taken);
    return wanted;
  }
  auto choice = plan.plan->choose(arguments, Workspace());
  if (choice)
    noteUnsplit(plan, *choice, *wanted, taken.takeFailure());
  return choice;
}

/// Of an error from choosing what a launch runs, which may compile and load it.
static faStatus failChoose(Error error) {
  faStatus status = error.isA<CancelledError>()     ? FA_ERROR_CANCELLED
                    : error.isA<LateCompileError>() ? FA_ERROR_COMPILE
                    : error.isA<LoadError>()        ? FA_ERROR_DEVICE
                                                    : FA_ERROR_INVALID_ARGUMENT;
  return fail(status, std::move(error));
}

/// Converts and checks the arguments and starts the launch: on the host it has
/// run then, on a card it is enqueued.
static faStatus start(faPlan plan, const LaunchOptions &options,
                      const faArgument *arguments, size_t count) {
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  WorkspacePool::Lease lease = {options.workspace, {}};
  auto choice =
      options.workspace.bytes
          ? plan->plan->choose(converted.get(), options.workspace)
          : chooseInPool(*plan, options.stream, converted.get(), lease);
  if (!choice)
    return failChoose(choice.takeError());
  noteSlower(*plan, *choice, converted.get());
  const LoadedPlan &loaded = *plan->plan;
  if (loaded.emulator) {
    auto counters = loaded.emulator->launch(converted.get());
    return counters ? FA_SUCCESS : fail(FA_ERROR_DEVICE, counters.takeError());
  }
  if (Error error = loaded.host
                        ? loaded.host->launch(*choice, converted.get())
                        : loaded.card->launch(*choice, converted.get(),
                                              options.stream, lease.workspace))
    return fail(FA_ERROR_DEVICE, std::move(error));
  return FA_SUCCESS;
}

faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                      size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanLaunch: expected a plan and arguments, found null");
  Ranges::Range range(plan->ranges.get(), plan->rangeName.c_str());
  faStatus status = start(plan, {}, arguments, count);
  if (status != FA_SUCCESS || !plan->plan->card)
    return status;
  if (Error error = plan->plan->card->synchronize(nullptr))
    return fail(FA_ERROR_DEVICE, std::move(error));
  return FA_SUCCESS;
}

/// faPlanEnqueue and faPlanEnqueueWith, which is `function`.
static faStatus enqueue(StringRef function, faPlan plan,
                        const LaunchOptions &options,
                        const faArgument *arguments, size_t count) {
  if (!plan->plan->card)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected a plan of a card, found one of the "
                           "CPU, which faPlanLaunch runs");
  Ranges::Range range(plan->ranges.get(), plan->rangeName.c_str());
  return start(plan, options, arguments, count);
}

faStatus faPlanEnqueue(faPlan plan, void *stream, const faArgument *arguments,
                       size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueue: expected a plan and arguments, found null");
  return enqueue("faPlanEnqueue", plan, {stream, {}}, arguments, count);
}

faStatus faPlanEnqueueWith(faPlan plan, const faLaunchOptions *options,
                           const faArgument *arguments, size_t count) noexcept {
  if (!plan || !options || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueueWith: expected a plan, options and arguments, "
                "found null");
  auto how = readLaunchOptions(*options);
  if (!how)
    return fail(FA_ERROR_INVALID_ARGUMENT, how.takeFailure());
  return enqueue("faPlanEnqueueWith", plan, *how, arguments, count);
}

faStatus faPlanPrepare(faPlan plan, const faArgument *arguments,
                       size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanPrepare: expected a plan and arguments, found null");
  Ranges::Range range(plan->ranges.get(), "flashtile: prepare");
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  LaunchArgument storage[kMaxArguments];
  ArrayRef<LaunchArgument> given = fillAddresses(converted.get(), storage);
  // Where the last kernel has workspace, all have; where splits have a fixed
  // number of keys, the choice does not depend on it.
  ArrayRef<KernelInfo> kernels = plan->plan->artifact().kernels;
  bool always =
      !kernels.back().workspace.empty() ||
      any_of(kernels, [](const KernelInfo &k) { return k.keysOfSplit; });
  for (const Workspace &workspace : {Workspace(), Workspace::any()}) {
    if (always && !workspace.bytes)
      continue;
    auto choice = plan->plan->choose(given, workspace);
    if (!choice)
      return failChoose(choice.takeError());
  }
  return FA_SUCCESS;
}

faStatus faPlanGetLaunchInfo(faPlan plan, const faArgument *arguments,
                             size_t count, faLaunchInfo *info) noexcept {
  if (!plan || !info || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetLaunchInfo: expected a plan, arguments and a place "
                "for the description, found null");
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  auto choice = plan->plan->choose(converted.get(), Workspace::any());
  if (!choice)
    return failChoose(choice.takeError());
  if (Failure failure = writeLaunchInfo(*choice, info))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  return FA_SUCCESS;
}
