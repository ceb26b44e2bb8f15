//===- NarrowCApiTest.cpp - keys of 8 bits through the C interface --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr int64_t kDim = 16;

faAttentionDesc narrowProblem(faType type, int64_t dim) {
  faAttentionDesc desc = fa::attention(type, dim);
  desc.kvType = FA_F8E4M3;
  desc.hasScales = 1;
  return desc;
}

void expectError(faStatus found, const char *message) {
  EXPECT_EQ(found, FA_ERROR_INVALID_ARGUMENT);
  std::string text = fa::lastError();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

/// Queries of 0, so that an output is the mean of V's rows: in two batches two
/// KV heads with two keys each, whose values are 1 and 3 times the scale.
struct Means {
  std::vector<uint16_t> q = std::vector<uint16_t>(4 * kDim, 0), out = q;
  std::vector<uint8_t> k = std::vector<uint8_t>(8 * kDim, 0x38), v = k;
  std::vector<float> kScales = {1, 1, 1, 1}, vScales = {1, 2, 0, -4};

  Means() {
    for (size_t n = 0; n < v.size(); ++n)
      v[n] = n / kDim % 2 ? 0x44 : 0x38; // 3 and 1
  }
  std::vector<fa::Argument> arguments(std::vector<int64_t> strides = {2, 1}) {
    auto keys = [](std::vector<uint8_t> &x) {
      return fa::tensor(x.data(), FA_F8E4M3, {2, 2, 2, kDim});
    };
    auto scales = [&](std::vector<float> &x) {
      return fa::tensor(x.data(), {2, 2}, strides);
    };
    return {fa::tensor(q.data(), FA_F16, {2, 2, 1, kDim}),
            keys(k),
            keys(v),
            scales(kScales),
            scales(vScales),
            fa::scalar(1.0f),
            fa::tensor(out.data(), FA_F16, {2, 2, 1, kDim})};
  }
};

} // namespace

/// Means of 1 and 3 times the scale of each batch and head; one for all where
/// the strides are 0.
TEST(NarrowCApi, MeansOnTheHost) {
  fa::Context context(fa::contextOptions("cpu"));
  fa::Plan plan(context, narrowProblem(FA_F16, kDim));
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  ASSERT_EQ(plan.launch(means.arguments()), FA_SUCCESS) << fa::lastError();
  constexpr uint16_t two = 0x4000, four = 0x4400, minusEight = 0xc800;
  for (int64_t d = 0; d < kDim; ++d) {
    EXPECT_EQ(means.out[d], two);
    EXPECT_EQ(means.out[kDim + d], four);
    EXPECT_EQ(means.out[2 * kDim + d] & 0x7fff, 0);
    EXPECT_EQ(means.out[3 * kDim + d], minusEight);
  }
  means.vScales = {2};
  ASSERT_EQ(plan.launch(means.arguments({0, 0})), FA_SUCCESS)
      << fa::lastError();
  for (uint16_t x : means.out)
    EXPECT_EQ(x, four);
}

TEST(NarrowCApi, SaysWhatDoesNotFit) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = narrowProblem(FA_F16, kDim);
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  auto arguments = means.arguments();
  arguments[4] = fa::tensor(means.vScales.data(), {1, 2});
  expectError(plan.launch(arguments),
              "argument 4: expected size 2 in dimension 0 as in dimension 0 of "
              "argument 0, found 1");
  arguments[4] = fa::tensor(means.vScales.data(), {2, 1});
  expectError(plan.launch(arguments),
              "argument 4: expected size 2 in dimension 1 as in dimension 1 of "
              "argument 1, found 1");
  arguments = means.arguments();
  arguments[2] = fa::tensor(means.v.data(), FA_F16, {2, 2, 1, kDim});
  expectError(plan.launch(arguments),
              "argument 2: expected elements of type f8e4m3, found f16");
  arguments.erase(arguments.begin() + 3, arguments.begin() + 5);
  expectError(plan.launch(arguments), "expected 7 arguments, found 5");

  faPlan none = nullptr;
  auto refused = [&](const char *message) {
    expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
                message);
  };
  desc.kvType = FA_F8E5M2;
  refused("expected keys and values of f8e4m3 where they have a type of their "
          "own, found f8e5m2");
  desc.kvType = static_cast<faType>(77);
  refused("faAttentionDesc: expected kvType 0 or FA_F8E4M3, found 77");
  desc.kvType = FA_F32;
  refused("expected scales of keys and values with kv=f8e4m3");
  desc.kvType = FA_F8E4M3;
  desc.type = FA_F32;
  refused("expected type=f16 or type=bf16 with kv=f8e4m3, found type=f32");
}

/// A description of before there were such keys ends where dropout does.
TEST(NarrowCApi, OlderDescriptionsHaveNone) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = narrowProblem(FA_F16, kDim);
  desc.size = offsetof(faAttentionDesc, kvType);
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  expectError(plan.launch(means.arguments()), "expected 5 arguments, found 7");
}

/// A card gets bytes and scales as arguments, and splits as of other keys.
TEST(NarrowCApi, EnqueuesOnACard) {
  *fakeDriver() = FakeDriver();
  faContextOptions how = fa::contextOptions("cuda");
  how.driver = FA_FAKE_DRIVER;
  how.ptxas = "none";
  fa::Context context(how);
  ASSERT_TRUE(context) << fa::lastError();
  {
    fa::Plan plan(context, narrowProblem(FA_BF16, 64));
    ASSERT_TRUE(plan) << fa::lastError();
    alignas(16) static char memory[64];
    auto launchOf = [&](int64_t queries, int64_t keys) {
      auto q = fa::tensor(memory, FA_BF16, {1, 8, queries, 64}),
           k = fa::tensor(memory, FA_F8E4M3, {1, 1, keys, 64}),
           scales = fa::tensor(memory, FA_F32, {1, 1}, {0, 0});
      return std::vector<fa::Argument>{
          q, k, k, scales, scales, fa::scalar(0.125f), q};
    };
    EXPECT_EQ(plan.enqueue(nullptr, launchOf(256, 300)), FA_SUCCESS)
        << fa::lastError();
    EXPECT_STREQ(fakeDriver()->launch.kernel, "attention");
    EXPECT_GT(plan.launchInfo(launchOf(1, 4096)).splits, 1);
  }
}
