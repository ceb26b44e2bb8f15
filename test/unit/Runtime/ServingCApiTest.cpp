//===- ServingCApiTest.cpp - merges and appends through the C interface ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <string>
#include <vector>

static void expectError(faStatus found, faStatus expected,
                        const char *message) {
  EXPECT_EQ(found, expected);
  std::string text = fa::lastError();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

TEST(ServingCApi, MergesPackedRows) {
  fa::Context context(fa::contextOptions("cpu"));
  faMergeDesc desc = fa::merge(FA_F32, 4, 2);
  desc.hasLse = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  // Three rows of two heads: outputs [rows, h, d], log-sum-exps [h, rows].
  std::vector<float> one(24, 1.0f), two(24, 4.0f), out(24), lse(6);
  std::vector<float> oneLse(6, 0.0f), twoLse(6, std::log(2.0f));
  twoLse[1] = -INFINITY;
  oneLse[2] = twoLse[2] = INFINITY;
  auto rows = [](std::vector<float> &x) {
    return fa::tensor(x.data(), {1, 2, 3, 4}, {24, 4, 8, 1});
  };
  auto sums = [](std::vector<float> &x) {
    return fa::tensor(x.data(), {1, 2, 3});
  };
  std::vector<fa::Argument> launch = {rows(one),    sums(oneLse), rows(two),
                                      sums(twoLse), rows(out),    sums(lse)};
  ASSERT_EQ(plan.launch(launch), FA_SUCCESS) << fa::lastError();
  EXPECT_NEAR(out[0], 3.0, 1e-6);
  EXPECT_NEAR(lse[0], std::log(3.0), 1e-6);
  EXPECT_EQ(out[8], 1.0f); // row 1 of head 0
  EXPECT_EQ(lse[1], 0.0f);
  EXPECT_EQ(out[16], 0.0f);
  EXPECT_EQ(lse[2], -INFINITY);
  launch[3] = fa::tensor(twoLse.data(), {1, 3, 2});
  expectError(plan.launch(launch), FA_ERROR_INVALID_ARGUMENT,
              "argument 3: expected size 2 in dimension 1 as in dimension 1 of "
              "argument 0, found 3");
}

TEST(ServingCApi, AppendsToPages) {
  fa::Context context(fa::contextOptions("cpu"));
  faAppendDesc desc = fa::append(FA_F32, 4);
  desc.rope = FA_ROPE_HALVES;
  desc.hasQueries = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  std::vector<float> k = {1, 2, 3, 4, 5, 6, 7, 8}, v = k, q = k;
  std::vector<float> kPages(2 * 3 * 4, -1.0f), vPages = kPages;
  std::vector<int64_t> slots = {4, -1};
  std::vector<int32_t> positions = {1, 0};
  // Position 1 turns the first pair by a quarter, and the second not.
  std::vector<float> cosines = {1, 1, 0, 1}, sines = {0, 0, 1, 0};
  auto tokens = [](std::vector<float> &x) {
    return fa::tensor(x.data(), {2, 1, 4});
  };
  auto pages = [](std::vector<float> &x) {
    return fa::tensor(x.data(), {2, 1, 3, 4});
  };
  std::vector<fa::Argument> launch = {tokens(k),
                                      tokens(v),
                                      fa::tensor(slots.data(), FA_I64, {2}),
                                      pages(kPages),
                                      pages(vPages),
                                      fa::tensor(positions.data(), {2}),
                                      fa::tensor(cosines.data(), {2, 2}),
                                      fa::tensor(sines.data(), {2, 2}),
                                      tokens(q)};
  ASSERT_EQ(plan.launch(launch), FA_SUCCESS) << fa::lastError();
  std::vector<float> expected(24, -1.0f), turned = {-3, 2, 1, 4};
  std::copy(turned.begin(), turned.end(), expected.begin() + 16);
  EXPECT_EQ(kPages, expected);
  std::copy(v.begin(), v.begin() + 4, expected.begin() + 16);
  EXPECT_EQ(vPages, expected);
  EXPECT_EQ(q, (std::vector<float>{-3, 2, 1, 4, 5, 6, 7, 8}));
  launch[4] = fa::tensor(vPages.data(), {3, 1, 2, 4});
  expectError(plan.launch(launch), FA_ERROR_INVALID_ARGUMENT,
              "argument 4: expected size 2 in dimension 0 as in dimension 0 of "
              "argument 3, found 3");
}

TEST(ServingCApi, SaysWhatDoesNotFit) {
  fa::Context context(fa::contextOptions("cpu"));
  faPlan none = nullptr;
  faMergeDesc merge = fa::merge(FA_F16, 64, 17);
  expectError(faPlanCreateFromMerge(context.get(), &merge, &none),
              FA_ERROR_INVALID_ARGUMENT, "expected 1 to 16 parts, found 17");
  merge = fa::merge(FA_I32, 64, 2);
  expectError(faPlanCreateFromMerge(context.get(), &merge, &none),
              FA_ERROR_INVALID_ARGUMENT,
              "faMergeDesc: expected type FA_F32, FA_F16 or FA_BF16, found 3");
  faAppendDesc append = fa::append(FA_F16, 64);
  append.hasQueries = 1;
  expectError(faPlanCreateFromAppend(context.get(), &append, &none),
              FA_ERROR_INVALID_ARGUMENT, "expected RoPE with queries");
  append.rope = static_cast<faRope>(7);
  expectError(faAppendIsSupported("host", &append), FA_ERROR_INVALID_ARGUMENT,
              "faAppendDesc: expected rope between 0 and 2, found 7");
  append.rope = FA_ROPE_INTERLEAVED;
  for (const char *arch : {"host", "sm_80", "sm_90a", "gfx90a", "gfx942"}) {
    EXPECT_EQ(faAppendIsSupported(arch, &append), FA_SUCCESS)
        << fa::lastError();
    merge = fa::merge(FA_F16, 64, 2);
    EXPECT_EQ(faMergeIsSupported(arch, &merge), FA_SUCCESS) << fa::lastError();
  }
}

/// On a card a launch is one kernel, of the variant that its strides allow.
TEST(ServingCApi, EnqueuesOnACard) {
  *fakeDriver() = FakeDriver();
  faContextOptions how = fa::contextOptions("cuda");
  how.driver = FA_FAKE_DRIVER;
  how.ptxas = "none";
  fa::Context context(how);
  ASSERT_TRUE(context) << fa::lastError();
  fa::Plan plan(context, fa::append(FA_F16, 64));
  ASSERT_TRUE(plan) << fa::lastError();
  alignas(16) static char memory[64];
  auto launchOf = [&](int64_t step) {
    auto rows = fa::tensor(memory, FA_F16, {7, 2, 64}, {128 * step, 64, 1});
    auto pages = fa::tensor(memory, FA_F16, {3, 2, 16, 64});
    return std::vector<fa::Argument>{
        rows, rows, fa::tensor(memory, FA_I64, {7}), pages, pages};
  };
  EXPECT_EQ(plan.enqueue(nullptr, launchOf(1)), FA_SUCCESS) << fa::lastError();
  EXPECT_STREQ(fakeDriver()->launch.kernel, "append");
  fa::Plan merge(context, fa::merge(FA_F16, 64, 2));
  ASSERT_TRUE(merge) << fa::lastError();
  auto mergeOf = [&](int64_t rows, int64_t step) {
    auto out = fa::tensor(memory, FA_F16, {1, 4, rows, 64},
                          {4 * rows * step, rows * step, step, 1});
    auto lse = fa::tensor(memory, FA_F32, {1, 4, rows});
    return std::vector<fa::Argument>{out, lse, out, lse, out};
  };
  std::tuple<int64_t, int64_t, const char *> launches[] = {
      {100, 64, "merge"},
      {100, 67, "merge_strided"},
      {8, 64, "merge_heads"},
      {1, 67, "merge_heads_strided"}};
  for (auto [rows, step, kernel] : launches) {
    EXPECT_EQ(merge.enqueue(nullptr, mergeOf(rows, step)), FA_SUCCESS)
        << fa::lastError();
    EXPECT_STREQ(fakeDriver()->launch.kernel, kernel);
  }
}
