//===- ChooseLaunch.cpp - which kernels of a plan a launch runs -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ChooseLaunch.h"

#include "Workspace.h"

#include "fa/Launch/CheckArguments.h"
#include "fa/Launch/Splits.h"

#include <algorithm>

using namespace fa;

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

namespace {

/// A plan's kernels where a launch runs.
struct Place {
  std::span<const KernelInfo> kernels;
  const LaunchMachine &machine;
  /// Whether kernels that split keys may be taken.
  bool hasWorkspace = true;
  ResidentBlocks residentBlocks = {};
  /// Whether a kernel is left to splits of another, which need workspace.
  bool prefersSplits = false;
  /// The first kernel whose resident blocks are not known and matter.
  const KernelInfo *unknown = nullptr;

  /// `decide` of the blocks of a kernel that a processor holds. Where they are
  /// not known, of any number, if it is the same for all; else notes that.
  template <typename Decide>
  auto decideBy(const KernelInfo &kernel, Decide decide) {
    int64_t blocks = residentBlocks.empty()
                         ? kernel.residentBlocks
                         : residentBlocks[&kernel - kernels.data()].load();
    auto value = decide(std::max<int64_t>(blocks, 1));
    for (int64_t other = 2; !blocks && !unknown && other <= kMaxResidentBlocks;
         ++other)
      if (decide(other) != value)
        unknown = &kernel;
    return value;
  }
};

} // namespace

static Failure failOfBytes(const KernelInfo &kernel) {
  return makeFailure("the workspace of @", kernel.symbol,
                     " has a negative size or more bytes than 63 bits can "
                     "count");
}

/// The programs that a launch would have without splits.
static Result<int64_t> countPrograms(const KernelInfo &kernel,
                                     std::span<const LaunchArgument> given) {
  // With one split, the grid is that of a kernel without splits.
  auto sizeOf = [&](int64_t argument, int64_t dim) -> int64_t {
    auto number = size_t(argument);
    if (number < given.size())
      return given[number].sizes[dim];
    if (dim == 0)
      return 1;
    const WorkspaceInfo &info = kernel.workspace[number - given.size()];
    return evaluate(info.sizes[dim - 1], given).value_or(0);
  };
  int64_t extents[3];
  return evaluateGrid(kernel, sizeOf, extents);
}

/// Whether rows of a tensor that the kernel fetches are two boxes of which none
/// need begin where one of the card's 32 bytes does.
static bool hasUnevenRows(const KernelInfo &kernel) {
  constexpr int64_t sectorBytes = 32, boxBytes = 128;
  return std::ranges::any_of(kernel.args, [](const ArgumentInfo &info) {
    int64_t bytes =
        info.sizes.size() == 4 ? info.sizes[3] * byteSize(info.type) : 0;
    return info.access == Access::In && bytes > boxBytes && bytes % sectorBytes;
  });
}

/// What `programs` of a kernel that splits keys are to the rule for a card.
static SplitProblem describeProblem(const KernelInfo &kernel,
                                    std::span<const LaunchArgument> given,
                                    int64_t programs, int64_t processors,
                                    int64_t residentBlocks) {
  int64_t tile = kernel.tile.size() == 2 ? kernel.tile[1] : 1;
  return {.programs = programs,
          .processors = processors,
          // Of a persistent kernel one runs, whatever there is room for.
          .residentBlocks = kernel.persistent ? 1 : residentBlocks,
          .tiles = evaluate(kernel.splitKeys, given).value_or(0) /
                   std::max<int64_t>(tile, 1),
          .tileBytes = kernel.sharedBytes / std::max<int64_t>(kernel.stages, 1),
          .tileRows = kernel.tile.empty() ? 1 : kernel.tile[0],
          .tileKeys = tile,
          .parts = kernel.parts,
          .computes = kernel.persistent,
          .hasUnevenRows = hasUnevenRows(kernel)};
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
static Result<LaunchChoice> chooseSplit(Place &place,
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
  if (*splits < least && !kernel.keysOfSplit)
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

/// Of programs on the first axis, those that a last cluster lacks: it pays up
/// to this share of them.
static constexpr int64_t kMostLacking = 64;

/// Whether the launch's programs come in whole clusters, nearly, or the plan
/// has no such kernel for blocks alone.
static bool fillsClusters(std::span<const KernelInfo> kernels,
                          const KernelInfo &kernel,
                          std::span<const LaunchArgument> arguments) {
  if (kernel.cluster == 1)
    return true;
  int64_t tiles = evaluate(kernel.grid[0], arguments).value_or(0);
  int64_t last = tiles % kernel.cluster;
  return !last || kernel.cluster - last <= tiles / kMostLacking ||
         std::ranges::none_of(kernels, [&](const KernelInfo &other) {
           return other.persistent && other.cluster == 1 &&
                  other.workspace.empty() && other.tile == kernel.tile;
         });
}

namespace {

/// A kernel that splits keys, and what the rule for splits looks at.
struct DescribedSplits {
  const KernelInfo *kernel;
  SplitProblem problem;

  SplitProblem with(int64_t residentBlocks) const {
    SplitProblem result = problem;
    result.residentBlocks = residentBlocks;
    return result;
  }
};

} // namespace

/// Of the kernel or of the one that splits the keys of the same programs; none
/// without such a one.
static std::optional<DescribedSplits>
describeSplits(const Place &place, const KernelInfo &kernel,
               std::span<const LaunchArgument> arguments) {
  auto split =
      std::ranges::find_if(place.kernels, [&](const KernelInfo &other) {
        return !other.splitKeys.steps.empty() && other.tile == kernel.tile &&
               other.parts == kernel.parts &&
               other.fewerRows == kernel.fewerRows &&
               other.fewPrograms == kernel.fewPrograms;
      });
  if (split == place.kernels.end())
    return std::nullopt;
  Result<int64_t> programs = countPrograms(*split, arguments);
  if (!programs)
    return std::nullopt;
  return DescribedSplits{&*split, describeProblem(*split, arguments, *programs,
                                                  place.machine.processors,
                                                  split->residentBlocks)};
}

/// Whether the launch's programs are as few as the kernel asks for; of parts
/// also where more of them pay.
static bool hasFewPrograms(Place &place, const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments) {
  if (!kernel.fewPrograms)
    return true;
  Result<int64_t> programs = countPrograms(kernel, arguments);
  if (!programs)
    return false;
  if (*programs / kernel.fewPrograms + (*programs % kernel.fewPrograms != 0) <=
      place.machine.processors)
    return true;
  if (kernel.parts == 1 || place.machine.processors == kHost)
    return false;
  auto splits = describeSplits(place, kernel, arguments);
  return splits && place.decideBy(*splits->kernel, [&](int64_t blocks) {
    return partsPay(splits->with(blocks), place.machine.costs);
  });
}

/// Whether the launch's programs are as the kernel asks for, whatever others
/// take.
static bool suits(Place &place, const KernelInfo &kernel,
                  std::span<const LaunchArgument> arguments) {
  return fillsClusters(place.kernels, kernel, arguments) &&
         hasFewPrograms(place, kernel, arguments);
}

/// Rows of all tiles, those that are none among them; none without a tile.
static std::optional<int64_t> countRows(const KernelInfo &kernel,
                                        std::span<const LaunchArgument> given) {
  Result<int64_t> programs = countPrograms(kernel, given);
  int64_t rows = 0;
  if (!programs || kernel.tile.empty() ||
      __builtin_mul_overflow(*programs, kernel.tile.front(), &rows))
    return std::nullopt;
  return rows;
}

/// Whether the kernel has fewer rows than the one behind it that would be
/// taken; where that one is for few programs, no more rows and lower costs.
static bool savesRows(Place &place, const KernelInfo &kernel,
                      std::span<const LaunchArgument> arguments) {
  if (!kernel.fewerRows)
    return true;
  auto behind =
      place.kernels.subspan(size_t(&kernel - place.kernels.data()) + 1);
  auto other = std::ranges::find_if(behind, [&](const KernelInfo &each) {
    return !each.follows && !each.fewerRows && fitsVariant(each, arguments) &&
           suits(place, each, arguments);
  });
  auto rows = countRows(kernel, arguments);
  if (other == behind.end() || !rows)
    return true;
  auto others = countRows(*other, arguments);
  if (!others || *rows > *others)
    return false;
  auto own = describeSplits(place, kernel, arguments),
       theirs = describeSplits(place, *other, arguments);
  if (!other->fewPrograms || !own || !theirs)
    return *rows < *others;
  return place.decideBy(*own->kernel, [&](int64_t mine) {
    return place.decideBy(*theirs->kernel, [&](int64_t blocks) {
      return isCheaper(own->with(mine), theirs->with(blocks),
                       place.machine.costs)
          .value_or(*rows < *others);
    });
  });
}

/// Whether splits of a kernel behind, of more rows and for any number of
/// programs, cost less than the kernel, which is for few, in any splits.
static bool isLeftToSplits(Place &place, const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments) {
  if (!kernel.fewPrograms || kernel.fewerRows || !kernel.persistent ||
      place.machine.processors == kHost || !place.hasWorkspace)
    return false;
  auto behind =
      place.kernels.subspan(size_t(&kernel - place.kernels.data()) + 1);
  auto other = std::ranges::find_if(behind, [&](const KernelInfo &each) {
    return !each.splitKeys.steps.empty() && !each.splits && each.persistent &&
           !each.fewPrograms && !each.fewerRows && fitsVariant(each, arguments);
  });
  if (other == behind.end())
    return false;
  auto own = describeSplits(place, kernel, arguments),
       theirs = describeSplits(place, *other, arguments);
  // Persistent kernels have one block on a processor.
  bool isLeft = own && theirs &&
                chooseSplits(theirs->problem, place.machine.costs) > 1 &&
                isCheaper(theirs->problem, own->problem, place.machine.costs)
                    .value_or(false);
  place.prefersSplits |= isLeft;
  return isLeft;
}

/// Whether the launch is one that the kernel is for.
static bool isMeantFor(Place &place, const KernelInfo &kernel,
                       std::span<const LaunchArgument> arguments) {
  return suits(place, kernel, arguments) &&
         savesRows(place, kernel, arguments) &&
         !isLeftToSplits(place, kernel, arguments);
}

/// The rule: `offer` is given each chain of kernels whose first one takes the
/// arguments, in order, until it gives true or something is unknown; those for
/// other launches last.
template <typename Offer>
static void offerChains(Place &place, std::span<const LaunchArgument> arguments,
                        Offer offer) {
  for (bool meant : {true, false})
    for (size_t n = 0; n < place.kernels.size(); ++n) {
      const KernelInfo &kernel = place.kernels[n];
      if (kernel.follows || !fitsVariant(kernel, arguments))
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
  Place place = {kernels, machine, workspace.bytes != 0, residentBlocks};
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
        !kernel.fewerRows && fitsSizes(kernel, arguments) &&
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
  Place place = {kernels, launch.machine};
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
               chain.front().splits == 1 || isFixed;
    }
    for (const KernelInfo &kernel : chain)
      found.push_back(kernel.symbol);
    return isSure;
  };
  offerChains(place, arguments, take);
  // A launch without workspace takes the kernel that was left to splits.
  if (place.prefersSplits && !wrong) {
    place.hasWorkspace = false;
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
