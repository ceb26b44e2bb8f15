//===- BundleTest.cpp -----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestBundle.h"

#include "fa/Launch/Launch.h"

#include "gtest/gtest.h"

#include <random>

using namespace fa;
using namespace fa::test;

/// Replaces the first `from` in the metadata.
static std::vector<BundleFile> withMetadata(std::string_view from,
                                            std::string_view to) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &text = fileNamed(files, "bundle.json");
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return files;
}

static void expectRefused(const std::vector<BundleFile> &files,
                          const std::string &message) {
  auto bundle = read(files);
  ASSERT_FALSE(bundle);
  std::string found = bundle.takeFailure().message();
  EXPECT_NE(found.find(message), std::string::npos) << found;
}

/// What was compiled is what is read, to the last field.
TEST(Bundle, RoundTrip) {
  std::vector<Artifact> artifacts =
      compileFor({"sm_80", "sm_90a", "host", "gfx950"});
  auto files = llvm::cantFail(makeBundle(artifacts));
  auto bundle = read(files);
  ASSERT_TRUE(bundle) << bundle.takeFailure().message();
  EXPECT_EQ(bundle->entry, "attention");
  ASSERT_EQ(bundle->targets.size(), 4u);
  EXPECT_TRUE(bundle->targets[1].archSpecific);
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(bundle->targets[n].arch, artifacts[n].arch);
    EXPECT_EQ(bundle->targets[n].kernels, artifacts[n].kernels);
  }
  EXPECT_EQ(bundle->targets[0].code, artifacts[0].ptx);
  EXPECT_EQ(bundle->targets[0].computeCapability, 80);
  // The twin: one number of one step of a grid is another plan.
  artifacts[0].kernels[0].grid[0].steps.back().a += 1;
  EXPECT_NE(bundle->targets[0].kernels, artifacts[0].kernels);
}

TEST(Bundle, PicksTheCodeForACard) {
  Bundle bundle;
  for (auto [capability, form] :
       {std::pair(80, "cubin"), std::pair(86, "cubin"), std::pair(80, "ptx")}) {
    BundleTarget &target = bundle.targets.emplace_back();
    target.target = "cuda";
    target.form = form;
    target.computeCapability = capability;
  }
  const BundleTarget *first = bundle.targets.data();
  EXPECT_EQ(bundle.findCudaTarget(75), nullptr);
  EXPECT_EQ(bundle.findCudaTarget(80), first);
  EXPECT_EQ(bundle.findCudaTarget(86), first + 1);
  EXPECT_EQ(bundle.findCudaTarget(89), first + 1);
  // Another major version runs PTX alone.
  EXPECT_EQ(bundle.findCudaTarget(90), first + 2);
  bundle.targets.pop_back();
  EXPECT_EQ(bundle.findCudaTarget(90), nullptr);
  // Code with the features of one architecture runs there, and is the best.
  for (bool specific : {true, false}) {
    BundleTarget &target = bundle.targets.emplace_back();
    target.target = "cuda";
    target.form = "ptx";
    target.computeCapability = 90;
    target.archSpecific = specific;
  }
  EXPECT_EQ(bundle.findCudaTarget(90), &bundle.targets[2]);
  EXPECT_EQ(bundle.findCudaTarget(100), &bundle.targets[3]);
  // A code object runs on its own architecture alone.
  BundleTarget &object = bundle.targets.emplace_back();
  object.target = "hip";
  object.arch = "gfx942";
  EXPECT_EQ(bundle.findHipTarget("gfx942"), &object);
  EXPECT_EQ(bundle.findHipTarget("gfx950"), nullptr);
  EXPECT_EQ(bundle.findHostTarget(), nullptr);
}

TEST(Bundle, RefusesWhatIsNotOne) {
  constexpr std::string_view version = "\"flashtile_bundle\": 12";
  expectRefused(withMetadata(version, "\"flashtile_bundle\": 1"),
                "expected a bundle of version 2 to 12, found version 1");
  expectRefused(withMetadata(version, "\"flashtile_bundle\": 13"),
                "expected a bundle of version 2 to 12, found version 13");
  EXPECT_TRUE(read(withMetadata(version, "\"flashtile_bundle\": 2")));
  expectRefused(withMetadata("\"follows\": true", "\"follows\": false"),
                "expected workspace where there are splits, and only there");
  expectRefused(withMetadata("first-fit", "random"),
                "bundle.json.select: expected 'first-fit', found 'random'");
  expectRefused(withMetadata("\"attention.sm_80.ptx\"", "\"../secret\""),
                "bundle.json.targets[0].file: expected the name of a file in "
                "the bundle, found '../secret'");
  expectRefused(withMetadata("attention.sm_80.ptx", "another"),
                "no file 'another'");
  expectRefused(withMetadata("\"alignment\": 16", "\"alignment\": 0"),
                "bundle.json.targets[0].kernels[0].arguments[0].alignment: "
                "expected at least 1, found 0");
  expectRefused(withMetadata("\"alignment\"", "\"alignments\""),
                "expected the member 'alignment', found none");
  expectRefused(withMetadata("\"ceildiv\"", "\"power\""),
                "'power' is not known");
  expectRefused(withMetadata("\"size\"", "\"rank\""),
                "expected [\"size\", argument, dimension]");
  expectRefused(withMetadata("\"type\": \"f16\"", "\"type\": 16"),
                "type: expected a text, found an integer");
  expectRefused(withMetadata("\"tensor\"", "\"pointer\""),
                "expected tensor or scalar, found 'pointer'");
  expectRefused(withMetadata("\"ptx\"", "\"spirv\""),
                "found 'spirv' for 'cuda'");
  expectRefused(withMetadata("\"argument\": ", "\"argument\": 9"),
                "speaks of a dimension that there is not");
  expectRefused(withMetadata("{", "["), "bundle.json: expected");
}

TEST(Bundle, RefusesCodeThatChanged) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &code = fileNamed(files, "attention.sm_90.ptx");
  size_t bytes = code.size();
  code.pop_back();
  expectRefused(files, "attention.sm_90.ptx: expected " +
                           std::to_string(bytes) + " bytes, found " +
                           std::to_string(bytes - 1));
  code += '!';
  expectRefused(files, "attention.sm_90.ptx: expected the checksum ");
}

/// Before launches overlapped, nothing was said of it.
TEST(Bundle, ReadsWhatDoesNotSayWhenKernelsBegin) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &text = fileNamed(files, "bundle.json");
  size_t numErased = 0;
  for (size_t at; (at = text.find("\"begins_early\"")) != std::string::npos;
       ++numErased)
    text.erase(at, text.find('\n', at) - at);
  EXPECT_GT(numErased, 0u);
  auto bundle = read(files);
  ASSERT_TRUE(bundle);
  for (const BundleTarget &target : bundle->targets)
    for (const KernelInfo &kernel : target.kernels)
      EXPECT_FALSE(kernel.beginsEarly) << kernel.symbol;
}

/// Nor whether a kernel is for few programs, nor of how many parts one is.
TEST(Bundle, ReadsWhatDoesNotSayOfFewProgramsPartsOrClusters) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &text = fileNamed(files, "bundle.json");
  auto readWith = [&](std::string_view none, std::string_view instead) {
    std::vector<BundleFile> changed = files;
    fileNamed(changed, "bundle.json")
        .replace(text.find(none), none.size(), instead);
    auto bundle = read(changed);
    EXPECT_TRUE(bundle);
    return bundle->targets[0].kernels[0];
  };
  constexpr std::string_view few = "\"few_programs\": 0,",
                             parts = "\"parts\": 1,",
                             fewer = "\"fewer_rows\": false,",
                             without = "\"no_attention\": false,",
                             programs = "\"programs\": 1,",
                             cluster = "\"cluster\": 1,";
  for (std::string_view none : {few, parts, cluster, fewer, without, programs})
    ASSERT_NE(text.find(none), std::string::npos);
  EXPECT_EQ(readWith(few, "\"few_programs\": 9,").fewPrograms, 9);
  EXPECT_EQ(readWith(few, few).fewPrograms, 0);
  EXPECT_EQ(readWith(few, "").fewPrograms, 0);
  EXPECT_EQ(readWith(parts, "\"parts\": 4,").parts, 4);
  EXPECT_EQ(readWith(parts, parts).parts, 1);
  EXPECT_EQ(readWith(parts, "").parts, 1);
  EXPECT_TRUE(readWith(fewer, "\"fewer_rows\": true,").fewerRows);
  EXPECT_FALSE(readWith(fewer, "").fewerRows);
  EXPECT_TRUE(readWith(without, "\"no_attention\": true,").noAttention);
  EXPECT_FALSE(readWith(without, "").noAttention);
  EXPECT_EQ(readWith(programs, "\"programs\": 4,").programs, 4);
  EXPECT_EQ(readWith(programs, "").programs, 1);
  EXPECT_EQ(readWith(cluster, cluster).cluster, 1);
  EXPECT_EQ(readWith(cluster, "").cluster, 1);
}

/// Wherever the metadata end, that is noticed.
TEST(Bundle, SurvivesTruncation) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &text = fileNamed(files, "bundle.json");
  const std::string whole = text;
  size_t end = whole.rfind('}');
  for (size_t length = 0; length <= end; length += 13) {
    text = whole.substr(0, length);
    EXPECT_FALSE(read(files)) << length;
  }
  text = whole.substr(0, end + 1);
  EXPECT_TRUE(read(files)); // the twin: complete but for the last newline
}

/// A plan that was read can be evaluated, whatever happened to its text.
TEST(Bundle, SurvivesChangedBytes) {
  std::vector<BundleFile> files = attentionBundle();
  std::string &text = fileNamed(files, "bundle.json");
  const std::string whole = text;
  std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed)
  const std::vector<int64_t> sizes = {2, 2, 64, 64},
                             strides = {8192, 4096, 64, 1};
  alignas(16) static char memory[64];
  auto tensor =
      LaunchArgument::tensor(memory, ElementType::F16, sizes, strides);
  std::vector<LaunchArgument> arguments = {tensor, tensor, tensor,
                                           LaunchArgument::f32(0.125f), tensor};
  int numRead = 0;
  for (int round = 0; round < 2000; ++round) {
    text = whole;
    for (int change = 0; change < 2; ++change)
      text[random() % text.size()] = "0123456789-\"[]{},:ae nul"[random() % 24];
    auto bundle = parseBundleMetadata(text);
    if (!bundle)
      continue;
    ++numRead;
    for (const BundleTarget &target : bundle->targets) {
      auto kernel = selectKernel(target.kernels, arguments);
      int64_t extents[3];
      if (kernel)
        (void)evaluateGrid(**kernel, arguments, extents);
    }
  }
  EXPECT_GT(numRead, 0);
}

TEST(Json, RefusesDeepNesting) {
  auto bundle = parseBundleMetadata(std::string(100000, '['));
  ASSERT_FALSE(bundle);
  EXPECT_NE(bundle.takeFailure().message().find("at most 32 deep"),
            std::string::npos);
}
