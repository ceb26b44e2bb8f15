//===- BackwardTest.cpp - plans of gradients ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <cstddef>
#include <random>
#include <string>

namespace {

using Floats = std::vector<float>;

constexpr int64_t kHeads = 4, kKvHeads = 2, kQueries = 5, kKeys = 9, kDim = 16,
                  kDimV = 8;
constexpr float kScale = 0.3f;

/// A causal attention, what a backward pass of it is given and its gradients by
/// plain loops in double.
struct Problem {
  Floats q = random(kHeads * kQueries * kDim),
         k = random(kKvHeads * kKeys * kDim),
         v = random(kKvHeads * kKeys * kDimV),
         dout = random(kHeads * kQueries * kDimV),
         dlse = random(kHeads * kQueries), out = dout, lse = dlse;

  static Floats random(size_t count) {
    static std::mt19937 generator(7);
    Floats values(count);
    for (float &value : values)
      value = float(std::normal_distribution<>()(generator));
    return values;
  }
  static faAttentionDesc desc() {
    faAttentionDesc desc = fa::attention(FA_F32, kDim);
    desc.headDimV = kDimV;
    desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
    return desc;
  }
  static fa::Argument tensor(const Floats &memory) {
    int64_t size = memory.size();
    std::vector<int64_t> sizes = {1, kHeads, kQueries, kDim};
    if (size == kKvHeads * kKeys * kDim)
      sizes = {1, kKvHeads, kKeys, kDim};
    else if (size == kKvHeads * kKeys * kDimV)
      sizes = {1, kKvHeads, kKeys, kDimV};
    else if (size == kHeads * kQueries * kDimV)
      sizes = {1, kHeads, kQueries, kDimV};
    else if (size == kHeads * kQueries)
      sizes = {1, kHeads, kQueries};
    else if (size == kHeads * kQueries * kKeys)
      sizes = {1, kHeads, kQueries, kKeys};
    else if (size == kHeads || size == 1)
      sizes = {size};
    return fa::tensor(memory.data(), sizes);
  }
  void runForward(const fa::Context &context) {
    faAttentionDesc forward = desc();
    forward.hasLse = 1;
    fa::Plan plan(context, forward);
    ASSERT_TRUE(plan) << fa::lastError();
    ASSERT_EQ(plan.launch({tensor(q), tensor(k), tensor(v), fa::scalar(kScale),
                           tensor(out), tensor(lse)}),
              FA_SUCCESS)
        << fa::lastError();
  }
  /// Those of dQ, dK and dV that are wanted.
  std::vector<Floats> expected(const faBackwardDesc &wanted) const;
};

} // namespace

static double dot(const float *x, const float *y, int64_t count) {
  double sum = 0;
  for (int64_t n = 0; n < count; ++n)
    sum += double(x[n]) * y[n];
  return sum;
}

static void add(float *to, double factor, const float *from, int64_t count) {
  for (int64_t n = 0; n < count; ++n)
    to[n] += float(factor * from[n]);
}

std::vector<Floats> Problem::expected(const faBackwardDesc &wanted) const {
  Floats dq(q.size()), dk(k.size()), dv(v.size());
  for (int64_t row = 0; row < kHeads * kQueries; ++row) {
    int64_t head = row / kQueries / (kHeads / kKvHeads);
    int64_t numSeen = row % kQueries + 1 + kKeys - kQueries;
    const float *rowQ = &q[row * kDim], *rowDout = &dout[row * kDimV];
    double delta = dot(rowDout, &out[row * kDimV], kDimV) -
                   (wanted.hasDlse ? dlse[row] : 0);
    for (int64_t j = 0; j < numSeen; ++j) {
      int64_t key = head * kKeys + j;
      double p = std::exp(kScale * dot(rowQ, &k[key * kDim], kDim) - lse[row]);
      double dx = p * (dot(rowDout, &v[key * kDimV], kDimV) - delta);
      add(&dv[key * kDimV], p, rowDout, kDimV);
      add(&dq[row * kDim], kScale * dx, &k[key * kDim], kDim);
      add(&dk[key * kDim], kScale * dx, rowQ, kDim);
    }
  }
  std::vector<Floats> result;
  for (auto &[isWanted, gradient] :
       {std::pair(wanted.wantQ, dq), {wanted.wantK, dk}, {wanted.wantV, dv}})
    if (isWanted)
      result.push_back(gradient);
  return result;
}

static void expectError(faStatus found, faStatus expected,
                        const std::string &message) {
  EXPECT_EQ(found, expected);
  EXPECT_NE(std::string(fa::lastError()).find(message), std::string::npos)
      << fa::lastError();
}

/// Each choice of gradients, with a gradient of the log-sum-exp and without.
TEST(Backward, OnTheHost) {
  fa::Context context(2);
  Problem problem;
  problem.runForward(context);
  for (int32_t wants = 1; wants < 8; ++wants) {
    faBackwardDesc wanted = fa::backward();
    wanted.wantQ = wants & 1;
    wanted.wantK = wants & 2;
    wanted.wantV = wants & 4;
    wanted.hasDlse = wants % 3 == 1;
    fa::Plan plan(context, Problem::desc(), wanted);
    ASSERT_TRUE(plan) << fa::lastError();
    std::vector<fa::Argument> arguments = {
        Problem::tensor(problem.q),   Problem::tensor(problem.k),
        Problem::tensor(problem.v),   fa::scalar(kScale),
        Problem::tensor(problem.out), Problem::tensor(problem.lse),
        Problem::tensor(problem.dout)};
    if (wanted.hasDlse)
      arguments.push_back(Problem::tensor(problem.dlse));
    std::vector<Floats> expected = problem.expected(wanted), found = expected;
    for (Floats &gradient : found) {
      std::ranges::fill(gradient, NAN);
      arguments.push_back(Problem::tensor(gradient));
    }
    ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
    for (size_t n = 0; n < found.size(); ++n)
      for (size_t i = 0; i < found[n].size(); ++i)
        ASSERT_NEAR(found[n][i], expected[n][i], 2e-5)
            << "wants " << wants << ", output " << n << ", element " << i;
    arguments.pop_back();
    expectError(plan.launch(arguments), FA_ERROR_INVALID_ARGUMENT,
                "arguments, found " + std::to_string(arguments.size()));
  }
}

/// Programs that own heads where these keep the threads busy, whether the plan
/// is for any launch or was compiled for this one; the bits are the same.
TEST(Backward, ThreadsChooseKernelsAndNotBits) {
  Problem problem;
  std::vector<std::vector<Floats>> results;
  for (uint32_t threads : {1, 64})
    for (bool isForOne : {false, true}) {
      fa::Context context(threads);
      problem.runForward(context);
      Floats dq(problem.q.size(), NAN), dk(problem.k.size(), NAN),
          dv(problem.v.size(), NAN);
      std::vector<fa::Argument> arguments = {
          Problem::tensor(problem.q),    Problem::tensor(problem.k),
          Problem::tensor(problem.v),    fa::scalar(kScale),
          Problem::tensor(problem.out),  Problem::tensor(problem.lse),
          Problem::tensor(problem.dout), Problem::tensor(dq),
          Problem::tensor(dk),           Problem::tensor(dv)};
      faAttentionDesc desc = Problem::desc();
      std::vector<faArgument> launch;
      for (const fa::Argument &argument : arguments)
        launch.push_back(argument.get());
      if (isForOne) {
        desc.launch = launch.data();
        desc.launchCount = launch.size();
      }
      fa::Plan plan(context, desc, fa::backward());
      ASSERT_TRUE(plan) << fa::lastError();
      EXPECT_EQ(plan.launchInfo(arguments).numKernels, threads == 1 ? 1u : 3u)
          << threads << " threads, " << fa::lastError();
      ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
      results.push_back({dq, dk, dv});
    }
  for (const std::vector<Floats> &other : results)
    EXPECT_EQ(other, results.front());
}

/// Code of the caller's is differentiated: a mask, and a score that is halved.
TEST(Backward, CodeOfTheCallers) {
  fa::Context context(1);
  Problem problem;
  problem.runForward(context);
  faAttentionDesc desc = Problem::desc();
  desc.causal = FA_CAUSAL_NONE;
  desc.maskMod = "%c = arith.constant 4 : index\n"
                 "%last = arith.addi %i, %c : index\n"
                 "%keep = arith.cmpi sle, %j, %last : index";
  desc.scoreMod = "%half = arith.constant 0.5 : f32\n"
                  "%score = arith.mulf %s, %half : f32";
  faBackwardDesc wanted = fa::backward();
  fa::Plan plan(context, desc, wanted);
  ASSERT_TRUE(plan) << fa::lastError();
  std::vector<Floats> expected = problem.expected(wanted), found = expected;
  for (Floats &gradient : found)
    std::ranges::fill(gradient, NAN);
  ASSERT_EQ(
      plan.launch({Problem::tensor(problem.q), Problem::tensor(problem.k),
                   Problem::tensor(problem.v), fa::scalar(2 * kScale),
                   Problem::tensor(problem.out), Problem::tensor(problem.lse),
                   Problem::tensor(problem.dout), Problem::tensor(found[0]),
                   Problem::tensor(found[1]), Problem::tensor(found[2])}),
      FA_SUCCESS)
      << fa::lastError();
  for (size_t n = 0; n < 3; ++n)
    for (size_t i = 0; i < found[n].size(); ++i)
      ASSERT_NEAR(found[n][i], expected[n][i], 2e-5) << n << " " << i;
}

/// Of a bias, slopes, sinks and the scale. The first two are zero here, which
/// leaves the scores, and so the loops above, as they are; their gradients are
/// not zero.
TEST(Backward, OfWhatScoresRead) {
  fa::Context context(1);
  Problem p;
  faAttentionDesc desc = Problem::desc();
  desc.bias = "1hqk";
  desc.hasAlibi = desc.hasSink = 1;
  Floats bias(kHeads * kQueries * kKeys), slopes(kHeads);
  Floats sinks = {-1, 0.5, 2, 100}; // the last leaves the keys nothing
  std::vector<fa::Argument> arguments = {
      Problem::tensor(p.q),  Problem::tensor(p.k),    Problem::tensor(p.v),
      Problem::tensor(bias), Problem::tensor(slopes), Problem::tensor(sinks),
      fa::scalar(kScale),    Problem::tensor(p.out),  Problem::tensor(p.lse)};
  faAttentionDesc forward = desc;
  forward.hasLse = 1;
  fa::Plan forwardPlan(context, forward);
  ASSERT_TRUE(forwardPlan) << fa::lastError();
  ASSERT_EQ(forwardPlan.launch(arguments), FA_SUCCESS) << fa::lastError();

  Floats dbias(bias.size()), dslopes(kHeads), dsinks(kHeads);
  double dscale = 0, withoutDelta = 0;
  for (int64_t row = 0; row < kHeads * kQueries; ++row) {
    int64_t head = row / kQueries, kvHead = head / (kHeads / kKvHeads);
    int64_t last = row % kQueries + kKeys - kQueries;
    const float *rowDout = &p.dout[row * kDimV];
    double delta = dot(rowDout, &p.out[row * kDimV], kDimV);
    for (int64_t j = 0; j <= last; ++j) {
      int64_t key = kvHead * kKeys + j;
      double product = dot(&p.q[row * kDim], &p.k[key * kDim], kDim);
      double weight = std::exp(kScale * product - p.lse[row]);
      double dp = dot(rowDout, &p.v[key * kDimV], kDimV);
      double dx = weight * (dp - delta);
      dscale += dx * product;
      withoutDelta += weight * dp * product;
      dbias[row * kKeys + j] = float(dx);
      dslopes[head] += float(dx * double(j - last));
    }
    dsinks[head] -= float(std::exp(double(sinks[head]) - p.lse[row]) * delta);
  }

  faBackwardDesc wanted = fa::backward();
  wanted.wantBias = wanted.wantSlopes = wanted.wantSink = wanted.wantScale = 1;
  fa::Plan plan(context, desc, wanted);
  ASSERT_TRUE(plan) << fa::lastError();
  std::vector<Floats> expected = p.expected(wanted);
  expected.insert(expected.end(),
                  {dbias, dslopes, dsinks, Floats{float(dscale)}});
  std::vector<Floats> found = expected;
  arguments.push_back(Problem::tensor(p.dout));
  for (Floats &gradient : found) {
    std::ranges::fill(gradient, NAN);
    arguments.push_back(Problem::tensor(gradient));
  }
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  for (size_t n = 0; n < found.size(); ++n)
    for (size_t i = 0; i < found[n].size(); ++i)
      ASSERT_NEAR(found[n][i], expected[n][i], 2e-5)
          << "output " << n << ", element " << i;
  // The twin: a term that is left out is found.
  EXPECT_GT(std::abs(found.back()[0] - withoutDelta), 0.1);

  // What the scale is a factor of is the scaled product over it.
  arguments[6] = fa::scalar(0.f);
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  EXPECT_TRUE(std::isnan(found.back()[0])) << found.back()[0];

  Floats two(2);
  arguments.back() = fa::tensor(two.data(), {2});
  expectError(plan.launch(arguments), FA_ERROR_INVALID_ARGUMENT, "found");
}

TEST(Backward, SaysWhatIsWrong) {
  fa::Context context(1);
  faAttentionDesc desc = Problem::desc();
  faPlan plan = nullptr;
  faBackwardDesc wanted = fa::backward();
  auto create = [&] {
    return faPlanCreateFromAttentionBackward(context.get(), &desc, &wanted,
                                             &plan);
  };
  wanted.size = 12;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT,
              "faBackwardDesc: expected size");
  wanted = {};
  wanted.size = sizeof wanted;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT,
              "expected a gradient that is wanted, found none");
  wanted = fa::backward();
  desc.size = 12;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT,
              "faAttentionDesc: expected size");
  desc = Problem::desc();
  // A description of the first version, with other bytes behind it.
  wanted.size = offsetof(faBackwardDesc, wantBias);
  wanted.wantBias = 1;
  EXPECT_EQ(create(), FA_SUCCESS) << fa::lastError();
  faPlanDestroy(plan);
  plan = nullptr;
  wanted.size = sizeof wanted;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "bias");
  wanted.wantBias = 0;
  desc.scoreMod = "%score = math.cbrt %s : f32";
  expectError(create(), FA_ERROR_COMPILE, "math.cbrt");
  EXPECT_FALSE(fa::isSupported("sm_80", desc, wanted));
  desc.scoreMod = nullptr;
  for (const char *arch : {"host", "sm_80", "sm_90a", "gfx942"})
    EXPECT_TRUE(fa::isSupported(arch, desc, wanted))
        << arch << ": " << fa::lastError();
  expectError(
      faPlanCreateFromAttentionBackward(context.get(), &desc, nullptr, &plan),
      FA_ERROR_INVALID_ARGUMENT, "found null");
  EXPECT_EQ(plan, nullptr);
}

/// On a card: three kernels on one stream, in workspace of 8 bytes a row.
TEST(Backward, OnACard) {
  *fakeDriver() = FakeDriver();
  {
    faContextOptions options = fa::contextOptions("cuda");
    options.driver = FA_FAKE_DRIVER;
    options.ptxas = "none";
    fa::Context without(options);
    options.workspacePoolBytes = 1 << 20;
    fa::Context context(options);
    ASSERT_TRUE(context && without) << fa::lastError();
    faAttentionDesc desc = fa::attention(FA_F16, 64);
    fa::Plan plan(context, desc, fa::backward());
    fa::Plan poor(without, desc, fa::backward());
    ASSERT_TRUE(plan && poor) << fa::lastError();
    alignas(16) static char memory[64];
    auto t = fa::tensor(memory, FA_F16, {1, 2, 256, 64});
    auto rows = fa::tensor(memory, FA_F32, {1, 2, 256});
    std::vector<fa::Argument> arguments = {
        t, t, t, fa::scalar(0.125f), t, rows, t, t, t, t};
    EXPECT_EQ(plan.prepare(arguments), FA_SUCCESS) << fa::lastError();
    faLaunchInfo info = plan.launchInfo(arguments);
    EXPECT_EQ(info.numKernels, 3u) << fa::lastError();
    EXPECT_EQ(info.workspaceSize, 2u * 256 * 8);
    int stream = 0;
    EXPECT_EQ(plan.enqueue(&stream, arguments), FA_SUCCESS) << fa::lastError();
    EXPECT_EQ(fakeDriver()->numLaunches, 3u);
    EXPECT_STREQ(fakeDriver()->launch.kernel, "attention_dkv");
    EXPECT_EQ(fakeDriver()->launch.stream, &stream);
    expectError(poor.enqueue(&stream, arguments), FA_ERROR_INVALID_ARGUMENT,
                "expected a workspace of 4096 bytes, without which");
    EXPECT_EQ(poor.enqueue(&stream, memory, info.workspaceSize, arguments),
              FA_SUCCESS)
        << fa::lastError();
    EXPECT_EQ(fakeDriver()->numLaunches, 6u);
    // A frozen k and v: the queries' kernel and no other.
    faBackwardDesc queries = fa::backward();
    queries.wantK = queries.wantV = 0;
    fa::Plan alone(context, desc, queries);
    ASSERT_TRUE(alone) << fa::lastError();
    arguments.resize(8);
    EXPECT_EQ(alone.enqueue(&stream, arguments), FA_SUCCESS) << fa::lastError();
    EXPECT_EQ(fakeDriver()->numLaunches, 8u);
    EXPECT_STREQ(fakeDriver()->lastLaunch.kernel, "attention_delta");
    EXPECT_STREQ(fakeDriver()->launch.kernel, "attention_dq");
  }
  EXPECT_EQ(fakeDriver()->numModules, 0);
}

/// Of the launch with the gradients `wanted` of `desc`, of 3 batches, 4 heads,
/// `sq` queries and `sk` keys.
static faLaunchInfo infoOf(const fa::Plan &plan, const faAttentionDesc &desc,
                           const faBackwardDesc &wanted, int64_t sq,
                           int64_t sk) {
  constexpr int64_t batch = 3, heads = 4, kvHeads = 2;
  int64_t d = desc.headDim, dv = desc.headDimV ? desc.headDimV : d;
  alignas(16) static char memory[64];
  auto t = [&](std::vector<int64_t> sizes, faType type = FA_F16) {
    return fa::tensor(memory, type, sizes);
  };
  fa::Argument q = t({batch, heads, sq, d}), k = t({batch, kvHeads, sk, d}),
               v = t({batch, kvHeads, sk, dv}), out = t({batch, heads, sq, dv}),
               rows = t({batch, heads, sq}, FA_F32),
               bias = t({batch, heads, sq, sk}), ofHeads = t({heads}, FA_F32),
               one = t({1}, FA_F32);
  std::vector<fa::Argument> arguments;
  for (const auto &[is, argument] : {std::pair(true, q),
                                     {true, k},
                                     {true, v},
                                     {desc.bias != nullptr, bias},
                                     {desc.hasAlibi != 0, ofHeads},
                                     {desc.hasSink != 0, ofHeads},
                                     {true, fa::scalar(0.125f)},
                                     {true, out},
                                     {true, rows},
                                     {true, out},
                                     {wanted.hasDlse != 0, rows},
                                     {wanted.wantQ != 0, q},
                                     {wanted.wantK != 0, k},
                                     {wanted.wantV != 0, v},
                                     {wanted.wantBias != 0, bias},
                                     {wanted.wantSlopes != 0, ofHeads},
                                     {wanted.wantSink != 0, ofHeads},
                                     {wanted.wantScale != 0, one}})
    if (is)
      arguments.push_back(argument);
  faLaunchInfo info = plan.launchInfo(arguments);
  EXPECT_GT(info.numKernels, 1u) << fa::lastError();
  return info;
}

/// 8 bytes for each query of each head, and 4 for each gradient of what heads
/// have one number of or all share, whatever else is asked for: nothing grows
/// with the keys. Rows of queries are padded to four.
TEST(Backward, WorkspaceHasRowsAlone) {
  *fakeDriver() = FakeDriver();
  faContextOptions options = fa::contextOptions("cuda");
  options.driver = FA_FAKE_DRIVER;
  options.ptxas = "none";
  options.compile = FA_COMPILE_LAZY;
  fa::Context context(options);
  ASSERT_TRUE(context) << fa::lastError();
  faAttentionDesc plain = fa::attention(FA_F16, 64), full = plain;
  full.causal = FA_CAUSAL_BOTTOM_RIGHT;
  full.headDimV = 128;
  full.bias = "bhqk";
  full.hasAlibi = full.hasSink = 1;
  faBackwardDesc three = fa::backward(), all = three;
  all.hasDlse = all.wantBias = all.wantSlopes = all.wantSink = all.wantScale =
      1;
  faBackwardDesc queries = three;
  queries.wantK = queries.wantV = 0;
  struct {
    faAttentionDesc desc;
    faBackwardDesc wanted;
    size_t bytes; ///< for each row of queries
  } cases[] = {{plain, three, 8},
               {plain, queries, 8},
               {full, three, 8},
               {full, all, 8 + 4 + 4}};
  for (const auto &[desc, wanted, bytes] : cases) {
    fa::Plan plan(context, desc, wanted);
    ASSERT_TRUE(plan) << fa::lastError();
    for (int64_t sq : {1, 64, 257, 1000})
      for (int64_t sk : {257, 4096}) {
        size_t rows = size_t(3) * 4 * ((sq + 3) / 4 * 4);
        size_t found = infoOf(plan, desc, wanted, sq, sk).workspaceSize;
        EXPECT_EQ(found, bytes * rows) << sq << " " << sk;
        // The twin: more queries have more.
        EXPECT_GT(infoOf(plan, desc, wanted, sq + 4, sk).workspaceSize, found);
      }
  }
}
