//===- PackedBackwardTest.cpp - gradients of packed sequences -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

using Floats = std::vector<float>;

constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 16, kDimV = 8;
constexpr float kScale = 0.3f;

/// Three sequences: one of both, one of keys alone, one of queries alone. Rows
/// in front of them and behind belong to none.
constexpr int32_t kOffsets[] = {1, 8, 8, 13}, kKeyOffsets[] = {0, 9, 11, 11};
constexpr int64_t kQueries = 14, kKeys = 13, kSequences = 3;

Floats random(int64_t count) {
  static std::mt19937 generator(7);
  Floats values(count);
  for (float &value : values)
    value = float(std::normal_distribution<>()(generator));
  return values;
}

/// `rows` of memory [heads, all, dim] from row `first` on; `batches` of them
/// have one dimension more.
fa::Argument rowsOf(const Floats &memory, int64_t heads, int64_t dim,
                    int64_t first, int64_t rows, bool isBatch) {
  int64_t all = memory.size() / heads / dim;
  std::vector<int64_t> sizes = {heads, rows, dim},
                       strides = {all * dim, dim, 1};
  if (isBatch) {
    sizes.insert(sizes.begin(), 1);
    strides.insert(strides.begin(), heads * all * dim);
  }
  return fa::tensor(memory.data() + first * dim, sizes, strides);
}

/// The same of one number for each row.
fa::Argument numbersOf(const Floats &memory, int64_t first, int64_t rows,
                       bool isBatch) {
  int64_t all = memory.size() / kHeads;
  std::vector<int64_t> sizes = {kHeads, rows}, strides = {all, 1};
  if (isBatch) {
    sizes.insert(sizes.begin(), 1);
    strides.insert(strides.begin(), kHeads * all);
  }
  return fa::tensor(memory.data() + first, sizes, strides);
}

faAttentionDesc describe(bool isPacked) {
  faAttentionDesc desc = fa::attention(FA_F32, kDim);
  desc.headDimV = kDimV;
  desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
  desc.hasLse = 1;
  desc.hasOffsets = desc.hasKeyOffsets = isPacked;
  return desc;
}

/// Packed rows of all sequences, and gradients, NaN before a launch.
struct Problem {
  Floats q = random(kHeads * kQueries * kDim),
         k = random(kKvHeads * kKeys * kDim),
         v = random(kKvHeads * kKeys * kDimV),
         dout = random(kHeads * kQueries * kDimV),
         dlse = random(kHeads * kQueries), out = dout, lse = dlse;
  Floats dq = Floats(q.size(), NAN), dk = Floats(k.size(), NAN),
         dv = Floats(v.size(), NAN);

  /// The arguments of rows `first` of q and `firstKey` of k on: packed, all of
  /// them.
  std::vector<fa::Argument> inputs(int64_t first, int64_t rows,
                                   int64_t firstKey, int64_t keys,
                                   bool isPacked) const {
    std::vector<fa::Argument> arguments = {
        rowsOf(q, kHeads, kDim, first, rows, !isPacked),
        rowsOf(k, kKvHeads, kDim, firstKey, keys, !isPacked),
        rowsOf(v, kKvHeads, kDimV, firstKey, keys, !isPacked)};
    if (isPacked)
      for (const int32_t *offsets : {kOffsets, kKeyOffsets})
        arguments.push_back(fa::tensor(offsets, {kSequences + 1}));
    arguments.push_back(fa::scalar(kScale));
    arguments.push_back(rowsOf(out, kHeads, kDimV, first, rows, !isPacked));
    arguments.push_back(numbersOf(lse, first, rows, !isPacked));
    return arguments;
  }
  std::vector<fa::Argument> backward(int64_t first, int64_t rows,
                                     int64_t firstKey, int64_t keys,
                                     bool isPacked) const {
    auto arguments = inputs(first, rows, firstKey, keys, isPacked);
    arguments.push_back(rowsOf(dout, kHeads, kDimV, first, rows, !isPacked));
    arguments.push_back(numbersOf(dlse, first, rows, !isPacked));
    arguments.push_back(rowsOf(dq, kHeads, kDim, first, rows, !isPacked));
    arguments.push_back(rowsOf(dk, kKvHeads, kDim, firstKey, keys, !isPacked));
    arguments.push_back(rowsOf(dv, kKvHeads, kDimV, firstKey, keys, !isPacked));
    return arguments;
  }
};

} // namespace

/// A packed sequence has the gradients of a launch of its own, and rows of none
/// stay as they are.
TEST(PackedBackward, IsEachSequenceByItself) {
  fa::Context context(fa::contextOptions("cpu"));
  faBackwardDesc wanted = fa::backward();
  wanted.hasDlse = 1;
  Problem all;
  fa::Plan forward(context, describe(true));
  fa::Plan backward(context, describe(true), wanted);
  ASSERT_TRUE(forward && backward) << fa::lastError();
  ASSERT_EQ(forward.launch(all.inputs(0, kQueries, 0, kKeys, true)), FA_SUCCESS)
      << fa::lastError();
  ASSERT_EQ(backward.launch(all.backward(0, kQueries, 0, kKeys, true)),
            FA_SUCCESS)
      << fa::lastError();

  Problem each = all;
  for (Floats *gradient : {&each.dq, &each.dk, &each.dv})
    gradient->assign(gradient->size(), NAN);
  fa::Plan one(context, describe(false), wanted);
  ASSERT_TRUE(one) << fa::lastError();
  for (int64_t n = 0; n < kSequences; ++n)
    ASSERT_EQ(one.launch(each.backward(
                  kOffsets[n], kOffsets[n + 1] - kOffsets[n], kKeyOffsets[n],
                  kKeyOffsets[n + 1] - kKeyOffsets[n], false)),
              FA_SUCCESS)
        << fa::lastError();
  for (auto [found, expected] :
       {std::pair(&all.dq, &each.dq), std::pair(&all.dk, &each.dk),
        std::pair(&all.dv, &each.dv)}) {
    int64_t numbers = 0;
    for (size_t n = 0; n < found->size(); ++n) {
      EXPECT_EQ(std::isnan((*found)[n]), std::isnan((*expected)[n])) << n;
      if (std::isnan((*expected)[n]))
        continue;
      EXPECT_NEAR((*found)[n], (*expected)[n], 1e-5) << n;
      ++numbers;
    }
    EXPECT_GT(numbers, 0);
    EXPECT_LT(numbers, int64_t(found->size()));
  }
  // Keys that no query sees, and queries without keys.
  EXPECT_EQ(all.dk[9 * kDim], 0);
  EXPECT_EQ(all.dv[10 * kDimV], 0);
  EXPECT_EQ(all.dq[8 * kDim], 0);
  Problem again = all;
  ASSERT_EQ(backward.launch(again.backward(0, kQueries, 0, kKeys, true)),
            FA_SUCCESS);
  for (int64_t n = kDim; n < 8 * kDim; ++n)
    EXPECT_EQ(again.dq[n], all.dq[n]);
}

TEST(PackedBackward, SaysWhatDoesNotFit) {
  fa::Context context(fa::contextOptions("cpu"));
  faAttentionDesc desc = describe(true);
  desc.hasAlibi = desc.hasSink = 1;
  desc.bias = "1h11";
  faBackwardDesc wanted = fa::backward();
  wanted.wantSlopes = wanted.wantSink = wanted.wantScale = wanted.wantBias = 1;
  auto expectError = [](faStatus found, const std::string &message) {
    EXPECT_EQ(found, FA_ERROR_INVALID_ARGUMENT);
    std::string text = fa::lastError();
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expectError(faAttentionBackwardIsSupported("sm_90a", &desc, &wanted),
              "expected packed sequences without the gradient of a bias");
  wanted.wantBias = 0;
  for (const char *arch : {"host", "sm_80", "sm_90a", "gfx942"})
    EXPECT_EQ(faAttentionBackwardIsSupported(arch, &desc, &wanted), FA_SUCCESS)
        << fa::lastError();
  Problem problem;
  fa::Plan plan(context, describe(true), fa::backward());
  ASSERT_TRUE(plan) << fa::lastError();
  auto launch = problem.backward(0, kQueries, 0, kKeys, true);
  launch.erase(launch.begin() + 9); // dlse
  ASSERT_EQ(plan.launch(launch), FA_SUCCESS) << fa::lastError();
  launch[7] = numbersOf(problem.lse, 0, kQueries - 1, false);
  expectError(plan.launch(launch), "argument 7: expected size 14");
  launch[7] = numbersOf(problem.lse, 0, kQueries, false);
  launch[4] = fa::tensor(kKeyOffsets, {kSequences});
  expectError(plan.launch(launch), "argument 4: expected size 4");
}
