//===- MeantFor.cpp - which launches a kernel is meant for ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeantFor.h"

#include "Workspace.h"

#include "fa/Launch/CheckArguments.h"
#include "fa/Support/LaunchLimits.h"

#include <optional>

using namespace fa;

Result<int64_t> fa::countPrograms(const KernelInfo &kernel,
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

/// Whether the kernel fetches a tensor of uneven rows.
static bool hasUnevenRows(const KernelInfo &kernel) {
  return std::ranges::any_of(kernel.args, [](const ArgumentInfo &info) {
    return info.access == Access::In && info.sizes.size() == 4 &&
           isUnevenRow(info.sizes[3] * byteSize(info.type));
  });
}

/// Programs that merge a row of what splits leave, the first tensor in
/// workspace.
static int64_t countMergeTiles(const KernelInfo &kernel,
                               std::span<const LaunchArgument> given) {
  if (kernel.workspace.empty() || kernel.workspace.front().sizes.empty())
    return 1;
  int64_t columns =
      evaluate(kernel.workspace.front().sizes.back(), given).value_or(1);
  return columns / kMergeColumns + (columns % kMergeColumns != 0);
}

SplitProblem fa::describeProblem(const KernelInfo &kernel,
                                 std::span<const LaunchArgument> given,
                                 int64_t programs, int64_t processors,
                                 int64_t residentBlocks) {
  int64_t tile = kernel.tile.size() == 2 ? kernel.tile[1] : 1;
  auto countTiles = [&](const SizeExpr &keys) {
    return std::max<int64_t>(evaluate(keys, given).value_or(0), 0) /
           std::max<int64_t>(tile, 1);
  };
  int64_t tiles = countTiles(kernel.splitKeys);
  return {.programs = programs,
          .processors = processors,
          // A persistent kernel that splits keys fills a processor.
          .residentBlocks = kernel.persistent ? 1 : residentBlocks,
          .tiles = tiles,
          .tilesLess =
              kernel.leastKeys.steps.empty()
                  ? 0
                  : tiles - std::min(countTiles(kernel.leastKeys), tiles),
          .tileBytes = kernel.sharedBytes / std::max<int64_t>(kernel.stages, 1),
          .tileRows = kernel.tile.empty() ? 1 : kernel.tile[0],
          .tileKeys = tile,
          .mergeTiles = countMergeTiles(kernel, given),
          .parts = kernel.parts,
          .computes = kernel.persistent,
          .packsRows = !kernel.packedHeads.steps.empty(),
          .hasUnevenRows = hasUnevenRows(kernel)};
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

/// Whether both run the same programs, one of them perhaps on splits of the
/// keys.
static bool haveSamePrograms(const KernelInfo &one, const KernelInfo &other) {
  return one.tile == other.tile && one.parts == other.parts &&
         one.fewerRows == other.fewerRows && one.halfRows == other.halfRows &&
         one.fewPrograms == other.fewPrograms && one.price == other.price;
}

/// The kernel or the one that splits the keys of the same programs; null
/// without such a one.
static const KernelInfo *findSplit(const LaunchPlace &place,
                                   const KernelInfo &kernel) {
  auto split =
      std::ranges::find_if(place.kernels, [&](const KernelInfo &other) {
        return !other.splitKeys.steps.empty() &&
               haveSamePrograms(other, kernel);
      });
  return split == place.kernels.end() ? nullptr : &*split;
}

static std::optional<DescribedSplits>
describeSplits(const LaunchPlace &place, const KernelInfo *split,
               std::span<const LaunchArgument> arguments) {
  if (!split)
    return std::nullopt;
  Result<int64_t> programs = countPrograms(*split, arguments);
  if (!programs)
    return std::nullopt;
  return DescribedSplits{split, describeProblem(*split, arguments, *programs,
                                                place.machine.processors,
                                                split->residentBlocks)};
}

/// Whether the launch's programs are as few as the kernel asks for; of parts
/// that splits have as well, whether they pay.
static bool hasFewPrograms(LaunchPlace &place, const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments) {
  if (!kernel.fewPrograms)
    return true;
  Result<int64_t> programs = countPrograms(kernel, arguments);
  if (!programs)
    return false;
  if (kernel.parts > 1 && place.machine.processors != kHost)
    if (auto splits =
            describeSplits(place, findSplit(place, kernel), arguments))
      return place.decideBy(*splits->kernel, [&](int64_t blocks) {
        return partsPay(splits->with(blocks), place.machine.costs);
      });
  return *programs / kernel.fewPrograms +
             (*programs % kernel.fewPrograms != 0) <=
         place.machine.processors;
}

/// Whether the launch's programs are as many as the kernel asks for.
static bool hasManyPrograms(const LaunchPlace &place, const KernelInfo &kernel,
                            std::span<const LaunchArgument> arguments) {
  if (!kernel.manyPrograms || place.machine.processors == kHost)
    return true;
  Result<int64_t> programs = countPrograms(kernel, arguments);
  return programs &&
         *programs / kernel.manyPrograms >= place.machine.processors;
}

/// Whether the launch's programs keep as much of the machine busy as the kernel
/// asks for: those of a last round may leave some of it idle.
static bool keepsBusy(const LaunchPlace &place, const KernelInfo &kernel,
                      std::span<const LaunchArgument> arguments) {
  if (!kernel.leastBusy)
    return true;
  Result<int64_t> programs = countPrograms(kernel, arguments);
  if (!programs)
    return false;
  int64_t atATime = place.machine.numAtATime();
  // Of many rounds one that is not full does not matter.
  constexpr int64_t manyRounds = 100;
  if (*programs / manyRounds >= atATime)
    return true;
  int64_t rounds = (*programs - 1) / atATime + 1;
  return *programs * 100 >= kernel.leastBusy * rounds * atATime;
}

/// Whether a kernel whose rows are of several heads has several.
static bool packsHeads(const KernelInfo &kernel,
                       std::span<const LaunchArgument> arguments) {
  return kernel.packedHeads.steps.empty() ||
         evaluate(kernel.packedHeads, arguments).value_or(0) > 1;
}

/// Whether the launch's programs are as the kernel asks for, whatever others
/// take and however few they are.
static bool suitsMany(LaunchPlace &place, const KernelInfo &kernel,
                      std::span<const LaunchArgument> arguments) {
  return packsHeads(kernel, arguments) &&
         fillsClusters(place.kernels, kernel, arguments) &&
         hasManyPrograms(place, kernel, arguments) &&
         keepsBusy(place, kernel, arguments);
}

/// What the kernel is predicted to take; none where that is not known, or keys
/// are not few.
static std::optional<int64_t>
priceFewKeys(const LaunchPlace &place, const KernelInfo &kernel,
             std::span<const LaunchArgument> arguments) {
  if (kernel.price.empty() || kernel.pricedKeys.steps.empty() ||
      place.machine.processors == kHost)
    return std::nullopt;
  std::optional<int64_t> keys = evaluate(kernel.pricedKeys, arguments);
  Result<int64_t> programs = countPrograms(kernel, arguments);
  if (!keys || *keys > kFewKeys || !programs)
    return std::nullopt;
  int64_t least = kernel.leastKeys.steps.empty()
                      ? *keys
                      : evaluate(kernel.leastKeys, arguments).value_or(0);
  return priceFewKeys({.programs = *programs,
                       .processors = place.machine.processors,
                       .keys = *keys,
                       .leastKeys = least,
                       .tileKeys = kernel.tile[1]},
                      FewKeysPrice::of(kernel.price));
}

/// The cheapest of the kernels with a price, the first of several; null where
/// keys are not few.
static const KernelInfo *
findCheapest(LaunchPlace &place, std::span<const LaunchArgument> arguments) {
  if (place.cheapest)
    return *place.cheapest;
  const KernelInfo *cheapest = nullptr;
  int64_t least = 0;
  for (const KernelInfo &kernel : place.kernels) {
    if (kernel.follows || kernel.price.empty() || !kernel.workspace.empty() ||
        !fits(place, kernel, arguments) || !suitsMany(place, kernel, arguments))
      continue;
    auto cost = priceFewKeys(place, kernel, arguments);
    if (cost && (!cheapest || *cost < least)) {
      cheapest = &kernel;
      least = *cost;
    }
  }
  place.cheapest = cheapest;
  return cheapest;
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

/// What the kernel costs in the cheapest number of splits; none without a
/// kernel that splits its keys, or where the rule has no costs. Those of
/// persistent kernels do not depend on how many blocks a processor holds.
static std::optional<PricedSplits>
priceSplits(LaunchPlace &place, const KernelInfo &kernel,
            std::span<const LaunchArgument> arguments) {
  if (!kernel.persistent || place.machine.processors == kHost)
    return std::nullopt;
  const KernelInfo *split = findSplit(place, kernel);
  LaunchPlace::Finding *found = split ? place.find(*split) : nullptr;
  if (found && found->isPriced)
    return found->price;
  std::optional<PricedSplits> price;
  if (auto splits = describeSplits(place, split, arguments))
    price = priceSplits(splits->problem, place.machine.costs);
  if (found) {
    found->price = price;
    found->isPriced = true;
  }
  return price;
}

bool fa::fits(LaunchPlace &place, const KernelInfo &kernel,
              std::span<const LaunchArgument> arguments) {
  LaunchPlace::Finding *found = place.find(kernel);
  if (found && found->fits)
    return *found->fits;
  bool fits = fitsVariant(kernel, arguments);
  if (found)
    found->fits = fits;
  return fits;
}

static LaunchPlace::Verdict judge(LaunchPlace &place, const KernelInfo &kernel,
                                  std::span<const LaunchArgument> arguments);

/// Whether the kernel has at most half as many rows as the one behind it that
/// would be taken, or costs less or, where none of the two has costs, has at
/// most three quarters of the rows, as it asks for.
static bool savesRows(LaunchPlace &place, const KernelInfo &kernel,
                      std::span<const LaunchArgument> arguments) {
  if (!kernel.fewerRows && !kernel.halfRows)
    return true;
  auto behind =
      place.kernels.subspan(size_t(&kernel - place.kernels.data()) + 1);
  auto other = std::ranges::find_if(behind, [&](const KernelInfo &each) {
    return !each.follows && !haveSamePrograms(each, kernel) &&
           fits(place, each, arguments) &&
           judge(place, each, arguments) == LaunchPlace::Meant;
  });
  if (other == behind.end())
    return true;
  if (kernel.fewerRows) {
    auto own = priceSplits(place, kernel, arguments),
         theirs = priceSplits(place, *other, arguments);
    if (own)
      return theirs && own->cost < theirs->cost;
  }
  auto rows = countRows(kernel, arguments),
       others = countRows(*other, arguments);
  if (!rows || !others)
    return !rows;
  return *rows <= (kernel.halfRows ? *others / 2 : *others - *others / 4);
}

/// Whether splits of a kernel behind, of more rows and for any number of
/// programs, cost less than the kernel, which is for few, in any splits.
static bool isLeftToSplits(LaunchPlace &place, const KernelInfo &kernel,
                           std::span<const LaunchArgument> arguments) {
  if (!kernel.fewPrograms || kernel.fewerRows || !kernel.persistent ||
      place.machine.processors == kHost || !place.hasWorkspace)
    return false;
  auto behind =
      place.kernels.subspan(size_t(&kernel - place.kernels.data()) + 1);
  auto other = std::ranges::find_if(behind, [&](const KernelInfo &each) {
    return !each.splitKeys.steps.empty() && !each.splits && each.persistent &&
           !each.fewPrograms && !each.fewerRows && fits(place, each, arguments);
  });
  if (other == behind.end())
    return false;
  auto own = priceSplits(place, kernel, arguments),
       theirs = priceSplits(place, *other, arguments);
  return own && theirs && theirs->splits > 1 && theirs->cost < own->cost;
}

/// `judge` of a kernel of which nothing was found yet. Where keys are few a
/// price decides, and splits are those of the kernel that it finds.
static LaunchPlace::Verdict
judgeAnew(LaunchPlace &place, const KernelInfo &kernel,
          std::span<const LaunchArgument> arguments) {
  if (!suitsMany(place, kernel, arguments))
    return LaunchPlace::NotMeant;
  const KernelInfo *cheapest =
      kernel.price.empty() ? nullptr : findCheapest(place, arguments);
  if (cheapest)
    return haveSamePrograms(kernel, *cheapest) ? LaunchPlace::Meant
                                               : LaunchPlace::NotMeant;
  if (!hasFewPrograms(place, kernel, arguments) ||
      !savesRows(place, kernel, arguments))
    return LaunchPlace::NotMeant;
  return isLeftToSplits(place, kernel, arguments) ? LaunchPlace::LeftToSplits
                                                  : LaunchPlace::Meant;
}

/// What a launch makes of the kernel, whose arguments it takes.
static LaunchPlace::Verdict judge(LaunchPlace &place, const KernelInfo &kernel,
                                  std::span<const LaunchArgument> arguments) {
  LaunchPlace::Finding *found = place.find(kernel);
  if (found && found->verdict != LaunchPlace::NotYet)
    return found->verdict;
  LaunchPlace::Verdict verdict = judgeAnew(place, kernel, arguments);
  if (found)
    found->verdict = verdict;
  return verdict;
}

bool fa::isMeantFor(LaunchPlace &place, const KernelInfo &kernel,
                    std::span<const LaunchArgument> arguments) {
  LaunchPlace::Verdict verdict = judge(place, kernel, arguments);
  place.prefersSplits |= verdict == LaunchPlace::LeftToSplits;
  return verdict == LaunchPlace::Meant;
}
