//===- ChooseLaunch.cpp - which kernels of a plan a launch runs -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ChooseLaunch.h"

#include "MeantFor.h"
#include "Workspace.h"

#include "fa/Launch/CheckArguments.h"

#include <algorithm>

using namespace fa;

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

static Failure failOfBytes(const KernelInfo &kernel) {
  return makeFailure("the workspace of @", kernel.symbol,
                     " has a negative size or more bytes than 63 bits can "
                     "count");
}

/// How many splits of a kernel's fixed number of keys hold all keys.
static Result<int64_t> countFixedSplits(const KernelInfo &kernel,
                                        std::span<const LaunchArgument> given) {
  int64_t keys = evaluate(kernel.splitKeys, given).value_or(0);
  int64_t splits = keys <= 0 ? 1 : (keys - 1) / kernel.keysOfSplit + 1;
  if (splits > kMaxSplits)
    return makeFailure("@", kernel.symbol, ": expected at most ", kMaxSplits,
                       " splits of ", kernel.keysOfSplit, " keys, found ", keys,
                       " keys, which take ", splits);
  return splits;
}

/// How many splits a launch of `kernel` has on `machine`.
static Result<int64_t> countSplits(const KernelInfo &kernel,
                                   std::span<const LaunchArgument> given,
                                   const LaunchMachine &machine,
                                   int64_t residentBlocks) {
  if (kernel.splits)
    return kernel.splits;
  if (kernel.keysOfSplit)
    return countFixedSplits(kernel, given);
  Result<int64_t> programs = countPrograms(kernel, given);
  if (!programs)
    return programs;
  if (machine.processors == kHost)
    return chooseHostSplits(*programs,
                            evaluate(kernel.splitKeys, given).value_or(0));
  return chooseSplits(describeProblem(kernel, given, *programs,
                                      machine.processors, residentBlocks),
                      machine.costs);
}

/// Whether there are several splits for some number of resident blocks.
static Result<bool> maySplit(const KernelInfo &kernel,
                             const PlannedLaunch &launch,
                             std::span<const LaunchArgument> arguments) {
  for (int64_t blocks = 1; blocks <= launch.residentBlocks; ++blocks) {
    auto splits = countSplits(kernel, arguments, launch.machine, blocks);
    if (!splits)
      return splits.takeFailure();
    if (*splits > 1)
      return true;
  }
  return false;
}

/// `kernels[first]` and those that follow it.
static std::span<const KernelInfo>
takeChain(std::span<const KernelInfo> kernels, size_t first) {
  size_t end = first + 1;
  while (end < kernels.size() && kernels[end].follows)
    ++end;
  return kernels.subspan(first, end - first);
}

/// The launch that begins with the first of `chain` and splits keys; none if
/// there would be fewer than `least` splits.
static Result<LaunchChoice> chooseSplit(LaunchPlace &place,
                                        std::span<const KernelInfo> chain,
                                        std::span<const LaunchArgument> given,
                                        const Workspace &workspace,
                                        int64_t least) {
  const KernelInfo &kernel = chain.front();
  Result<int64_t> splits = 0;
  place.decideBy(kernel, [&](int64_t blocks) {
    splits = countSplits(kernel, given, place.machine, blocks);
    return splits ? *splits : 0;
  });
  if (!splits)
    return splits.takeFailure();
  if (place.unknown)
    return LaunchChoice();
  auto bytes = countBytes(kernel, *splits, given);
  if (!bytes)
    return failOfBytes(kernel);
  // A counter is all that a kernel with one split has in workspace then.
  if (*splits < least && !kernel.keysOfSplit && !kernel.dynamic)
    return LaunchChoice();
  if (*bytes > workspace.bytes)
    return makeFailure("@", kernel.symbol, " in ", *splits,
                       " splits: expected a workspace of ", *bytes,
                       " bytes, found ", workspace.bytes);
  if (auto off =
          reinterpret_cast<uintptr_t>(workspace.data) % kWorkspaceAlignment)
    return makeFailure(
        "@", kernel.symbol, ": expected a workspace at a multiple of ",
        kWorkspaceAlignment, " bytes, found one ", off, " bytes off");
  return LaunchChoice{chain, *splits, *bytes};
}

/// The rule: `offer` is given each chain of kernels whose first one takes the
/// arguments, in order, until it gives true or something is unknown; those for
/// other launches last.
template <typename Offer>
static void offerChains(LaunchPlace &place,
                        std::span<const LaunchArgument> arguments,
                        Offer offer) {
  for (bool meant : {true, false})
    for (size_t n = 0; n < place.kernels.size(); ++n) {
      const KernelInfo &kernel = place.kernels[n];
      if (kernel.follows || !fits(place, kernel, arguments))
        continue;
      bool isMeant = isMeantFor(place, kernel, arguments);
      if (place.unknown)
        return;
      if (isMeant == meant && offer(takeChain(place.kernels, n)))
        return;
    }
}

/// That no kernel was offered: the last one is the most general. If it takes
/// the arguments, the plan's kernels all have workspace, and there is none.
static Failure explainRefusal(std::span<const KernelInfo> kernels,
                              std::span<const LaunchArgument> arguments) {
  std::string why;
  const KernelInfo &kernel = kernels.back();
  if (!fitsVariant(kernel, arguments, &why))
    return Failure(why);
  auto bytes = countBytes(kernel, /*splits=*/1, arguments);
  if (!bytes)
    return failOfBytes(kernel);
  return makeFailure("@", kernel.symbol, ": expected a workspace of ", *bytes,
                     " bytes, without which it does not run, found none");
}

Result<LaunchChoice> fa::chooseLaunch(std::span<const KernelInfo> kernels,
                                      std::span<const LaunchArgument> arguments,
                                      const LaunchMachine &machine,
                                      const Workspace &workspace,
                                      ResidentBlocks residentBlocks) {
  assert(!kernels.empty() && "a plan has kernels");
  // The last variant is the most general: its reason is the one to give.
  if (Failure failure = checkArguments(kernels.back(), arguments))
    return failure;
  LaunchPlace place = {kernels, machine, workspace.bytes != 0, residentBlocks};
  Result<LaunchChoice> choice = LaunchChoice();
  // A plan of a launch that splits keys may have no other kernel: then others
  // have one split.
  for (int64_t least : {2, 1})
    if (choice && choice->kernels.empty() && !place.unknown)
      offerChains(place, arguments, [&](std::span<const KernelInfo> chain) {
        if (chain.front().workspace.empty())
          choice = LaunchChoice{chain};
        else if (workspace.bytes || chain.front().keysOfSplit)
          choice = chooseSplit(place, chain, arguments, workspace, least);
        return !choice || !choice->kernels.empty() || place.unknown;
      });
  if (choice && place.unknown)
    return LaunchChoice{{}, 1, 0, place.unknown};
  if (choice && choice->kernels.empty())
    return explainRefusal(kernels, arguments);
  return choice;
}

std::string fa::explainSlower(std::span<const KernelInfo> kernels,
                              std::string_view chosen,
                              std::span<const LaunchArgument> arguments) {
  for (const KernelInfo &kernel : kernels) {
    if (kernel.symbol == chosen)
      break;
    std::string why;
    if (!kernel.follows && kernel.workspace.empty() && !kernel.fewPrograms &&
        !kernel.fewerRows && !kernel.halfRows && fitsSizes(kernel, arguments) &&
        !fitsVariant(kernel, arguments, &why))
      return makeText(
          "@", chosen, " runs, for @", kernel.symbol,
          ", which is faster, does not take these arguments: ", why);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Before a plan is compiled
//===----------------------------------------------------------------------===//

std::span<const LaunchArgument>
fa::fillAddresses(std::span<const LaunchArgument> arguments,
                  LaunchArgument (&storage)[kMaxArguments]) {
  // As aligned as any driver's memory.
  alignas(256) static char memory[256];
  std::copy(arguments.begin(), arguments.end(), storage);
  for (LaunchArgument &argument : storage)
    if (argument.isTensor && !argument.data)
      argument.data = memory;
  return std::span(storage, arguments.size());
}

std::string fa::explainSlower(std::span<const KernelInfo> kernels,
                              std::string_view chosen,
                              const PlannedLaunch &launch) {
  LaunchArgument storage[kMaxArguments];
  return explainSlower(kernels, chosen,
                       fillAddresses(launch.arguments, storage));
}

Result<std::vector<std::string>>
fa::findCandidates(std::span<const KernelInfo> kernels,
                   const PlannedLaunch &launch) {
  assert(!kernels.empty() && "a plan has kernels");
  LaunchArgument storage[kMaxArguments];
  if (launch.arguments.size() > kMaxArguments)
    return makeFailure("expected at most ", kMaxArguments, " arguments, found ",
                       launch.arguments.size());
  auto arguments = fillAddresses(launch.arguments, storage);
  if (Failure failure = checkArguments(kernels.back(), arguments))
    return failure;
  std::vector<std::string> found;
  Failure wrong;
  LaunchPlace place = {kernels, launch.machine};
  auto take = [&](std::span<const KernelInfo> chain) {
    bool isSure = chain.front().workspace.empty();
    if (!isSure) {
      auto splits = maySplit(chain.front(), launch, arguments);
      if (!splits)
        wrong = splits.takeFailure();
      if (wrong)
        return true;
      // Of a chain with one split, which hands over something else, as well.
      bool isFixed = chain.front().keysOfSplit != 0;
      if (!*splits && !chain.front().splits && !isFixed)
        return false;
      // The host has workspace of its own, and so do launches that need it.
      isSure = launch.machine.processors == kHost ||
               (chain.front().splits == 1 && !chain.front().dynamic) || isFixed;
    }
    for (const KernelInfo &kernel : chain)
      found.push_back(kernel.symbol);
    return isSure;
  };
  offerChains(place, arguments, take);
  // A launch without workspace takes the kernel that was left to splits.
  if (place.prefersSplits && !wrong) {
    place.hasWorkspace = false;
    place.findings = {};
    offerChains(place, arguments, [&](std::span<const KernelInfo> chain) {
      if (!chain.front().workspace.empty())
        return false;
      if (std::ranges::find(found, chain.front().symbol) == found.end())
        found.push_back(chain.front().symbol);
      return true;
    });
    std::ranges::sort(found, {}, [&](const std::string &symbol) {
      return std::ranges::find(kernels, symbol, &KernelInfo::symbol);
    });
  }
  if (wrong)
    return wrong;
  if (found.empty())
    return explainRefusal(kernels, arguments);
  return found;
}
