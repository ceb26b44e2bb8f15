//===- KernelFactsTest.cpp - facts of a launch in bundle.json -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestBundle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include "gtest/gtest.h"

using namespace fa;
using namespace llvm;

static ArgumentInfo tensorOf(std::vector<int64_t> sizes) {
  ArgumentInfo info;
  info.isMemRef = true;
  info.type = ElementType::F16;
  info.strides = sizes;
  info.sizes = std::move(sizes);
  info.alignment = 16;
  return info;
}

static SizeExpr sizeOf(int64_t argument, int64_t dim) {
  return {{{SizeExpr::Size, argument, dim}}};
}

/// A kernel with what all three of a plan have.
static KernelInfo kernelNamed(std::string symbol) {
  KernelInfo kernel;
  kernel.symbol = std::move(symbol);
  kernel.entry = "f";
  kernel.args = {tensorOf({kDynamic, kDynamic, kDynamic, 64})};
  kernel.grid = {sizeOf(0, 1), {{{SizeExpr::Const, 3}}}};
  kernel.threads = 128;
  kernel.sharedBytes = 4096;
  return kernel;
}

/// Two kernels that split keys, one with a counter and one that takes every
/// launch; each fact is
/// something else than its default in one of them.
static std::vector<KernelInfo> makePlan() {
  KernelInfo split = kernelNamed("split");
  split.args.push_back(tensorOf({kDynamic, kDynamic}));
  split.workspace = {{{sizeOf(0, 1)}}};
  split.splitKeys = sizeOf(0, 1);
  split.leastKeys = sizeOf(0, 2);
  split.packedHeads = sizeOf(0, 1);
  split.splits = 5;
  split.keysOfSplit = 100;
  split.fewPrograms = 2;
  split.fewerRows = split.halfRows = split.noAttention = true;
  split.parts = 4;
  split.stages = 3;
  KernelInfo merge = kernelNamed("merge");
  merge.args = split.args;
  merge.workspace = split.workspace;
  merge.follows = merge.beginsEarly = true;
  merge.programs = 4;
  merge.unfused = true;
  KernelInfo dealt = kernelNamed("dealt");
  dealt.args.push_back(tensorOf({kDynamic}));
  dealt.args.back().type = ElementType::I32;
  dealt.args.back().access = Access::InOut;
  dealt.workspace = {WorkspaceInfo()};
  dealt.splits = 1;
  dealt.persistent = dealt.dynamic = true;
  dealt.manyPrograms = 4;
  dealt.leastBusy = 75;
  KernelInfo whole = kernelNamed("whole");
  whole.rules = {{SizeRule::Packed, 0, 0, 0, 1, 1},
                 {SizeRule::Multiple, 0, 1, 0, 0, 1}};
  whole.tensorMaps = {{0, 1, 128, 64, /*joined=*/true},
                      {0, 2, 128, 64, /*joined=*/false, /*paged=*/true},
                      {0, 2, 64, 64, false, false, /*headDim=*/1}};
  whole.persistent = true;
  whole.cluster = 2;
  whole.tile = {128, 64};
  whole.pricedKeys = sizeOf(0, 2);
  whole.price = {3400, 1577, 688, 712, 1, 100};
  whole.scratchBytes = 64;
  whole.rowStepLimit = 4096;
  whole.registers = 168;
  whole.stackBytes = 8;
  whole.spillBytes = 0;
  return {split, merge, dealt, whole};
}

/// The text of bundle.json for `kernels`, after `change` of each.
static std::string
metadataOf(std::vector<KernelInfo> kernels,
           llvm::function_ref<void(json::Object &)> change = {}) {
  Artifact artifact;
  artifact.target = "cuda";
  artifact.arch = "sm_90";
  artifact.kernels = std::move(kernels);
  json::Value value =
      cantFail(json::parse(cantFail(makeBundleMetadata(artifact))));
  json::Object &target =
      *(*value.getAsObject()->getArray("targets"))[0].getAsObject();
  if (change)
    for (json::Value &kernel : *target.getArray("kernels"))
      change(*kernel.getAsObject());
  return formatv("{0}", value).str();
}

/// What is written is what is read, whatever the fact is.
TEST(KernelFacts, RoundTrip) {
  std::vector<KernelInfo> plan = makePlan();
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  EXPECT_TRUE(any_of(plan,                                                     \
                     [](const KernelInfo &kernel) {                            \
                       return kernel.MEMBER != KernelInfo().MEMBER;            \
                     }))                                                       \
      << "makePlan should set " << KEY;
#include "fa/Launch/KernelFacts.def"
  auto bundle = parseBundleMetadata(metadataOf(plan));
  ASSERT_TRUE(bundle) << bundle.takeFailure().message();
  EXPECT_EQ(bundle->targets[0].kernels, plan);
}

/// A fact that came later is its default in a bundle without it; without one
/// that was always there a text is none of a bundle.
TEST(KernelFacts, MayBeLackingWhereTheyCameLater) {
  auto check = [](const char *key, FactSince since, auto member) {
    std::string text = metadataOf(
        makePlan(), [&](json::Object &kernel) { kernel.erase(key); });
    auto bundle = parseBundleMetadata(text);
    ASSERT_EQ(bool(bundle), since == FactSince::Later) << key;
    if (!bundle) {
      EXPECT_EQ(bundle.takeFailure().message(),
                "bundle.json.targets[0].kernels[0]: expected the member '" +
                    std::string(key) + "', found none");
      return;
    }
    for (const KernelInfo &kernel : bundle->targets[0].kernels)
      EXPECT_EQ(kernel.*member, KernelInfo().*member) << key;
  };
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  check(KEY, FactSince::SINCE, &KernelInfo::MEMBER);
#include "fa/Launch/KernelFacts.def"
}

/// What every bundle of version 2 had: to ask for more would refuse old ones.
TEST(KernelFacts, VersionTwo) {
  static constexpr StringLiteral first[] = {
      "symbol",       "entry",       "unfused",       "threads",
      "shared_bytes", "stages",      "scratch_bytes", "persistent",
      "registers",    "stack_bytes", "spill_bytes",   "tile",
      "arguments",    "rules",       "grid",          "tensor_maps",
      "workspace",    "follows",     "split_keys",    "splits"};
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  EXPECT_EQ(is_contained(first, StringRef(KEY)),                               \
            FactSince::SINCE == FactSince::Always)                             \
      << KEY;
#include "fa/Launch/KernelFacts.def"
}

/// A launch that gave code for AMD any rows would let it read others.
TEST(KernelFacts, AmdHasItsRowSteps) {
  std::string text = metadataOf(
      makePlan(), [](json::Object &kernel) { kernel.erase("row_step_limit"); });
  EXPECT_TRUE(parseBundleMetadata(text));
  for (auto [from, to] :
       {std::pair("\"cuda\"", "\"hip\""), std::pair("\"ptx\"", "\"hsaco\"")})
    text.replace(text.find(from), StringRef(from).size(), to);
  auto bundle = parseBundleMetadata(text);
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.takeFailure().message(),
            "bundle.json.targets[0].kernels[0]: expected the member "
            "'row_step_limit', found none");
}

/// A number outside of its range is an error of the text and of the plan.
TEST(KernelFacts, HaveRanges) {
  unsigned numChecked = 0;
  auto check = [&](const char *key, FactRange range, auto member) {
    if constexpr (std::is_same_v<decltype(member), int64_t KernelInfo::*>) {
      for (int64_t value : {range.least - 1, range.most}) {
        // One above the most, where that is no limit of the type.
        if (value == INT64_MAX)
          continue;
        value += value == range.most;
        ++numChecked;
        std::string text = metadataOf(
            makePlan(), [&](json::Object &kernel) { kernel[key] = value; });
        auto bundle = parseBundleMetadata(text);
        ASSERT_FALSE(bundle) << key;
        EXPECT_NE(bundle.takeFailure().message().find(
                      std::string("kernels[0].") + key + ": expected at "),
                  std::string::npos)
            << key;
        std::vector<KernelInfo> plan = makePlan();
        plan[0].*member = value;
        EXPECT_NE(checkPlan(plan).message().find("@split: expected " +
                                                 std::string(key) + " of "),
                  std::string::npos)
            << key;
      }
    }
  };
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  check(KEY, RANGE, &KernelInfo::MEMBER);
#include "fa/Launch/KernelFacts.def"
  EXPECT_GT(numChecked, 10u);
}
