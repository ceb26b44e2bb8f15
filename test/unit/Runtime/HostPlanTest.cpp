//===- HostPlanTest.cpp ---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/HostPlan.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Launch/HostLaunch.h"
#include "fa/Runtime/AttentionArguments.h"
#include "fa/Target/Compile.h"
#include "fa/Target/HostInfo.h"
#include "gtest/gtest.h"

#include <atomic>

using namespace fa;

/// Of all kernels, or of those that are named.
static std::unique_ptr<HostPlan>
makePlan(const AttentionProblem &problem, unsigned threads = 2,
         std::vector<std::string> kernels = {}) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = llvm::cantFail(buildAttention(context, problem));
  CompileOptions options;
  options.kernels = std::move(kernels);
  auto artifact = llvm::cantFail(compile(*module, "attention", options));
  return llvm::cantFail(HostPlan::load(std::move(artifact),
                                       std::make_shared<HostDevice>(threads)));
}

static std::string variantOf(const HostPlan &plan, llvm::StringRef spec) {
  AttentionProblem problem = llvm::cantFail(parseAttentionSpec(spec)).problem;
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 1));
  HostTensor out = llvm::cantFail(
      HostTensor::create(problem.type, {problem.batch, problem.numHeads,
                                        problem.seqQ, problem.headDimV}));
  if (problem.scale) // marks "a row whose elements are not neighbours"
    in.k = in.k.permuted({0, 1, 3, 2})
               .permuted({0, 1, 3, 2})
               .view(in.k.sizes(), {2, 2, 2, 2});
  return llvm::cantFail(plan.choose(llvm::cantFail(
                            makeArguments(problem, in, out, nullptr))))
      .kernels.front()
      .symbol;
}

TEST(HostPlan, PicksTheVariantByTheArguments) {
  AttentionProblem problem =
      llvm::cantFail(parseAttentionSpec("type=f32")).problem;
  auto plan = makePlan(problem);
  // Where there are matrix units, one more for queries that are too few.
  bool tiles = llvm::cantFail(getHostInfo("host")).tileDots;
  EXPECT_EQ(plan->artifact().kernels.size(), tiles ? 9u : 8u);
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 sq=193"), "attention");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 sq=49 sk=4096"),
            tiles ? "attention_short" : "attention");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 sq=48"), "attention_packed");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 sq=2 sk=4096"),
            "attention_packed_split");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 hkv=2 sq=1 sk=9"),
            "attention_decode");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 hkv=2 sq=1 sk=4096"),
            "attention_decode_split");
  EXPECT_EQ(variantOf(*plan, "type=f32 hq=4 sq=9 scale=1"),
            "attention_strided");
}

/// Of a problem in four splits.
static void expectSameBits(llvm::StringRef spec) {
  AttentionProblem problem = llvm::cantFail(parseAttentionSpec(spec)).problem;
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 1));
  std::string first;
  for (unsigned threads : {1u, 2u, 3u, 16u}) {
    HostTensor out = llvm::cantFail(HostTensor::create(
        problem.type, {1, problem.numHeads, problem.seqQ, problem.headDimV}));
    auto arguments = llvm::cantFail(makeArguments(problem, in, out, nullptr));
    auto plan = makePlan(problem, threads);
    EXPECT_EQ(llvm::cantFail(plan->choose(arguments)).splits, 4);
    llvm::cantFail(plan->launch(arguments));
    std::string bits(static_cast<const char *>(out.data()),
                     out.numElements() * sizeof(float));
    if (first.empty())
      first = bits;
    EXPECT_EQ(bits, first) << threads << " threads";
  }
}

TEST(HostPlan, GivesTheSameBitsForAnyNumberOfThreads) {
  expectSameBits("type=f32 hq=2 sq=1 sk=9000");
  expectSameBits("type=f32 hq=2 sq=5 sk=9000 causal");
}

/// A plan of a launch that splits keys has nothing else: launches of fewer keys
/// have one split.
TEST(HostPlan, OfSplitsTakesFewKeys) {
  for (auto [spec, splits] : {std::pair("type=f32 hq=2 sq=1 sk=9000", 4),
                              {"type=f32 hq=2 sq=1 sk=70", 1},
                              {"type=f32 hq=2 sq=1 sk=0", 1}}) {
    AttentionProblem problem = llvm::cantFail(parseAttentionSpec(spec)).problem;
    AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 1));
    auto plan = makePlan(problem, 2,
                         {"attention_decode_split", "attention_decode_merge"});
    EXPECT_EQ(plan->artifact().kernels.size(), 2u);
    auto run = [&](const HostPlan &plan) {
      HostTensor out = llvm::cantFail(HostTensor::create(
          problem.type, {1, problem.numHeads, 1, problem.headDimV}));
      auto arguments = llvm::cantFail(makeArguments(problem, in, out, nullptr));
      EXPECT_EQ(llvm::cantFail(plan.choose(arguments)).splits, splits);
      llvm::cantFail(plan.launch(arguments));
      auto *data = static_cast<const float *>(out.data());
      return std::vector<float>(data, data + out.numElements());
    };
    auto found = run(*plan), expected = run(*makePlan(problem));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t n = 0; n < found.size(); ++n)
      EXPECT_NEAR(found[n], expected[n], 1e-6) << spec << ", element " << n;
  }
}

TEST(SizeExpr, Evaluates) {
  SizeExpr expr;
  using Step = SizeExpr::Step;
  // (size(0, 1) floordiv size(1, 1)) ceildiv 16
  expr.steps = {Step{SizeExpr::Size, 0, 1}, Step{SizeExpr::Size, 1, 1},
                Step{SizeExpr::FloorDiv}, Step{SizeExpr::Const, 16},
                Step{SizeExpr::CeilDiv}};
  auto evaluate = [&](int64_t hq, int64_t hkv) {
    return expr.evaluate(
        [=](int64_t argument, int64_t) { return argument ? hkv : hq; });
  };
  EXPECT_EQ(evaluate(40, 2), 2);
  EXPECT_EQ(evaluate(32, 2), 1);
  EXPECT_EQ(evaluate(8, 0), 0);
  expr.steps = {Step{SizeExpr::Const, INT64_MAX}, Step{SizeExpr::Const, 2},
                Step{SizeExpr::Mul}};
  EXPECT_EQ(evaluate(1, 1), std::nullopt);
}

TEST(HostDevice, RunsEveryProgramOnce) {
  HostDevice device(4);
  std::vector<std::atomic<int>> count(1000);
  EXPECT_TRUE(device.run(1000, 128, [&](int64_t index, void *scratch) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
    ++count[index];
  }));
  for (const std::atomic<int> &n : count)
    EXPECT_EQ(n, 1);
  EXPECT_TRUE(device.run(0, 128, [](int64_t, void *) { FAIL(); }));
}

/// The programs that ran, 10 * id1 + id0.
static std::vector<int64_t> ranPrograms;

static void recordProgram(int64_t id0, int64_t id1, int64_t, const int64_t *,
                          void *) {
  ranPrograms.push_back(10 * id1 + id0);
}

/// As on GPUs: a causal kernel numbers its long programs first itself
/// (test/Pipeline/causal.mlir, S3).
TEST(HostLaunch, ProgramsOfAHeadComeInOrder) {
  using Step = SizeExpr::Step;
  KernelInfo kernel;
  kernel.grid = {SizeExpr{{Step{SizeExpr::Const, 3}}},
                 SizeExpr{{Step{SizeExpr::Const, 2}}}};
  HostDevice device(1);
  HostFunction function = recordProgram;
  EXPECT_FALSE(launchOnHost(LaunchChoice{{&kernel, 1}}, {&function, 1}, device,
                            /*arguments=*/{}));
  EXPECT_EQ(ranPrograms, (std::vector<int64_t>{0, 1, 2, 10, 11, 12}));
}
