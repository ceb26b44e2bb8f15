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

/// A number for each key: the mean of 1 and 3 times their own. One more than
/// there are keys is not read; with one for both keys there are enough.
TEST(NarrowCApi, ScalesOfKeys) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = narrowProblem(FA_F16, kDim);
  desc.scaleKeys = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  std::vector<float> kScales(12, 1),
      vScales = {1, 1, 9, 2, 0, 9, 0, 1, 9, -5, 3, 9};
  auto arguments = means.arguments();
  auto give = [&](int64_t count, int64_t step) {
    arguments[3] = fa::tensor(kScales.data(), {2, 2, count}, {6, 3, step});
    arguments[4] = fa::tensor(vScales.data(), {2, 2, count}, {6, 3, step});
  };
  give(3, 1);
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  // (1 + 3) / 2, (2 + 0) / 2, (0 + 3) / 2 and (-5 + 9) / 2.
  constexpr uint16_t expected[] = {0x4000, 0x3c00, 0x3e00, 0x4000};
  for (int64_t n = 0; n < 4 * kDim; ++n)
    EXPECT_EQ(means.out[n], expected[n / kDim]) << n;
  give(3, 0); // the first one for all keys
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  constexpr uint16_t ofFirst[] = {0x4000, 0x4400, 0, 0xc900};
  for (int64_t n = 0; n < 4 * kDim; ++n)
    EXPECT_EQ(means.out[n], ofFirst[n / kDim]) << n;
  give(1, 1);
  expectError(plan.launch(arguments),
              "argument 3: expected at least 2 in dimension 2, one for each 1 "
              "of the 2 of dimension 2 of argument 1, found 1");
  arguments[3] = fa::tensor(kScales.data(), {2, 2}, {2, 1});
  expectError(plan.launch(arguments), "argument 3: expected");

  desc.scaleKeys = 2;
  fa::Plan both(context, desc);
  ASSERT_TRUE(both) << fa::lastError();
  give(1, 1);
  ASSERT_EQ(both.launch(arguments), FA_SUCCESS) << fa::lastError();
  for (int64_t n = 0; n < 4 * kDim; ++n)
    EXPECT_EQ(means.out[n], ofFirst[n / kDim]) << n;

  faPlan none = nullptr;
  desc.scaleKeys = -1;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
              "expected scales of 1 key or more, found scale-keys=-1");
  desc.scaleKeys = 4;
  desc.hasScales = 0;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
              "expected scales of keys and values with scale-keys=4, found "
              "none");
  desc.hasScales = 1;
  desc.size = offsetof(faAttentionDesc, scaleKeys); // of before
  fa::Plan older(context, desc);
  ASSERT_TRUE(older) << fa::lastError();
  EXPECT_EQ(older.launch(means.arguments()), FA_SUCCESS) << fa::lastError();
}

/// Queries of 8 bits, and a number for each batch and KV head that makes one of
/// two scores larger: the first key then has nearly all of the weight.
TEST(NarrowCApi, QueriesOnTheHost) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = narrowProblem(FA_F16, kDim);
  desc.qType = FA_F8E4M3;
  desc.hasQueryScales = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  std::vector<uint8_t> q(4 * kDim, 0x38); // 1
  for (size_t n = 0; n < means.k.size(); ++n)
    means.k[n] = n / kDim % 2 ? 0 : 0x38; // 1, and then 0
  means.vScales = {1, 1, 1, 1};
  std::vector<float> qScales = {0, 2, -2, 0};
  auto arguments = means.arguments();
  arguments[0] = fa::tensor(q.data(), FA_F8E4M3, {2, 2, 1, kDim});
  arguments.insert(arguments.begin() + 5,
                   fa::tensor(qScales.data(), {2, 2}, {2, 1}));
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  constexpr uint16_t one = 0x3c00, two = 0x4000, three = 0x4200;
  for (int64_t d = 0; d < kDim; ++d) {
    EXPECT_EQ(means.out[d], two);
    EXPECT_EQ(means.out[kDim + d], one);
    EXPECT_EQ(means.out[2 * kDim + d], three);
    EXPECT_EQ(means.out[3 * kDim + d], two);
  }
  arguments[0] = fa::tensor(means.q.data(), FA_F16, {2, 2, 1, kDim});
  expectError(plan.launch(arguments),
              "argument 0: expected elements of type f8e4m3, found f16");
  arguments[0] = fa::tensor(q.data(), FA_F8E4M3, {2, 2, 1, kDim});
  arguments[5] = fa::tensor(qScales.data(), {2, 1});
  expectError(plan.launch(arguments),
              "argument 5: expected size 2 in dimension 1 as in dimension 1 of "
              "argument 1, found 1");

  faPlan none = nullptr;
  auto refused = [&](const char *message) {
    expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
                message);
  };
  desc.qType = FA_I32;
  refused("expected queries of f8e4m3 or f8e5m2 where they have a type of "
          "their own, found i32");
  desc.qType = static_cast<faType>(77);
  refused(
      "faAttentionDesc: expected qType 0, FA_F8E4M3 or FA_F8E5M2, found 77");
  desc.qType = FA_F32;
  refused("expected scales of queries with queries of 8 bits, found them with "
          "queries of f16");
  desc.qType = FA_F8E4M3;
  desc.type = FA_F32;
  refused("expected an output of f16 or bf16 with queries of f8e4m3, found "
          "f32");
  desc.type = FA_BF16;
  desc.kvType = FA_F32;
  refused("expected keys and values of 8 bits beside queries of f8e4m3, found "
          "bf16");
}

/// The same bytes are other numbers in e5m2: 0.5 and 4.
TEST(NarrowCApi, OtherFormat) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = narrowProblem(FA_F16, kDim);
  desc.kvType = FA_F8E5M2;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means;
  expectError(plan.launch(means.arguments()),
              "argument 1: expected elements of type f8e5m2, found f8e4m3");
  auto arguments = means.arguments();
  for (int n : {1, 2})
    arguments[n].value.type = FA_F8E5M2;
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(means.out[0], 0x4080); // 2.25
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
  desc.kvType = FA_I32;
  refused("expected keys and values of f8e4m3 or f8e5m2 where they have a type "
          "of their own, found i32");
  desc.kvType = static_cast<faType>(77);
  refused(
      "faAttentionDesc: expected kvType 0, FA_F8E4M3 or FA_F8E5M2, found 77");
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
  // One of before there were queries of 8 bits ends where drafts do.
  desc.qType = FA_F8E4M3;
  desc.hasQueryScales = 1;
  desc.size = offsetof(faAttentionDesc, qType);
  fa::Plan sixteen(context, desc);
  ASSERT_TRUE(sixteen) << fa::lastError();
  EXPECT_EQ(sixteen.launch(means.arguments()), FA_SUCCESS) << fa::lastError();
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
