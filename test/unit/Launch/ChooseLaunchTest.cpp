//===- ChooseLaunchTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ChooseLaunch.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <optional>

using namespace fa;

namespace {

SizeExpr size(int64_t argument, int64_t dim) {
  return {{{SizeExpr::Size, argument, dim}}};
}

/// A plan of a kernel that splits the keys, argument 0, dimension 1, one that
/// follows it, and one without workspace. Of each batch there are two rows.
std::vector<KernelInfo> makePlan() {
  ArgumentInfo given, memory;
  given.isMemRef = memory.isMemRef = true;
  given.sizes = given.strides = {kDynamic, kDynamic};
  memory.sizes = memory.strides = {kDynamic, kDynamic, kDynamic};
  KernelInfo split, merge, whole;
  split.symbol = "split";
  split.args = {given, memory};
  split.workspace = {{{size(0, 0), SizeExpr{{{SizeExpr::Const, 2}}}}}};
  split.splitKeys = size(0, 1);
  split.tile = {16, 64};
  split.stages = 2;
  split.sharedBytes = 2 * 32768;
  split.grid = {size(1, 0), size(0, 0)};
  merge = split;
  merge.symbol = "merge";
  merge.follows = true;
  merge.splitKeys = {};
  merge.grid = {size(0, 0)};
  whole.symbol = "whole";
  whole.args = {given};
  whole.grid = {size(0, 0)};
  return {split, merge, whole};
}

/// A chain like that of gradients: every launch has workspace, as if there were
/// one split.
std::vector<KernelInfo> makeChain() {
  std::vector<KernelInfo> plan = makePlan();
  plan.pop_back();
  plan[0].splitKeys = {};
  plan[0].splits = 1;
  return plan;
}

LaunchArgument keys(int64_t batches, int64_t count) {
  alignas(16) static char memory[1];
  int64_t sizes[] = {batches, count}, strides[] = {count, 1};
  return LaunchArgument::tensor(memory, ElementType::F32, sizes, strides);
}

std::string messageOf(Result<LaunchChoice> choice) {
  return choice ? "" : choice.takeFailure().message();
}

} // namespace

TEST(ChooseLaunch, ALaunchTakesTheChain) {
  std::vector<KernelInfo> plan = makePlan();
  EXPECT_FALSE(checkPlan(plan));
  LaunchArgument arguments[] = {keys(3, 704)};
  auto choice = chooseLaunch(plan, arguments, 12, Workspace::any());
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->kernels.size(), 2u);
  EXPECT_EQ(choice->kernels[0].symbol, "split");
  EXPECT_EQ(choice->kernels[1].symbol, "merge");
  EXPECT_EQ(choice->splits, 4); // for 12 processors and 3 programs
  EXPECT_EQ(choice->workspaceBytes, 4u * 3 * 2 * 4);

  alignas(kWorkspaceAlignment) char memory[96];
  KernelArguments all(*choice, arguments, {memory, sizeof memory});
  ASSERT_EQ(all.get().size(), 2u);
  EXPECT_EQ(all.get()[1].data, memory);
  EXPECT_EQ(all.get()[1].sizes[0], 4);
  EXPECT_EQ(all.get()[1].strides[0], 6);
  int64_t extents[3];
  EXPECT_EQ(*evaluateGrid(choice->kernels[0], all.get(), extents), 12);
}

/// A chain of long programs is taken where they keep the threads busy.
TEST(ChooseLaunch, ProgramsKeepThreadsBusy) {
  std::vector<KernelInfo> plan = makePlan();
  KernelInfo few = plan.back(), other = few;
  few.symbol = "long";
  few.leastBusy = 72;
  other.symbol = "short";
  plan = {few, other};
  EXPECT_FALSE(checkPlan(plan));
  auto chosen = [&](int64_t programs, const LaunchMachine &machine) {
    LaunchArgument arguments[] = {keys(programs, 64)};
    auto choice = chooseLaunch(plan, arguments, machine, Workspace::any());
    return choice ? choice->kernels[0].symbol : "";
  };
  EXPECT_EQ(chosen(1, LaunchMachine::host(1)), "long");
  EXPECT_EQ(chosen(1, LaunchMachine::host(2)), "short"); // 50 percent
  EXPECT_EQ(chosen(3, LaunchMachine::host(4)), "long");  // 75
  EXPECT_EQ(chosen(5, LaunchMachine::host(4)), "short"); // of two rounds 62.5
  EXPECT_EQ(chosen(6, LaunchMachine::host(4)), "long");
  EXPECT_EQ(chosen((int64_t(1) << 40) + 1, LaunchMachine::host(4)), "long");
  EXPECT_EQ(chosen(132, 132), "long"); // a card's processors
  EXPECT_EQ(chosen(133, 132), "short");
  // Where no other fits, it is taken.
  plan = {few};
  EXPECT_EQ(chosen(1, LaunchMachine::host(2)), "long");
  plan[0].leastBusy = 101;
  EXPECT_TRUE(checkPlan(plan));
}

TEST(ChooseLaunch, TheNumberCanBeSaid) {
  std::vector<KernelInfo> plan = makePlan();
  plan[0].splits = 7;
  LaunchArgument arguments[] = {keys(3, 100)};
  for (int64_t processors : {1, 12, 1000}) {
    auto choice = chooseLaunch(plan, arguments, processors, Workspace::any());
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->splits, 7);
  }
  plan[0].splits = kMaxSplits + 1;
  EXPECT_TRUE(checkPlan(plan));
}

/// Splits of a fixed number of keys are as many as the keys need, whatever else
/// there is, and no launch does without them.
TEST(ChooseLaunch, KeysOfASplitCanBeSaid) {
  std::vector<KernelInfo> plan = makePlan();
  plan[0].keysOfSplit = 100;
  EXPECT_FALSE(checkPlan(plan));
  auto splitsOf = [&](int64_t batches, int64_t count, int64_t processors) {
    LaunchArgument arguments[] = {keys(batches, count)};
    auto choice = chooseLaunch(plan, arguments, processors, Workspace::any());
    // What a launch chooses is what its plan is compiled from, and no other.
    auto found = findCandidates(
        plan, {{keys(batches, count)}, processors, /*residentBlocks=*/1});
    EXPECT_TRUE(found &&
                *found == (std::vector<std::string>{"split", "merge"}));
    return choice && choice->kernels.size() == 2 ? choice->splits : -1;
  };
  for (int64_t processors : {kHost, int64_t(1), int64_t(1000)})
    for (int64_t batches : {1, 3, 1000}) {
      EXPECT_EQ(splitsOf(batches, 0, processors), 1);
      EXPECT_EQ(splitsOf(batches, 1, processors), 1);
      EXPECT_EQ(splitsOf(batches, 100, processors), 1);
      EXPECT_EQ(splitsOf(batches, 101, processors), 2);
      EXPECT_EQ(splitsOf(batches, kMaxSplits * 100, processors), kMaxSplits);
    }
  LaunchArgument arguments[] = {keys(3, 101)};
  EXPECT_EQ(messageOf(chooseLaunch(plan, arguments, 12, Workspace())),
            "@split in 2 splits: expected a workspace of 48 bytes, found 0");
  LaunchArgument tooMany[] = {keys(3, kMaxSplits * 100 + 1)};
  EXPECT_EQ(messageOf(chooseLaunch(plan, tooMany, 12, Workspace::any())),
            "@split: expected at most 1024 splits of 100 keys, found 102401 "
            "keys, which take 1025");
  plan[0].splitKeys = {};
  EXPECT_TRUE(checkPlan(plan));
}

TEST(ChooseLaunch, WithoutWorkspaceThereAreNone) {
  std::vector<KernelInfo> plan = makePlan();
  LaunchArgument arguments[] = {keys(3, 704)};
  auto choice = chooseLaunch(plan, arguments, 12, Workspace());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernels[0].symbol, "whole");
  // One split is none, too.
  choice = chooseLaunch(plan, arguments, 3, Workspace::any());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernels[0].symbol, "whole");
  EXPECT_EQ(choice->workspaceBytes, 0u);
}

TEST(ChooseLaunch, AChainAlwaysHasWorkspace) {
  std::vector<KernelInfo> plan = makeChain();
  EXPECT_FALSE(checkPlan(plan));
  LaunchArgument arguments[] = {keys(3, 704)};
  for (int64_t processors : {kHost, int64_t(1), int64_t(1000)}) {
    auto choice = chooseLaunch(plan, arguments, processors, Workspace::any());
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->kernels.size(), 2u);
    EXPECT_EQ(choice->splits, 1);
    EXPECT_EQ(choice->workspaceBytes, 3u * 2 * 4 + 8); // rounded up
  }
  EXPECT_EQ(
      messageOf(chooseLaunch(plan, arguments, 12, Workspace())),
      "@merge: expected a workspace of 32 bytes, without which it does not "
      "run, found none");
  // Beside a kernel that has none, a chain is left out without.
  plan.push_back(makePlan().back());
  auto choice = chooseLaunch(plan, arguments, 12, Workspace());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernels[0].symbol, "whole");
  // One whose number of splits is a launch's choice cannot be the last.
  plan = makePlan();
  plan.pop_back();
  EXPECT_TRUE(checkPlan(plan));
}

TEST(ChooseLaunch, RefusesWhatIsTooSmall) {
  std::vector<KernelInfo> plan = makePlan();
  LaunchArgument arguments[] = {keys(3, 704)};
  alignas(kWorkspaceAlignment) char memory[97];
  EXPECT_EQ(messageOf(chooseLaunch(plan, arguments, 12, {memory, 95})),
            "@split in 4 splits: expected a workspace of 96 bytes, found 95");
  EXPECT_EQ(messageOf(chooseLaunch(plan, arguments, 12, {memory + 1, 96})),
            "@split: expected a workspace at a multiple of 16 bytes, "
            "found one 1 bytes off");
  LaunchArgument many[] = {keys(INT64_MAX / 2, 1 << 20)};
  plan[0].splits = 2;
  EXPECT_EQ(messageOf(chooseLaunch(plan, many, 12, Workspace::any())),
            "argument 0: sizes 4611686018427387903x1048576 and strides "
            "1048576x1 reach beyond 64-bit addresses");
}

/// Workspace that cannot be counted is found before anything is made of it,
/// even where there are no splits.
TEST(ChooseLaunch, RefusesWhatCannotBeCounted) {
  std::vector<KernelInfo> plan = makePlan();
  plan[0].workspace[0].sizes = {size(0, 0), size(0, 0)};
  auto message = [&](int64_t batches) {
    int64_t sizes[] = {batches, 1}, strides[] = {1, 1};
    alignas(16) static char memory[1];
    LaunchArgument arguments[] = {
        LaunchArgument::tensor(memory, ElementType::F32, sizes, strides)};
    return messageOf(chooseLaunch(plan, arguments, 12, Workspace::any()));
  };
  EXPECT_EQ(message(8), "");
  const char *text = "the workspace of @split has a negative size or more "
                     "bytes than 63 bits can count";
  EXPECT_EQ(message(int64_t(1) << 32), text);
  plan[0].workspace[0].sizes[0] = SizeExpr{{{SizeExpr::Const, -1}}};
  EXPECT_EQ(message(8), text);
}

TEST(ChooseLaunch, RefusesPlansThatAreNone) {
  auto refused = [](auto change) {
    std::vector<KernelInfo> plan = makePlan();
    change(plan);
    Failure failure = checkPlan(plan);
    return failure ? failure.message() : "";
  };
  using Plan = std::vector<KernelInfo>;
  EXPECT_EQ(refused([](Plan &plan) { plan.pop_back(); }),
            "expected a plan whose last kernel takes every launch, without "
            "workspace, or whose kernels all have one");
  EXPECT_EQ(refused([](Plan &plan) { plan.erase(plan.begin()); }),
            "@merge: expected to follow a kernel with the same arguments and "
            "workspace");
  EXPECT_EQ(
      refused([](Plan &plan) { plan[1].follows = false; }),
      "@merge: expected workspace where there are splits, and only there");
  EXPECT_EQ(
      refused([](Plan &plan) { plan[0].workspace[0].sizes[0] = size(1, 0); }),
      "@split: expected the size of one of 1 given arguments, found "
      "argument 1");
  EXPECT_EQ(refused([](Plan &plan) {
              plan[0].rules = {{SizeRule::AtMost, 1, 0, 0, 0, 64}};
            }),
            "@split: its size rule 'at_most' speaks of a dimension that there "
            "is not");
  EXPECT_EQ(refused([](Plan &plan) {
              plan.insert(plan.begin(), plan.back());
              plan[0].args.push_back(plan[0].args[0]);
            }),
            "@whole: expected 1 given arguments as of @whole, found 2");
  EXPECT_EQ(refused([](Plan &plan) {
              plan.insert(plan.begin(), plan.back());
              plan[0].args[0].sizes = plan[0].args[0].strides = {1, 1, 1};
            }),
            "@whole: argument 0: expected f32 of rank 2 as of @whole, found "
            "f32 of rank 3");
}

/// Small tiles are for launches that leave processors idle with others.
TEST(ChooseLaunch, VariantsForFewPrograms) {
  KernelInfo whole = makePlan().back(), few = whole;
  few.symbol = "few";
  few.fewPrograms = 2;
  auto chosen = [&](std::vector<KernelInfo> plan, int64_t programs,
                    int64_t processors) {
    EXPECT_FALSE(checkPlan(plan));
    LaunchArgument arguments[] = {keys(programs, 16)};
    auto choice = chooseLaunch(plan, arguments, processors, Workspace());
    std::string symbol =
        choice ? choice->kernels.front().symbol : messageOf(std::move(choice));
    // What a launch chooses is what its plan is compiled from.
    auto found = findCandidates(
        plan, {{keys(programs, 16)}, processors, /*residentBlocks=*/1});
    EXPECT_TRUE(found && *found == std::vector{symbol});
    return symbol;
  };
  EXPECT_EQ(chosen({few, whole}, 6, 3), "few");
  EXPECT_EQ(chosen({few, whole}, 7, 3), "whole");
  EXPECT_EQ(chosen({few, whole}, 0, 3), "few");
  EXPECT_EQ(chosen({few, whole}, 1, kHost), "whole");
  // It takes all launches of a plan that has nothing else.
  EXPECT_EQ(chosen({few}, 7, 3), "few");
  // Kernels that split keys are counted as if there were one split.
  std::vector<KernelInfo> plan = makePlan();
  plan.front().fewPrograms = 1;
  plan.front().splits = 2;
  LaunchArgument arguments[] = {keys(6, 16)};
  for (auto [processors, expected] : {std::pair(6, "split"), {5, "whole"}}) {
    auto choice = chooseLaunch(plan, arguments, processors, Workspace::any());
    EXPECT_TRUE(choice && choice->kernels.front().symbol == expected);
  }
  few.fewPrograms = -1;
  EXPECT_EQ(checkPlan(std::vector{few, whole}).message(),
            "@few: expected few_programs of at least 0, found -1");
  whole.parts = 0;
  EXPECT_EQ(checkPlan(std::vector{whole}).message(),
            "@whole: expected parts of at least 1, found 0");
}

/// A kernel whose tiles have fewer rows in all, those that are none among them.
TEST(ChooseLaunch, VariantsOfFewerRows) {
  KernelInfo whole = makePlan().back(), packed = whole, few = whole;
  whole.tile = {64, 16};
  packed.symbol = "packed";
  packed.fewerRows = true;
  packed.tile = {128, 16};
  auto chosen = [&](std::span<const KernelInfo> plan, int64_t programs) {
    EXPECT_FALSE(checkPlan(plan));
    LaunchArgument arguments[] = {keys(programs, 16)};
    auto choice = chooseLaunch(plan, arguments, 3, Workspace());
    std::string symbol =
        choice ? choice->kernels.front().symbol : messageOf(std::move(choice));
    auto found = findCandidates(plan, {{keys(programs, 16)}, 3, 1});
    EXPECT_TRUE(found && *found == std::vector{symbol});
    return symbol;
  };
  // As many programs of twice as many rows.
  std::vector<KernelInfo> plan = {packed, whole};
  EXPECT_EQ(chosen(plan, 2), "whole");
  plan[0].tile[0] = 32;
  EXPECT_EQ(chosen(plan, 2), "packed");
  // As many rows are not fewer.
  plan[0].tile[0] = 64;
  EXPECT_EQ(chosen(plan, 2), "whole");
  // What would be taken otherwise depends on the launch.
  few.symbol = "few";
  few.fewPrograms = 1;
  few.tile = {32, 16};
  plan = {packed, few, whole};
  plan[0].tile[0] = 48;
  EXPECT_EQ(chosen(plan, 3), "few");
  EXPECT_EQ(chosen(plan, 4), "packed");
  // A plan that has nothing else.
  EXPECT_EQ(chosen(std::vector{packed}, 2), "packed");
  // Where it is for several heads, of two there are several.
  plan = {packed, whole};
  plan[0].tile[0] = 16;
  EXPECT_EQ(chosen(plan, 2), "packed");
  plan[0].packedHeads = size(0, 0);
  EXPECT_EQ(chosen(plan, 2), "packed");
  EXPECT_EQ(chosen(plan, 1), "whole");
}

/// A kernel whose tiles have at most half of the rows, in all, of those of the
/// kernel that is taken otherwise, which may be one for fewer rows itself.
TEST(ChooseLaunch, VariantsOfHalfTheRows) {
  KernelInfo whole = makePlan().back(), small = whole, fewer = whole;
  whole.tile = {128, 16};
  small.symbol = "small";
  small.halfRows = true;
  fewer.symbol = "fewer";
  fewer.fewerRows = true;
  auto chosen = [&](std::span<const KernelInfo> plan) {
    EXPECT_FALSE(checkPlan(plan));
    LaunchArgument arguments[] = {keys(2, 16)};
    auto choice = chooseLaunch(plan, arguments, 3, Workspace());
    return choice ? choice->kernels.front().symbol
                  : messageOf(std::move(choice));
  };
  small.tile = {64, 16};
  EXPECT_EQ(chosen(std::vector{small, whole}), "small");
  small.tile = {96, 16};
  EXPECT_EQ(chosen(std::vector{small, whole}), "whole");
  // Half of those of all, but not of those of the one for fewer rows.
  small.tile = {64, 16};
  fewer.tile = {96, 16};
  EXPECT_EQ(chosen(std::vector{small, fewer, whole}), "fewer");
  fewer.tile = {120, 16}; // which the launch does not take
  EXPECT_EQ(chosen(std::vector{small, fewer, whole}), "small");
}

/// Of few keys the kernel that is predicted to take least, whatever else it
/// asks for; of more the others.
TEST(ChooseLaunch, VariantsByPrice) {
  KernelInfo small = makePlan().back(), large = small;
  small.symbol = "small";
  large.symbol = "large";
  small.tile = {64, 64};
  large.tile = {128, 64};
  small.fewPrograms = 1;
  large.fewerRows = true;
  // A program of small takes less; a tile of it takes more.
  small.price = {0, 100, 90, 90, 1, 100};
  large.price = {0, 200, 50, 50, 1, 100};
  for (KernelInfo *kernel : {&small, &large})
    kernel->pricedKeys = size(0, 1);
  auto chosen = [](std::span<const KernelInfo> plan, int64_t programs,
                   int64_t count, int64_t processors = 3) {
    EXPECT_FALSE(checkPlan(plan));
    LaunchArgument arguments[] = {keys(programs, count)};
    auto choice = chooseLaunch(plan, arguments, processors, Workspace());
    auto found = findCandidates(plan, {{keys(programs, count)}, processors, 1});
    std::string symbol =
        choice ? choice->kernels.front().symbol : messageOf(std::move(choice));
    EXPECT_TRUE(found && *found == std::vector{symbol});
    return symbol;
  };
  std::vector<KernelInfo> plan = {small, large};
  EXPECT_EQ(chosen(plan, 9, 64), "small");
  EXPECT_EQ(chosen(plan, 9, 128), "small");
  EXPECT_EQ(chosen(plan, 9, 192), "large");
  EXPECT_EQ(chosen(plan, 9, 512), "large");
  EXPECT_EQ(chosen({{large, small}}, 9, 64), "small");
  // Where later rows see more keys there are fewer tiles: 720 and 850.
  small.leastKeys = large.leastKeys = {{{SizeExpr::Const, 0}}};
  EXPECT_EQ(chosen({{small, large}}, 9, 192), "small");
  small.leastKeys = large.leastKeys = {};
  // More keys: programs are too many for one, and the other has to have fewer
  // rows.
  EXPECT_EQ(chosen({{small, large}}, 3, 513), "small");
  EXPECT_EQ(chosen({{small, large}}, 9, 513), "large");
  // A host has no price.
  EXPECT_EQ(chosen({{small, large}}, 9, 64, kHost), "large");

  auto refused = [&](auto change) {
    KernelInfo kernel = small;
    change(kernel);
    return checkPlan(std::vector{kernel}).message();
  };
  EXPECT_EQ(refused([](KernelInfo &k) { k.price.pop_back(); }),
            "@small: expected a price of 6 numbers, found 5");
  EXPECT_EQ(refused([](KernelInfo &k) { k.price[4] = 0; }),
            "@small: expected a price whose number of blocks is 1 to 64, found "
            "0");
  EXPECT_EQ(refused([](KernelInfo &k) { k.price[2] = -1; }),
            "@small: expected a price whose tile is 0 to 1048576, found -1");
  EXPECT_EQ(refused([](KernelInfo &k) { k.tile = {}; }),
            "@small: expected queries and keys of a tile beside a price, found "
            "none");
  EXPECT_EQ(refused([](KernelInfo &k) { k.pricedKeys = size(0, 2); }),
            "@small: its grid speaks of dimension 2 of argument 0, which there "
            "is not");
}

/// Kernels with `fewer_rows` by what they cost: each beside what is taken
/// without it, on persistent kernels' splits.
TEST(ChooseLaunch, VariantsThatCostLess) {
  auto kernelsOf = [](std::string symbol, int64_t rows, bool isFewer) {
    std::vector<KernelInfo> plan = makePlan();
    plan.resize(3); // a split, its merge and the whole one
    for (KernelInfo &kernel : plan) {
      kernel.symbol = symbol + kernel.symbol;
      kernel.fewPrograms = 0;
    }
    for (KernelInfo *kernel : {&plan[0], &plan[2]}) {
      kernel->persistent = true;
      kernel->fewerRows = isFewer;
      kernel->tile = {rows, 128};
      kernel->stages = 2;
      kernel->sharedBytes = rows * 1024;
    }
    return plan;
  };
  auto chosen = [&](std::vector<int64_t> rows, int64_t programs,
                    int64_t keyCount) {
    std::vector<KernelInfo> plan;
    for (size_t n = 0; n < rows.size(); ++n) {
      auto next = kernelsOf(std::to_string(rows[n]) + "-", rows[n],
                            n + 1 < rows.size());
      plan.insert(plan.end(), next.begin(), next.end());
    }
    EXPECT_FALSE(checkPlan(plan)) << checkPlan(plan).message();
    LaunchArgument arguments[] = {keys(programs, keyCount)};
    auto choice = chooseLaunch(plan, arguments, 132, Workspace::any());
    return choice ? choice->kernels.front().tile.front() : -1;
  };
  // As many programs of fewer rows cost less, the fewest least; of few keys,
  // too.
  for (int64_t keyCount : {128, 4096}) {
    EXPECT_EQ(chosen({64, 128}, 132, keyCount), 64);
    EXPECT_EQ(chosen({128, 64}, 132, keyCount), 64);
    EXPECT_EQ(chosen({192, 128, 64}, 132, keyCount), 64);
    EXPECT_EQ(chosen({64, 128, 192}, 132, keyCount), 64);
  }
  // One that has none on splits, for few keys, is kept, whatever splits of
  // others with such a tile cost.
  auto half = kernelsOf("half-", 64, false),
       fewer = kernelsOf("fewer-", 32, true);
  half[0].halfRows = half[2].halfRows = true;
  KernelInfo paired = kernelsOf("paired-", 64, false)[2];
  std::vector<KernelInfo> plan = half;
  plan.insert(plan.end(), fewer.begin(), fewer.end());
  plan.push_back(paired);
  ASSERT_FALSE(checkPlan(plan));
  LaunchArgument arguments[] = {keys(132, 4096)};
  auto choice = chooseLaunch(plan, arguments, 132, Workspace::any());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernels.front().symbol, "paired-whole");
  // In more waves than there are costs for, by their rows.
  EXPECT_EQ(chosen({64, 128}, 1 << 20, 4096), 64);
  EXPECT_EQ(chosen({120, 128}, 1 << 20, 4096), 128);
}

/// Parts take the programs that their kernel on splits of the keys says they
/// are faster for.
TEST(ChooseLaunch, ProgramsInParts) {
  KernelInfo whole = makePlan().back(), parts = whole, split = makePlan()[0];
  parts.symbol = "parts";
  parts.fewPrograms = split.fewPrograms = 1;
  parts.parts = split.parts = 4;
  parts.tile = split.tile = {16, 128};
  split.stages = 3;
  split.sharedBytes = 4 * 53248;
  std::vector<KernelInfo> plan = {split, parts, whole};
  ASSERT_FALSE(checkPlan(plan));
  auto chosen = [&](int64_t programs, int64_t ofKeys = 2048) {
    LaunchArgument arguments[] = {keys(programs, ofKeys)};
    auto choice = chooseLaunch(plan, arguments, 132, Workspace::any());
    std::string symbol =
        choice ? choice->kernels.front().symbol : messageOf(std::move(choice));
    auto found = findCandidates(plan, {{arguments[0]}, 132, 1});
    EXPECT_TRUE(found && *found == std::vector{symbol});
    return symbol;
  };
  EXPECT_EQ(chosen(66, 1), "parts"); // less than a tile
  EXPECT_EQ(chosen(66), "parts");
  EXPECT_EQ(chosen(67, 16384), "whole");
  EXPECT_EQ(chosen(132), "parts");
  EXPECT_EQ(chosen(133), "whole");
  EXPECT_EQ(chosen(192), "whole");
  // A plan that does not know the keys has parts for few programs alone.
  plan.erase(plan.begin());
  EXPECT_EQ(chosen(132), "parts");
  EXPECT_EQ(chosen(192), "whole");
  // So has one whose other kernels are in other parts.
  split.parts = 2;
  plan.insert(plan.begin(), split);
  EXPECT_EQ(chosen(192), "whole");
}

/// Where splits of programs of more rows cost less than the kernel for few
/// programs, these are taken, if there is workspace.
TEST(ChooseLaunch, LeavesFewProgramsToSplits) {
  std::vector<KernelInfo> few = makePlan(), many = few;
  for (KernelInfo &kernel : few) {
    kernel.symbol = "few_" + kernel.symbol;
    kernel.fewPrograms = 1;
    kernel.tile = {64, 128};
    kernel.sharedBytes = 2 * 80000;
  }
  for (KernelInfo &kernel : many) {
    kernel.tile = {192, 128};
    kernel.sharedBytes = 2 * 45112;
    kernel.grid.back().steps.push_back({SizeExpr::Const, 3});
    kernel.grid.back().steps.push_back({SizeExpr::CeilDiv});
  }
  std::vector<KernelInfo> plan = few;
  plan.insert(plan.end(), many.begin(), many.end());
  for (KernelInfo &kernel : plan) {
    kernel.persistent = true;
    kernel.stages = 2;
  }
  ASSERT_FALSE(checkPlan(plan));
  auto chosen = [&](int64_t programs, int64_t count, Workspace workspace) {
    LaunchArgument arguments[] = {keys(programs, count)};
    auto choice = chooseLaunch(plan, arguments, 132, workspace);
    std::string symbol =
        choice ? choice->kernels.front().symbol : messageOf(std::move(choice));
    // With workspace or without, it is one of those that a plan is made from.
    auto found = findCandidates(plan, {{arguments[0]}, 132, 1});
    EXPECT_TRUE(found && std::ranges::count(*found, symbol)) << symbol;
    return symbol;
  };
  EXPECT_EQ(chosen(128, 8192, Workspace::any()), "split");
  EXPECT_EQ(chosen(128, 8192, Workspace()), "few_whole");
  auto found = findCandidates(plan, {{keys(128, 8192)}, 132, 1});
  EXPECT_EQ(*found,
            (std::vector<std::string>{"few_whole", "split", "merge", "whole"}));
  // Few keys, and a card on which such tiles take as long as ours did once.
  EXPECT_EQ(chosen(128, 512, Workspace::any()), "few_whole");
  LaunchCosts costs;
  costs.overlappedScoreMillibytes = 20000;
  LaunchArgument arguments[] = {keys(128, 8192)};
  auto choice = chooseLaunch(plan, arguments, {132, costs}, Workspace::any());
  EXPECT_TRUE(choice && choice->kernels.front().symbol == "few_whole");
  // More programs than the kernel is for.
  EXPECT_EQ(chosen(133, 512, Workspace::any()), "whole");
}

/// Rows that are longer than a box of 128 bytes and begin anywhere cost more,
/// so that there are more splits: those of 144 bytes, not of 80, 128 and 160.
TEST(ChooseLaunch, UnevenRowsAreSplitMore) {
  auto splitsOf = [](int64_t columns) {
    std::vector<KernelInfo> plan = makePlan();
    ArgumentInfo rows = plan.front().args.front();
    rows.type = ElementType::BF16;
    rows.sizes = {kDynamic, kDynamic, kDynamic, columns};
    rows.strides = {kDynamic, kDynamic, kDynamic, 1};
    for (KernelInfo &kernel : plan)
      kernel.args.front() = rows;
    plan[0].persistent = true;
    plan[0].tile = {192, 96};
    plan[0].stages = 3;
    plan[0].sharedBytes = 196752;
    EXPECT_FALSE(checkPlan(plan)) << checkPlan(plan).message();
    alignas(16) static char memory[1];
    int64_t sizes[] = {44, 1100, 1, columns},
            strides[] = {1100 * columns, columns, columns, 1};
    LaunchArgument arguments[] = {
        LaunchArgument::tensor(memory, ElementType::BF16, sizes, strides)};
    auto choice = chooseLaunch(plan, arguments, 132, Workspace::any());
    return choice ? choice->splits : -1;
  };
  EXPECT_EQ(splitsOf(40), 1);
  EXPECT_EQ(splitsOf(64), 1);
  EXPECT_EQ(splitsOf(72), 3);
  EXPECT_EQ(splitsOf(80), 1);
}

/// A variant that a rule of its own does not like is left out, not refused.
TEST(ChooseLaunch, VariantsForFewQueriesWithoutGaps) {
  KernelInfo whole = makePlan().back(), few = whole, packed = whole;
  few.symbol = "few";
  few.rules = {{SizeRule::AtMost, 0, 0, 0, 0, 64}};
  packed.symbol = "packed";
  packed.rules = {{SizeRule::Packed, 0, 0, 0, 1, 1}};
  std::vector<KernelInfo> plan = {few, packed, whole};
  ASSERT_FALSE(checkPlan(plan));
  auto chosen = [&](int64_t rows, int64_t stride) {
    alignas(16) static char memory[1];
    int64_t sizes[] = {rows, 16}, strides[] = {stride, 1};
    LaunchArgument arguments[] = {
        LaunchArgument::tensor(memory, ElementType::F32, sizes, strides)};
    auto kernel = selectKernel(plan, arguments);
    return kernel ? (*kernel)->symbol : kernel.takeFailure().message();
  };
  EXPECT_EQ(chosen(64, 20), "few");
  EXPECT_EQ(chosen(65, 16), "packed");
  EXPECT_EQ(chosen(65, 20), "whole");
}

namespace {

/// The candidates of a plan for a launch, with spaces between; or why not.
std::string candidates(std::span<const KernelInfo> plan,
                       std::vector<LaunchArgument> arguments,
                       int64_t processors, int64_t residentBlocks = 1) {
  auto found =
      findCandidates(plan, {std::move(arguments), processors, residentBlocks});
  if (!found)
    return found.takeFailure().message();
  std::string text;
  for (const std::string &name : *found)
    text += (text.empty() ? "" : " ") + name;
  return text;
}

} // namespace

/// Of kernels of the same tiles the one for clusters is taken where whole ones
/// are nearly all, or where it is alone.
TEST(Candidates, FillClusters) {
  KernelInfo alone = makePlan().back(), pair = alone, strided = alone;
  strided.symbol = "strided";
  pair.symbol = "pair";
  alone.tile = pair.tile = {64, 64};
  alone.persistent = pair.persistent = true;
  pair.cluster = 2;
  auto chosen = [](std::vector<KernelInfo> plan, int64_t programs) {
    return candidates(plan, {keys(programs, 64)}, 12);
  };
  for (int64_t programs : {2, 4, 100, 129, 1001})
    EXPECT_EQ(chosen({pair, alone, strided}, programs), "pair") << programs;
  for (int64_t programs : {1, 3, 63})
    EXPECT_EQ(chosen({pair, alone, strided}, programs), "whole") << programs;
  for (int64_t programs : {1, 2, 3})
    EXPECT_EQ(chosen({pair, strided}, programs), "pair") << programs;
  // One that splits keys does not take launches of one split.
  KernelInfo split = makePlan()[0], merge = makePlan()[1];
  split.tile = alone.tile;
  split.persistent = true;
  for (int64_t programs : {1, 2, 3})
    EXPECT_EQ(chosen({split, merge, pair, strided}, programs), "pair")
        << programs;
}

/// Programs are taken in turn where there are many and workspace for a counter.
TEST(Candidates, TakeProgramsInTurn) {
  KernelInfo whole = makePlan().back(), dealt = whole;
  ArgumentInfo counter;
  counter.isMemRef = true;
  counter.type = ElementType::I32;
  counter.access = Access::InOut;
  counter.sizes = counter.strides = {kDynamic};
  dealt.symbol = "dealt";
  dealt.persistent = dealt.dynamic = true;
  dealt.manyPrograms = 4;
  dealt.args.push_back(counter);
  dealt.workspace = {WorkspaceInfo()};
  dealt.splits = 1;
  std::vector<KernelInfo> plan = {dealt, whole};
  ASSERT_FALSE(checkPlan(plan));
  auto chosen = [&](int64_t programs, Workspace workspace) {
    LaunchArgument arguments[] = {keys(programs, 64)};
    auto choice = chooseLaunch(plan, arguments, 12, workspace);
    return choice ? choice->kernels.front().symbol + " " +
                        std::to_string(choice->workspaceBytes)
                  : messageOf(std::move(choice));
  };
  EXPECT_EQ(chosen(48, Workspace::any()), "dealt 16");
  EXPECT_EQ(chosen(47, Workspace::any()), "whole 0");
  EXPECT_EQ(chosen(48, Workspace()), "whole 0");
  EXPECT_EQ(candidates(plan, {keys(48, 64)}, 12), "dealt whole");
  EXPECT_EQ(candidates(plan, {keys(47, 64)}, 12), "whole");
  plan[0].workspace.clear();
  EXPECT_EQ(checkPlan(plan).message(),
            "@dealt: expected a counter of programs in workspace, found none");
}

/// Whatever a launch chooses, with workspace or without, is among the
/// candidates, and what none chooses is not.
TEST(Candidates, AreWhatALaunchChooses) {
  std::vector<KernelInfo> plan = makePlan();
  EXPECT_EQ(candidates(plan, {keys(3, 704)}, 12), "split merge whole");
  EXPECT_EQ(candidates(plan, {keys(3, 704)}, 5), "whole"); // too few processors
  EXPECT_EQ(candidates(plan, {keys(3, 255)}, 12), "whole");  // and tiles
  EXPECT_EQ(candidates(plan, {keys(12, 704)}, 12), "whole"); // many programs
  // The host has workspace of its own.
  EXPECT_EQ(candidates(plan, {keys(3, 8192)}, kHost), "split merge");
  EXPECT_EQ(candidates(plan, {keys(3, 100)}, kHost), "whole");
  // With one block a processor, not with more.
  EXPECT_EQ(candidates(plan, {keys(13, 1024)}, 12, 4), "split merge whole");
  plan[0].splits = plan[1].splits = 7;
  EXPECT_EQ(candidates(plan, {keys(3, 1)}, 1), "split merge whole");
  for (int64_t count : {64, 255, 256, 1024, 4096})
    for (int64_t batches : {1, 3, 6, 7, 13})
      for (const Workspace &workspace : {Workspace(), Workspace::any()}) {
        plan = makePlan();
        LaunchArgument arguments[] = {keys(batches, count)};
        // How many blocks a processor holds, a plan does not say.
        std::string all = candidates(plan, {arguments[0]}, 12, 4);
        plan[0].residentBlocks = 1 + (count + batches) % 4;
        auto choice = chooseLaunch(plan, arguments, 12, workspace);
        ASSERT_TRUE(choice);
        for (const KernelInfo &kernel : choice->kernels)
          EXPECT_NE(all.find(kernel.symbol), std::string::npos) << all;
      }
}

TEST(Candidates, OfAChainAreAllOfIt) {
  std::vector<KernelInfo> plan = makeChain();
  EXPECT_EQ(candidates(plan, {keys(3, 704)}, 12), "split merge");
  EXPECT_EQ(candidates(plan, {keys(3, 704)}, kHost), "split merge");
}

/// The first that surely takes the launch ends the list; a launch that none
/// takes is told why.
TEST(Candidates, EndWithTheFirstThatFits) {
  std::vector<KernelInfo> plan = makePlan();
  KernelInfo last = plan.back();
  last.symbol = "last";
  plan.back().args[0].alignment = 16;
  plan.back().args[0].strides = {kDynamic, 1};
  plan.push_back(last);
  LaunchArgument aligned = keys(12, 704), address = aligned, odd = aligned;
  address.data = nullptr;
  odd.data = static_cast<char *>(odd.data) + 4;
  EXPECT_EQ(candidates(plan, {aligned}, 12), "whole");
  EXPECT_EQ(candidates(plan, {address}, 12), "whole");
  EXPECT_EQ(candidates(plan, {odd}, 12), "last");
  plan.pop_back();
  EXPECT_NE(candidates(plan, {odd}, 12).find("multiple of 16"),
            std::string::npos);
  EXPECT_EQ(candidates(plan, {}, 12), "expected 1 arguments, found 0");
}

/// A persistent kernel has one block a multiprocessor, however many there is
/// room for: whether it is split does not depend on that.
TEST(Candidates, OfPersistentKernelsAreKnown) {
  std::vector<KernelInfo> plan = makePlan();
  plan[0].tile = {64, 64};
  EXPECT_EQ(candidates(plan, {keys(12, 4096)}, 12, /*residentBlocks=*/8),
            "split merge whole");
  plan[0].persistent = true;
  EXPECT_EQ(candidates(plan, {keys(12, 4096)}, 12, /*residentBlocks=*/8),
            "whole");
  EXPECT_EQ(candidates(plan, {keys(3, 4096)}, 12, /*residentBlocks=*/8),
            "split merge whole");
}

/// Programs that see fewer keys than the longest, and rows of many columns,
/// which take longer to merge, are told to the rule for splits.
TEST(ChooseLaunch, SplitsGoByTheShortestProgramAndTheMerge) {
  auto splitsOf = [](std::optional<SizeExpr> least, int64_t columns) {
    std::vector<KernelInfo> plan = makePlan();
    for (KernelInfo *kernel : {&plan[0], &plan[1]})
      kernel->workspace[0].sizes[1] = {{{SizeExpr::Const, columns}}};
    plan[0].persistent = true;
    plan[0].tile = {192, 128};
    plan[0].sharedBytes = 90224;
    plan[0].leastKeys = least.value_or(SizeExpr());
    EXPECT_FALSE(checkPlan(plan));
    LaunchArgument arguments[] = {keys(98, 9408)};
    auto choice = chooseLaunch(plan, arguments, 132, Workspace::any());
    return choice ? choice->splits : -1;
  };
  SizeExpr none = {{{SizeExpr::Const, 0}}}, all = size(0, 1),
           below = {{{SizeExpr::Const, -9408}}};
  EXPECT_EQ(splitsOf(std::nullopt, 64), 1);
  EXPECT_EQ(splitsOf(all, 64), 1);
  EXPECT_EQ(splitsOf(none, 64), 3);
  EXPECT_EQ(splitsOf(below, 64), 3);
  EXPECT_EQ(splitsOf(none, 128), 3);
  EXPECT_EQ(splitsOf(none, 129 * 16), 1);

  std::vector<KernelInfo> plan = makeChain();
  plan[0].leastKeys = none;
  EXPECT_EQ(
      checkPlan(plan).message(),
      "@split: expected how many keys there are (split_keys or priced_keys), "
      "where a row sees least_keys of them, found none");
  plan = makePlan();
  plan[0].leastKeys = size(0, 2);
  EXPECT_TRUE(checkPlan(plan));
}
