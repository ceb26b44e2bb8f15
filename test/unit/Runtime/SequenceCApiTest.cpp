//===- SequenceCApiTest.cpp - MLA, drafts, batch invariance through C -----===//
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

void expectError(faStatus found, const char *message) {
  EXPECT_EQ(found, FA_ERROR_INVALID_ARGUMENT);
  std::string text = fa::lastError();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

/// Queries of 0, so that an output is the mean of the values that are seen; the
/// number in row j and column c of the keys is 4 j + c.
struct Means {
  std::vector<float> q, k, out;

  Means(int64_t queries, int64_t keys, int64_t dim, int64_t dimV)
      : q(queries * dim), k(keys * dim), out(queries * dimV) {
    for (size_t n = 0; n < k.size(); ++n)
      k[n] = 4.0f * (n / dim) + n % dim;
  }
};

} // namespace

TEST(SequenceCApi, ValuesAreColumnsOfKeys) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = fa::attention(FA_F32, 16);
  desc.headDimV = 8;
  desc.valuesInKeys = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means(1, 3, 16, 8);
  std::vector<fa::Argument> arguments = {
      fa::tensor(means.q.data(), {1, 1, 1, 16}),
      fa::tensor(means.k.data(), {1, 1, 3, 16}), fa::scalar(1.0f),
      fa::tensor(means.out.data(), {1, 1, 1, 8})};
  ASSERT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  for (int64_t d = 0; d < 8; ++d)
    EXPECT_FLOAT_EQ(means.out[d], 4 + d);
  arguments.insert(arguments.begin() + 2, arguments[1]);
  expectError(plan.launch(arguments), "expected 4 arguments, found 5");

  faPlan none = nullptr;
  desc.headDimV = 17;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &none),
              "expected values of at most the 16 columns of the keys that they "
              "are, found values-in-keys=17");
  // A description of before there were such values has a v.
  desc.headDimV = 8;
  desc.size = offsetof(faAttentionDesc, splitKeys);
  fa::Plan older(context, desc);
  ASSERT_TRUE(older) << fa::lastError();
  arguments.erase(arguments.begin() + 2);
  expectError(older.launch(arguments), "expected 5 arguments, found 4");
}

/// Of two drafted tokens each sees itself and the two keys before them.
TEST(SequenceCApi, DraftsAreSeenByTheirBits) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = fa::attention(FA_F32, 16);
  desc.hasDraft = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  Means means(2, 4, 16, 16);
  std::vector<int32_t> draft = {1, 77, 2, 77}; // a second word, of no key
  auto q = fa::tensor(means.q.data(), {1, 1, 2, 16}),
       k = fa::tensor(means.k.data(), {1, 1, 4, 16}),
       words = fa::tensor(draft.data(), {1, 2, 2}),
       out = fa::tensor(means.out.data(), {1, 1, 2, 16});
  ASSERT_EQ(plan.launch({q, k, k, words, fa::scalar(1.0f), out}), FA_SUCCESS)
      << fa::lastError();
  EXPECT_FLOAT_EQ(means.out[0], (0 + 4 + 8) / 3.0f);
  EXPECT_FLOAT_EQ(means.out[16], (0 + 4 + 12) / 3.0f);
  // All bits: all keys.
  draft = {3, 0, 3, 0};
  ASSERT_EQ(plan.launch({q, k, k, words, fa::scalar(1.0f), out}), FA_SUCCESS);
  EXPECT_FLOAT_EQ(means.out[0], (0 + 4 + 8 + 12) / 4.0f);
}

/// On a card there are as many splits whatever the batch, and none without
/// workspace.
TEST(SequenceCApi, SplitsDoNotDependOnTheBatch) {
  *fakeDriver() = FakeDriver();
  faContextOptions how = fa::contextOptions("cuda");
  how.driver = FA_FAKE_DRIVER;
  how.ptxas = "none";
  fa::Context context(how);
  ASSERT_TRUE(context) << fa::lastError();
  faAttentionDesc desc = fa::attention(FA_BF16, 64);
  alignas(16) static char memory[64];
  auto launchOf = [&](int64_t batch, int64_t keys) {
    auto q = fa::tensor(memory, FA_BF16, {batch, 8, 1, 64}),
         k = fa::tensor(memory, FA_BF16, {batch, 1, keys, 64});
    return std::vector<fa::Argument>{q, k, k, fa::scalar(0.125f), q};
  };
  fa::Plan chosen(context, desc);
  ASSERT_TRUE(chosen) << fa::lastError();
  EXPECT_NE(chosen.launchInfo(launchOf(1, 16384)).splits,
            chosen.launchInfo(launchOf(512, 16384)).splits);
  desc.splitKeys = 2048;
  fa::Plan fixed(context, desc);
  ASSERT_TRUE(fixed) << fa::lastError();
  for (int64_t batch : {1, 3, 17, 512}) {
    EXPECT_EQ(fixed.launchInfo(launchOf(batch, 16384)).splits, 8);
    EXPECT_EQ(fixed.launchInfo(launchOf(batch, 100)).splits, 1);
    EXPECT_GT(fixed.launchInfo(launchOf(batch, 100)).workspaceSize, 0u);
  }
  expectError(fixed.enqueue(nullptr, launchOf(1, 16384)),
              "in 8 splits: expected a workspace of ");
}
