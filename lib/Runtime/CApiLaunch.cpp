//===- CApiLaunch.cpp - FlashTile's C interface: launches
//------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/LaunchOptions.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa;

static thread_local std::string lastCounters;

const char *faGetLastCounters(void) noexcept { return lastCounters.c_str(); }

/// Says, once a plan, that a launch runs slower than another one would. Looks
/// until then alone, and only where somebody is told.
static void noteSlower(faPlanImpl &plan, const LaunchChoice &choice,
                       const BoundLaunch &launch) {
  const auto &kernels = launch.plan->artifact().kernels;
  if (!plan.context->logTo || plan.saidSlower.load(std::memory_order_relaxed))
    return;
  std::string why =
      explainSlower(kernels, choice.kernels.front().symbol, launch.arguments());
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
                                           const BoundLaunch &launch,
                                           WorkspacePool::Lease &lease) {
  const LoadedPlan &loaded = *launch.plan;
  ArrayRef<LaunchArgument> arguments = launch.arguments();
  WorkspacePool *pool = plan.context->workspaces.get();
  bool isTold =
      plan.context->logTo && !plan.saidUnsplit.load(std::memory_order_relaxed);
  if (!loaded.card || (!pool && !isTold))
    return loaded.choose(arguments, Workspace());
  // Only told of, a kernel need not be there.
  auto wanted = pool ? loaded.choose(arguments, Workspace::any())
                     : loaded.card->choose(arguments, Workspace::any());
  if (pool && (!wanted || !wanted->workspaceBytes))
    return wanted;
  if (!wanted || !wanted->workspaceBytes || wanted->unknown) {
    consumeError(wanted.takeError());
    return loaded.choose(arguments, Workspace());
  }
  auto taken = pool ? pool->take(stream, wanted->workspaceBytes)
                    : makeFailure("none was given, and workspacePoolBytes of "
                                  "the context is 0");
  if (taken) {
    lease = std::move(*taken);
    return wanted;
  }
  auto choice = loaded.choose(arguments, Workspace());
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

/// Says, once a plan, that a launch runs a kernel as it is written.
static void noteNotRaised(faPlanImpl &plan, const BoundLaunch &launch) {
  if (launch.notRaised.empty() || !plan.context->logTo ||
      !plan.triton->notRaised().empty() || plan.saidNotRaised.exchange(true))
    return;
  plan.context->log(FA_LOG_NOTE,
                    launch.notRaised + "; it runs as it is written");
}

namespace {
/// What a launch runs and is given, and by which kernels.
struct ChosenLaunch {
  BoundLaunch launch;
  LaunchChoice choice;
};
} // namespace

/// Of the launch that is `given`, which of a kernel of Triton's may be one of
/// its attention; where that turns out not to compile, of the kernel. `choose`
/// chooses the kernels of it, and may compile and load them.
static Expected<ChosenLaunch>
chooseBound(faPlanImpl &plan, ArrayRef<LaunchArgument> given, bool isPlanned,
            function_ref<Expected<LaunchChoice>(const BoundLaunch &)> choose) {
  if (!plan.triton) {
    BoundLaunch launch{plan.plan.get(), {}, given, {}};
    auto choice = choose(launch);
    if (!choice)
      return choice.takeError();
    return ChosenLaunch{std::move(launch), *choice};
  }
  auto launch = plan.triton->bind(given, isPlanned);
  if (!launch)
    return launch.takeError();
  auto choice = choose(*launch);
  if (choice)
    return ChosenLaunch{std::move(*launch), *choice};
  Error error = choice.takeError();
  bool mayBeWritten = launch->notRaised.empty() &&
                      (error.isA<LateCompileError>() || error.isA<LoadError>());
  if (!mayBeWritten || !plan.triton->giveUp(error))
    return error;
  return chooseBound(plan, given, isPlanned, choose);
}

/// Runs a launch in the emulator; what it counts is for faGetLastCounters.
static faStatus emulate(const EmulatorPlan &plan,
                        ArrayRef<LaunchArgument> arguments) {
  auto counters = plan.launch(arguments);
  if (!counters)
    return fail(FA_ERROR_DEVICE, counters.takeError());
  if (plan.isCounting())
    lastCounters = formatv("{0}", json::Value(toJson(*counters))).str();
  return FA_SUCCESS;
}

/// Converts and checks the arguments and starts the launch: on the host it has
/// run then, on a card it is enqueued.
static faStatus start(faPlan plan, const LaunchOptions &options,
                      const faArgument *arguments, size_t count) {
  lastCounters.clear();
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  WorkspacePool::Lease lease = {options.workspace, {}};
  auto chosen = chooseBound(
      *plan, converted.get(), /*isPlanned=*/false,
      [&](const BoundLaunch &launch) {
        return options.workspace.bytes
                   ? launch.plan->choose(launch.arguments(), options.workspace)
                   : chooseInPool(*plan, options.stream, launch, lease);
      });
  if (!chosen)
    return failChoose(chosen.takeError());
  noteNotRaised(*plan, chosen->launch);
  noteSlower(*plan, chosen->choice, chosen->launch);
  const LoadedPlan &loaded = *chosen->launch.plan;
  ArrayRef<LaunchArgument> given = chosen->launch.arguments();
  if (loaded.emulator)
    return emulate(*loaded.emulator, given);
  if (Error error = loaded.host
                        ? loaded.host->launch(chosen->choice, given)
                        : loaded.card->launch(chosen->choice, given,
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

/// Chooses what a launch runs with workspace, and what it runs without.
static Expected<LaunchChoice> prepareLaunch(const BoundLaunch &launch) {
  LaunchArgument storage[kMaxArguments];
  ArrayRef<LaunchArgument> given = fillAddresses(launch.arguments(), storage);
  // Where the last kernel has workspace, all have; where splits have a fixed
  // number of keys, the choice does not depend on it.
  ArrayRef<KernelInfo> kernels = launch.plan->artifact().kernels;
  bool always =
      !kernels.back().workspace.empty() ||
      any_of(kernels, [](const KernelInfo &k) { return k.keysOfSplit; });
  if (!always)
    if (auto choice = launch.plan->choose(given, Workspace()); !choice)
      return choice;
  return launch.plan->choose(given, Workspace::any());
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
  auto chosen =
      chooseBound(*plan, converted.get(), /*isPlanned=*/true, prepareLaunch);
  return chosen ? FA_SUCCESS : failChoose(chosen.takeError());
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
  auto chosen = chooseBound(*plan, converted.get(), /*isPlanned=*/false,
                            [](const BoundLaunch &launch) {
                              return launch.plan->choose(launch.arguments(),
                                                         Workspace::any());
                            });
  if (!chosen)
    return failChoose(chosen.takeError());
  static thread_local std::string why;
  why = std::move(chosen->launch.notRaised);
  if (Failure failure = writeLaunchInfo(chosen->choice, info,
                                        why.empty() ? nullptr : why.c_str()))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  return FA_SUCCESS;
}
