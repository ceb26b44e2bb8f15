//===- PagedCApiTest.cpp - keys in pages through the C interface ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr int64_t kDim = 16;

faAttentionDesc pagedProblem(faType type, int64_t dim) {
  faAttentionDesc desc = fa::attention(type, dim);
  desc.hasLengths = desc.hasPages = 1;
  return desc;
}

void expectError(faStatus found, const char *message) {
  EXPECT_EQ(found, FA_ERROR_INVALID_ARGUMENT);
  std::string text = fa::lastError();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

/// Two sequences with queries of 0, so that an output is the mean of V's rows.
struct Means {
  std::vector<float> q, k, v, out;
  std::vector<int32_t> table, lengths = {3, 2};
  int64_t page;

  /// Row r of page p has 10 p + r everywhere in V, and a row that no key lies
  /// in NaN.
  explicit Means(int64_t page, std::vector<int32_t> pages)
      : q(2 * kDim, 0.0f), k(8 * page * kDim, 1.0f), v(k.size(), 0.0f),
        out(q.size(), -1.0f), table(std::move(pages)), page(page) {
    for (size_t n = 0; n < v.size(); ++n) {
      int64_t row = n / kDim;
      v[n] = isKey(row) ? 10.0f * (row / page) + row % page
                        : std::numeric_limits<float>::quiet_NaN();
    }
  }
  int64_t width() const { return table.size() / 2; }
  bool isKey(int64_t row) const {
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t j = 0; j < lengths[b]; ++j)
        if (table[b * width() + j / page] == row / page &&
            j % page == row % page)
          return true;
    return false;
  }
  std::vector<fa::Argument> arguments() {
    auto pages = [&](std::vector<float> &x) {
      return fa::tensor(x.data(), {8, 1, page, kDim});
    };
    return {fa::tensor(q.data(), {2, 1, 1, kDim}),
            pages(k),
            pages(v),
            fa::tensor(lengths.data(), FA_I32, {2}),
            fa::tensor(table.data(), FA_I32, {2, width()}),
            fa::scalar(1.0f),
            fa::tensor(out.data(), {2, 1, 1, kDim})};
  }
};

} // namespace

/// One plan, pages of two sizes; entries behind the last key's page are no
/// pages.
TEST(PagedCApi, MeansOnTheHost) {
  fa::Context context(fa::contextOptions("cpu"));
  fa::Plan plan(context, pagedProblem(FA_F32, kDim));
  ASSERT_TRUE(plan) << fa::lastError();
  Means two(2, {5, 3, -1, 7, 1 << 30, -1});
  ASSERT_EQ(plan.launch(two.arguments()), FA_SUCCESS) << fa::lastError();
  EXPECT_NEAR(two.out[0], (50 + 51 + 30) / 3.0, 1e-4);
  EXPECT_NEAR(two.out[kDim], (70 + 71) / 2.0, 1e-4);
  Means one(1, {4, 2, 6, 2, 0, -1});
  ASSERT_EQ(plan.launch(one.arguments()), FA_SUCCESS) << fa::lastError();
  EXPECT_NEAR(one.out[0], (40 + 20 + 60) / 3.0, 1e-4);
  EXPECT_NEAR(one.out[kDim], (20 + 0) / 2.0, 1e-4);
}

/// A program that does not mask what lies behind a length: rows of zeros are
/// keys, too. It is not made a kernel of tiles, and right.
TEST(PagedCApi, UnfusedMeans) {
  fa::Context context(fa::contextOptions("cpu"));
  fa::Plan plan(context, R"(
    !rows = tensor<?x?x?x16xf32>
    !pages = tensor<?x1x?x16xf32>
    !scores = tensor<?x?x?x?xf32>
    func.func @means(%q: !rows, %k: !pages, %v: !pages, %l: tensor<?xi32>,
                     %t: tensor<?x?xi32>) -> !rows {
      %keys = tile.paged %k through %t limit %l
        : !pages, tensor<?x?xi32>, tensor<?xi32> -> !pages
      %values = tile.paged %v through %t limit %l
        : !pages, tensor<?x?xi32>, tensor<?xi32> -> !pages
      %s = tile.dot %q, %keys transpose_b : !rows, !pages -> !scores
      %p = tile.softmax %s : !scores
      %o = tile.dot %p, %values : !scores, !pages -> !rows
      return %o : !rows
    })");
  ASSERT_TRUE(plan) << fa::lastError();
  EXPECT_EQ(plan.kernel(0).unfused, 1);
  Means means(2, {5, 3, 7, 1 << 30});
  auto arguments = means.arguments();
  arguments.erase(arguments.begin() + 5); // the scale
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  EXPECT_NEAR(means.out[0], (50 + 51 + 30) / 4.0, 1e-4);
  EXPECT_NEAR(means.out[kDim], (70 + 71) / 4.0, 1e-4);
  arguments[2] = fa::tensor(means.v.data(), {8, 1, 1, kDim});
  expectError(plan.launch(arguments), "expected size");
}

TEST(PagedCApi, SaysWhatDoesNotFit) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = pagedProblem(FA_F32, kDim);
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means(2, {5, 3, 7, 0});
  auto arguments = means.arguments();
  arguments[4] = fa::tensor(means.table.data(), FA_I32, {1, 4});
  expectError(plan.launch(arguments),
              "argument 4: expected size 2 in dimension 0 as in dimension 0 of "
              "argument 0, "
              "found 1");
  arguments[4] = fa::tensor(means.table.data(), FA_I64, {2, 2});
  expectError(plan.launch(arguments),
              "argument 4: expected elements of type i32, found i64");
  arguments = means.arguments();
  arguments[2] = fa::tensor(means.v.data(), {8, 1, 1, kDim});
  expectError(plan.launch(arguments),
              "argument 2: expected size 2 in dimension 2 as in dimension 2 of "
              "argument 1, "
              "found 1");
  arguments.erase(arguments.begin() + 4);
  expectError(plan.launch(arguments), "expected 7 arguments, found 6");
  desc.hasLengths = 0;
  faPlan none = nullptr;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
              "faAttentionDesc: expected hasLengths with hasPages, found none");
  desc.hasLengths = 1;
  desc.bias = "11qk";
  expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
              "expected a bias of 1 along the keys");
}

/// A card gets the table as an argument, and splits for what it has room for.
TEST(PagedCApi, EnqueuesOnACard) {
  *fakeDriver() = FakeDriver();
  faContextOptions how = fa::contextOptions("cuda");
  how.driver = FA_FAKE_DRIVER;
  how.ptxas = "none";
  fa::Context context(how);
  ASSERT_TRUE(context) << fa::lastError();
  {
    fa::Plan plan(context, pagedProblem(FA_F16, 64));
    ASSERT_TRUE(plan) << fa::lastError();
    alignas(16) static char memory[64];
    auto launchOf = [&](int64_t queries, int64_t pages, int64_t page,
                        int64_t width) {
      auto q = fa::tensor(memory, FA_F16, {1, 8, queries, 64}),
           k = fa::tensor(memory, FA_F16, {pages, 1, page, 64});
      return std::vector<fa::Argument>{q,
                                       k,
                                       k,
                                       fa::tensor(memory, FA_I32, {1}),
                                       fa::tensor(memory, FA_I32, {1, width}),
                                       fa::scalar(0.125f),
                                       q};
    };
    EXPECT_EQ(plan.enqueue(nullptr, launchOf(256, 9, 16, 20)), FA_SUCCESS)
        << fa::lastError();
    EXPECT_STREQ(fakeDriver()->launch.kernel, "attention");
    EXPECT_EQ(plan.enqueue(nullptr, launchOf(256, 9, 1, 20)), FA_SUCCESS);
    // As keys side by side are split: 2048 of them.
    EXPECT_EQ(plan.launchInfo(launchOf(1, 9, 16, 128)).splits, 16);
    EXPECT_EQ(plan.launchInfo(launchOf(1, 9, 1, 2048)).splits, 16);
    EXPECT_EQ(plan.launchInfo(launchOf(1, 9, 16, 4)).splits, 1);
  }
}
