//===- CApiTest.cpp -------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <string>
#include <thread>

static std::string lastError() { return fa::lastError(); }

static void expectError(faStatus status, faStatus expected,
                        const char *message) {
  EXPECT_EQ(status, expected);
  EXPECT_NE(lastError().find(message), std::string::npos) << lastError();
}

TEST(CApi, RejectsBadDescriptions) {
  fa::Context context(2);
  ASSERT_TRUE(context);
  faPlan plan = nullptr;
  faAttentionDesc desc = fa::attention(FA_F32, 64);
  auto create = [&] {
    return faPlanCreateFromAttention(context.get(), &desc, &plan);
  };
  desc.size = 12;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "found 12");
  desc = fa::attention(FA_I32, 64);
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "expected type FA_F32");
  desc = fa::attention(static_cast<faType>(77), 64);
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "found 77");
  desc = fa::attention(FA_F32, 0);
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "expected d of at least 1");
  desc = fa::attention(FA_F32, 64);
  desc.causal = static_cast<faCausal>(5);
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "found 5");
  desc = fa::attention(FA_F32, 64);
  desc.softcap = -1;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "softcap");
  desc = fa::attention(FA_F32, 64);
  desc.dropout = 1;
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "probability of dropout");
  desc = fa::attention(FA_F32, 64);
  desc.bias = "xx";
  expectError(create(), FA_ERROR_INVALID_ARGUMENT, "bias pattern");
  expectError(faPlanCreateFromAttention(nullptr, &desc, &plan),
              FA_ERROR_INVALID_ARGUMENT, "found null");
  expectError(faPlanCreateFromAttention(context.get(), &desc, nullptr),
              FA_ERROR_INVALID_ARGUMENT, "found null");
  EXPECT_EQ(plan, nullptr);
}

TEST(CApi, RejectsBadModules) {
  fa::Context context(1);
  EXPECT_FALSE(fa::Plan(context, "func.func @f("));
  EXPECT_NE(lastError().find("module"), std::string::npos);
  EXPECT_FALSE(fa::Plan(context, ""));
  EXPECT_NE(lastError().find("found neither"), std::string::npos);
  EXPECT_FALSE(fa::Plan(context, std::string_view("\xff\x00\x01", 3)));
}

TEST(CApi, RejectsBadLaunches) {
  fa::Context context(1);
  fa::Plan plan(context, fa::attention(FA_F32, 64));
  ASSERT_TRUE(plan);
  std::vector<float> x(64 * 64);
  auto t = fa::tensor(x.data(), {1, 1, 64, 64});
  auto expect = [&](std::vector<fa::Argument> arguments, const char *message) {
    expectError(plan.launch(arguments), FA_ERROR_INVALID_ARGUMENT, message);
  };
  std::vector<float> out(64 * 64);
  auto o = fa::tensor(out.data(), {1, 1, 64, 64});
  auto scale = fa::scalar(0.125f);
  EXPECT_EQ(plan.launch({t, t, t, scale, o}), FA_SUCCESS) << lastError();
  expect({t, t, t, scale}, "expected 5 arguments, found 4");
  expect({t, t, t, t, o}, "argument 3: expected a scalar, found a tensor");
  expect({scale, t, t, scale, o},
         "argument 0: expected a tensor, found a scalar");
  expect({t, t, t, fa::scalar(int64_t(1)), o},
         "argument 3: expected a scalar of type f32, found i64");
  expect({fa::tensor(x.data(), FA_F16, {1, 1, 64, 64}), t, t, scale, o},
         "argument 0: expected elements of type f32, found f16");
  expect({fa::tensor(x.data(), {1, 64, 64}), t, t, scale, o},
         "argument 0: expected rank 4, found 3");
  expect({fa::tensor(x.data(), {1, 1, 64, 32}), t, t, scale, o},
         "argument 0: expected size 64 in dimension 3, found 32");
  expect({fa::tensor(x.data(), {1, 1, -1, 64}), t, t, scale, o},
         "argument 0: expected sizes of at least 0, found 1x1x-1x64");
  expect({fa::tensor(x.data(), {1, 1, 64, 64}, {1, 1, -64, 1}), t, t, scale, o},
         "argument 0: expected strides of at least 0, found -64");
  expect({fa::tensor(static_cast<float *>(nullptr), {1, 1, 64, 64}), t, t,
          scale, o},
         "argument 0: expected a buffer of 1x1x64x64, found a null pointer");
  expect({fa::tensor(
              reinterpret_cast<float *>(reinterpret_cast<char *>(x.data()) + 2),
              {1, 1, 32, 64}),
          t, t, scale, o},
         "argument 0: expected an address that is a multiple of 4");
  expect({fa::tensor(x.data(), {1, 1, INT64_MAX, 64}), t, t, scale, o},
         "reach beyond 64-bit addresses");
  expect({t, t, t, scale, fa::tensor(out.data(), {1, 1, 64, 64}, {0, 0, 0, 1})},
         "argument 4: an output cannot have stride 0");
  expect({t, fa::tensor(x.data(), {1, 3, 4, 64}), t, scale, o},
         "argument 2: expected size 3 in dimension 1 as in dimension 1 of "
         "argument 1, found 1");
  auto heads = fa::tensor(x.data(), {1, 3, 4, 64});
  expect({t, heads, heads, scale, o},
         "argument 0: expected a multiple of 3 in dimension 1");
}

TEST(CApi, EmptyProblemsSucceed) {
  fa::Context context(2);
  fa::Plan plan(context, fa::attention(FA_F32, 64));
  auto nothing = fa::tensor(static_cast<float *>(nullptr), {0, 4, 8, 64});
  EXPECT_EQ(plan.launch({nothing, nothing, nothing, fa::scalar(1.0f), nothing}),
            FA_SUCCESS)
      << lastError();
}

/// One plan: the offset in memory is what each launch has of its own.
TEST(CApi, DropoutReadsItsSeedAtEachLaunch) {
  fa::Context context(2);
  faAttentionDesc desc = fa::attention(FA_F32, 16);
  desc.dropout = 0.5;
  fa::Plan plan(context, desc);
  std::vector<float> x(2 * 10 * 16, 1);
  auto t = fa::tensor(x.data(), {1, 2, 10, 16});
  std::vector<int64_t> rng = {7, 3};
  auto run = [&] {
    std::vector<float> out(x.size());
    EXPECT_EQ(
        plan.launch({t, t, t, fa::tensor(rng.data(), FA_I64, {2}),
                     fa::scalar(1.0f), fa::tensor(out.data(), {1, 2, 10, 16})}),
        FA_SUCCESS)
        << lastError();
    return out;
  };
  std::vector<float> first = run();
  EXPECT_EQ(first, run());
  ++rng[1];
  EXPECT_NE(first, run());
  // All scores are equal: kept ones are 2 / 10 each.
  for (float value : first)
    EXPECT_NEAR(value * 5, std::round(value * 5), 1e-5);
}

/// One plan, many threads: every launch gives the same bits.
TEST(CApi, ConcurrentLaunches) {
  fa::Context context(2);
  fa::Plan plan(context, fa::attention(FA_F32, 32));
  std::vector<float> x(4 * 100 * 32);
  for (size_t n = 0; n < x.size(); ++n)
    x[n] = static_cast<float>(n % 17) / 17;
  auto launch = [&](std::vector<float> &out) {
    auto t = fa::tensor(x.data(), {1, 4, 100, 32});
    return plan.launch(
        {t, t, t, fa::scalar(0.3f), fa::tensor(out.data(), {1, 4, 100, 32})});
  };
  std::vector<float> expected(x.size());
  ASSERT_EQ(launch(expected), FA_SUCCESS);
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round) {
        std::vector<float> out(x.size(), -1);
        EXPECT_EQ(launch(out), FA_SUCCESS);
        EXPECT_EQ(out, expected);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A host program's own pool runs the workers.
TEST(CApi, CallersPool) {
  static int calls = 0;
  faContextOptions options{};
  options.size = sizeof options;
  options.threads = 3;
  options.parallel = [](void *, uint32_t n, void (*body)(void *, uint32_t),
                        void *argument) {
    ++calls;
    for (uint32_t worker = 0; worker < n; ++worker)
      body(argument, worker);
  };
  faContext context = nullptr;
  ASSERT_EQ(faContextCreate(&options, &context), FA_SUCCESS);
  faAttentionDesc desc = fa::attention(FA_F32, 32);
  faPlan plan = nullptr;
  ASSERT_EQ(faPlanCreateFromAttention(context, &desc, &plan), FA_SUCCESS);
  std::vector<float> x(4 * 100 * 32, 1.0f), out(x.size());
  std::vector<faArgument> arguments;
  std::vector<fa::Argument> owned = {fa::tensor(x.data(), {1, 4, 100, 32}),
                                     fa::tensor(x.data(), {1, 4, 100, 32}),
                                     fa::tensor(x.data(), {1, 4, 100, 32}),
                                     fa::scalar(0.3f),
                                     fa::tensor(out.data(), {1, 4, 100, 32})};
  arguments.reserve(owned.size());
  for (const fa::Argument &argument : owned)
    arguments.push_back(argument.get());
  EXPECT_EQ(faPlanLaunch(plan, arguments.data(), arguments.size()), FA_SUCCESS);
  EXPECT_EQ(calls, 1);
  for (float value : out) // a mean of ones
    ASSERT_NEAR(value, 1, 1e-6);
  faPlanDestroy(plan);
  faContextDestroy(context);
}

TEST(CApi, CompilesForTheCpuThatIsNamed) {
  faContextOptions options{};
  options.size = sizeof options;
  options.hostCpu = "x86-64"; // of these CPUs every one runs its code
  faContext context = nullptr;
#if defined(__x86_64__)
  ASSERT_EQ(faContextCreate(&options, &context), FA_SUCCESS) << lastError();
  faAttentionDesc desc = fa::attention(FA_BF16, 64);
  faPlan plan = nullptr;
  ASSERT_EQ(faPlanCreateFromAttention(context, &desc, &plan), FA_SUCCESS)
      << lastError();
  faPlanInfo info{};
  info.size = sizeof info;
  ASSERT_EQ(faPlanGetInfo(plan, &info), FA_SUCCESS);
  EXPECT_STREQ(info.arch, "x86-64");
  faPlanDestroy(plan);
  faContextDestroy(context);
  context = nullptr;
  options.hostCpu = "bdver4"; // has XOP, which AMD dropped in 2017
  expectError(faContextCreate(&options, &context), FA_ERROR_INVALID_ARGUMENT,
              "code for 'bdver4' needs ");
#endif
  options.hostCpu = "none";
  expectError(faContextCreate(&options, &context), FA_ERROR_INVALID_ARGUMENT,
              "unknown architecture 'none', expected host or a CPU of");
  EXPECT_EQ(context, nullptr);
}

TEST(CApi, DescribesThePlan) {
  fa::Context context(1);
  fa::Plan plan(context, fa::attention(FA_F16, 64));
  std::string text = plan.describe();
  for (const char *expected :
       {"\"target\":\"cpu\"", "attention_decode", "x64\"", "\"compile_ms\":"})
    EXPECT_NE(text.find(expected), std::string::npos) << text;
}
