//===- CApi.cpp - FlashTile's C interface ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.h"

#include "fa/Launch/ContextOptions.h"
#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/SizedStruct.h"
#include "fa/Launch/TargetName.h"
#include "fa/Runtime/DescribePlan.h"
#include "fa/Runtime/PlanStore.h"
#include "fa/Runtime/ReadProgram.h"

using namespace llvm;
using namespace fa;

/// A place to run and the plans that were made for it.
struct faContextImpl {
  decltype(faContextOptions::log) logTo = nullptr;
  void *user = nullptr;
  unsigned threads = 0; ///< of the host's device
  std::unique_ptr<PlanStore> plans;

  void log(faLogLevel level, const std::string &message) const {
    if (logTo)
      logTo(user, level, message.c_str());
  }
};

struct faPlanImpl {
  std::shared_ptr<const LoadedPlan> plan;
  std::string description;
  unsigned threads;
};

static thread_local std::string lastError;

const char *faGetLastErrorMessage(void) noexcept { return lastError.c_str(); }

const char *faGetVersion(void) noexcept { return FA_VERSION; }

static faStatus fail(faStatus status, const Twine &message) {
  lastError = message.str();
  return status;
}

static faStatus fail(faStatus status, const Failure &failure) {
  return fail(status, Twine(failure.message()));
}

static faStatus fail(faStatus status, Error error) {
  return fail(status, toString(std::move(error)));
}

/// Of an error from preparing a plan.
static faStatus failPrepare(Error error) {
  faStatus status = error.isA<CancelledError>() ? FA_ERROR_CANCELLED
                    : error.isA<LoadError>()    ? FA_ERROR_DEVICE
                                                : FA_ERROR_COMPILE;
  return fail(status, std::move(error));
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Opens a card and says how to compile for it.
static Error openCard(const TargetName &target, const faContextOptions &options,
                      PlanStore::Options &store) {
  auto card = CudaDevice::open(target.card,
                               options.driver ? options.driver : kCudaDriver);
  if (!card)
    return toError(card.takeFailure());
  auto arch = archOf(**card);
  if (!arch)
    return arch.takeError();
  store.card = *card;
  store.compile.arch = *arch;
  store.compile.ptxas = options.ptxas ? options.ptxas : "";
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
  auto target = parseTargetName(given->target ? given->target : "cpu");
  if (!target)
    return fail(FA_ERROR_INVALID_ARGUMENT, target.takeFailure());
  auto result = std::make_unique<faContextImpl>();
  result->logTo = given->log;
  result->user = given->user;
  PlanStore::Options store;
  if (target->isCuda) {
    if (Error error = openCard(*target, *given, store))
      return fail(FA_ERROR_DEVICE, std::move(error));
  } else {
    store.host = createHostDevice(*given);
    result->threads = store.host->numThreads();
  }
  store.cache = readCacheOptions(*given, *result);
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
// Programs
//===----------------------------------------------------------------------===//

/// The size that each description had in the first version.
static constexpr size_t kFirstAttentionDescSize =
                            offsetof(faAttentionDesc, hasPrefix),
                        kFirstModuleDescSize =
                            offsetof(faModuleDesc, allowBytecode);

static faStatus readProgram(const faAttentionDesc &given, Program &program) {
  auto desc = readSized("faAttentionDesc", given, kFirstAttentionDescSize);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  auto problem = readProblem(*desc);
  if (!problem)
    return fail(FA_ERROR_INVALID_ARGUMENT, problem.takeError());
  auto built = buildProgram(*problem, desc->scoreMod ? desc->scoreMod : "",
                            desc->maskMod ? desc->maskMod : "");
  if (!built)
    return fail(FA_ERROR_COMPILE, built.takeError());
  program = std::move(*built);
  return FA_SUCCESS;
}

static faStatus readProgram(const faModuleDesc &given, Program &program) {
  auto desc = readSized("faModuleDesc", given, kFirstModuleDescSize);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  if (!desc->text && desc->length)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faModuleDesc: expected text, found null");
  auto parsed = parseProgram(*desc);
  if (!parsed)
    return fail(FA_ERROR_COMPILE, parsed.takeError());
  program = std::move(*parsed);
  return FA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static void logSlowKernels(const faContextImpl &context,
                           const LoadedPlan &plan) {
  for (const KernelInfo &kernel : plan.artifact().kernels)
    if (kernel.unfused)
      context.log(FA_LOG_NOTE, "@" + kernel.entry +
                                   " is not fused: one program on whole "
                                   "tensors, slow (fa-opt --explain says why)");
}

template <typename Desc>
static faStatus createPlan(StringRef function, faContext context,
                           const Desc *desc, faPlan *plan) {
  if (plan)
    *plan = nullptr;
  if (!context || !desc || !plan)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected a context, a description and a place "
                           "for the plan, found null");
  Program program;
  if (faStatus status = readProgram(*desc, program))
    return status;
  auto loaded = context->plans->prepare(*program.module, program.entry);
  if (!loaded)
    return failPrepare(loaded.takeError());
  logSlowKernels(*context, **loaded);
  std::string description = describePlan(**loaded);
  *plan = new faPlanImpl{std::move(*loaded), std::move(description),
                         context->threads};
  return FA_SUCCESS;
}

faStatus faPlanCreateFromAttention(faContext context,
                                   const faAttentionDesc *desc,
                                   faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromAttention", context, desc, plan);
}

faStatus faPlanCreateFromModule(faContext context, const faModuleDesc *desc,
                                faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromModule", context, desc, plan);
}

void faPlanDestroy(faPlan plan) noexcept { delete plan; }

template <typename Desc>
static faStatus checkSupported(StringRef function, const char *arch,
                               const Desc *desc) {
  if (!arch || !desc)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected an architecture and a description, "
                           "found null");
  Program program;
  if (faStatus status = readProgram(*desc, program))
    return status;
  CompileOptions options;
  options.arch = arch;
  auto lowered = emit(*program.module, options,
                      isNvidiaArch(arch) ? Emit::TileGPU : Emit::Kernel);
  return lowered ? FA_SUCCESS : fail(FA_ERROR_COMPILE, lowered.takeError());
}

faStatus faAttentionIsSupported(const char *arch,
                                const faAttentionDesc *desc) noexcept {
  return checkSupported("faAttentionIsSupported", arch, desc);
}

faStatus faModuleIsSupported(const char *arch,
                             const faModuleDesc *desc) noexcept {
  return checkSupported("faModuleIsSupported", arch, desc);
}

//===----------------------------------------------------------------------===//
// What a plan is
//===----------------------------------------------------------------------===//

const char *faPlanDescribe(faPlan plan) noexcept {
  return plan ? plan->description.c_str() : "";
}

template <typename Info>
static faStatus giveInfo(StringRef name, const Info &value, Info *to) {
  if (Failure failure = writeSized(name, value, to, sizeof(size_t)))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  return FA_SUCCESS;
}

faStatus faPlanGetInfo(faPlan plan, faPlanInfo *info) noexcept {
  if (!plan || !info)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetInfo: expected a plan and a place for its "
                "description, found null");
  return giveInfo("faPlanInfo", planInfo(*plan->plan, plan->threads), info);
}

faStatus faPlanGetKernelInfo(faPlan plan, uint32_t index,
                             faKernelInfo *info) noexcept {
  if (!plan || !info)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetKernelInfo: expected a plan and a place for a "
                "kernel's description, found null");
  const auto &kernels = plan->plan->artifact().kernels;
  if (index >= kernels.size())
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetKernelInfo: expected a kernel below " +
                    Twine(kernels.size()) + ", found " + Twine(index));
  return giveInfo("faKernelInfo", kernelInfo(kernels[index]), info);
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// Converts and checks the arguments and calls `launch` with them.
static faStatus
launchWith(faPlan plan, const faArgument *arguments, size_t count,
           function_ref<Error(ArrayRef<LaunchArgument>)> launch) {
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  auto kernel = plan->plan->select(converted.get());
  if (!kernel)
    return fail(FA_ERROR_INVALID_ARGUMENT, kernel.takeError());
  if (Error error = launch(converted.get()))
    return fail(FA_ERROR_DEVICE, std::move(error));
  return FA_SUCCESS;
}

faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                      size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanLaunch: expected a plan and arguments, found null");
  return launchWith(plan, arguments, count,
                    [&](ArrayRef<LaunchArgument> converted) -> Error {
                      if (plan->plan->host)
                        return plan->plan->host->launch(converted);
                      if (Error error = plan->plan->card->launch(converted))
                        return error;
                      return plan->plan->card->synchronize(nullptr);
                    });
}

faStatus faPlanEnqueue(faPlan plan, void *stream, const faArgument *arguments,
                       size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueue: expected a plan and arguments, found null");
  if (!plan->plan->card)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueue: expected a plan of a card, found one of the "
                "CPU, which faPlanLaunch runs");
  return launchWith(plan, arguments, count,
                    [&](ArrayRef<LaunchArgument> converted) {
                      return plan->plan->card->launch(converted, stream);
                    });
}
