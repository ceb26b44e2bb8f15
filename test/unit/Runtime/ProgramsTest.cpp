//===- ProgramsTest.cpp - what a host program may ask for -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cstring>

static faAttentionDesc smallProblem() { return fa::attention(FA_F32, 16); }

TEST(Programs, IsSupportedSaysWhy) {
  faAttentionDesc desc = smallProblem();
  EXPECT_EQ(faAttentionIsSupported("host", &desc), FA_SUCCESS);
  EXPECT_EQ(faAttentionIsSupported("sm_80", &desc), FA_SUCCESS)
      << fa::lastError();
  EXPECT_EQ(faAttentionIsSupported("gfx942", &desc), FA_SUCCESS)
      << fa::lastError();
  EXPECT_EQ(faAttentionIsSupported("sm_999", &desc), FA_ERROR_COMPILE);
  EXPECT_NE(std::strstr(fa::lastError(), "expected sm_80"), nullptr);
  desc.headDim = 0;
  EXPECT_EQ(faAttentionIsSupported("host", &desc), FA_ERROR_INVALID_ARGUMENT);
  // What the host runs slowly, a card does not run.
  faModuleDesc module{};
  module.size = sizeof module;
  module.text = "func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
                "  %y = math.log1p %x : tensor<?x4xf32>\n"
                "  return %y : tensor<?x4xf32>\n}\n";
  module.length = std::strlen(module.text);
  EXPECT_EQ(faModuleIsSupported("host", &module), FA_SUCCESS);
  for (const char *card : {"sm_80", "gfx942"})
    EXPECT_EQ(faModuleIsSupported(card, &module), FA_ERROR_COMPILE) << card;
  EXPECT_STRNE(fa::lastError(), "");
}

TEST(Programs, StructsBySize) {
  struct {
    faAttentionDesc desc;
    int64_t newMember;
  } newer{smallProblem(), 0};
  newer.desc.size = sizeof newer;
  EXPECT_EQ(faAttentionIsSupported("host", &newer.desc), FA_SUCCESS)
      << fa::lastError();
  newer.newMember = 1;
  EXPECT_EQ(faAttentionIsSupported("host", &newer.desc),
            FA_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(fa::lastError(), "does not know"), nullptr);
  faAttentionDesc rounded = smallProblem();
  rounded.precision = FA_PRECISION_TF32;
  EXPECT_EQ(faAttentionIsSupported("sm_80", &rounded), FA_SUCCESS)
      << fa::lastError();
  rounded.type = FA_F16;
  EXPECT_EQ(faAttentionIsSupported("sm_80", &rounded),
            FA_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(fa::lastError(), "expected type=f32"), nullptr);
  // An older caller's struct ends where it says: what is behind is not read.
  faAttentionDesc older = smallProblem();
  older.hasPrefix = 1;
  older.prefix = -5;
  EXPECT_EQ(faAttentionIsSupported("host", &older), FA_ERROR_INVALID_ARGUMENT);
  older.size = offsetof(faAttentionDesc, hasPrefix);
  EXPECT_EQ(faAttentionIsSupported("host", &older), FA_SUCCESS);
}

/// A score and a mask of the caller's are what the built-in ones would be.
TEST(Programs, CodeOfTheCallers) {
  fa::Context context(2);
  std::vector<float> x(2 * 20 * 16);
  for (size_t n = 0; n < x.size(); ++n)
    x[n] = static_cast<float>(n % 17) / 17;
  auto run = [&](const faAttentionDesc &desc) {
    fa::Plan plan(context, desc);
    EXPECT_TRUE(plan) << fa::lastError();
    std::vector<float> out(x.size(), -1);
    auto t = fa::tensor(x.data(), {1, 2, 20, 16});
    EXPECT_EQ(plan.launch({t, t, t, fa::scalar(0.5f),
                           fa::tensor(out.data(), {1, 2, 20, 16})}),
              FA_SUCCESS);
    return out;
  };
  faAttentionDesc builtIn = smallProblem(), own = builtIn;
  builtIn.causal = FA_CAUSAL_BOTTOM_RIGHT;
  builtIn.softcap = 2;
  builtIn.hasWindow = own.hasWindow = 1;
  builtIn.windowLeft = own.windowLeft = 7;
  own.maskMod = "%keep = arith.cmpi sle, %j, %i : index";
  own.scoreMod = "%cap = arith.constant 2.0 : f32\n"
                 "%0 = arith.divf %s, %cap : f32\n"
                 "%1 = math.tanh %0 : f32\n"
                 "%score = arith.mulf %1, %cap : f32";
  std::vector<float> expected = run(builtIn), found = run(own);
  for (size_t n = 0; n < expected.size(); ++n)
    ASSERT_NEAR(found[n], expected[n], 1e-6);
  own.scoreMod = nullptr; // the twin
  EXPECT_NE(run(own), expected);
  own.maskMod = "%keep = arith.cmpi sle, %j, %nobody : index";
  EXPECT_EQ(faAttentionIsSupported("host", &own), FA_ERROR_COMPILE);
  EXPECT_NE(std::strstr(fa::lastError(), "define %keep : i1"), nullptr);
  EXPECT_NE(std::strstr(fa::lastError(), "mask\":1"), nullptr)
      << fa::lastError();
}

/// What is behind a text that does not end with 0 is not part of it.
TEST(Programs, TextEndsWhereItSays) {
  faModuleDesc desc{};
  desc.size = sizeof desc;
  desc.text = "module @name {\n"
              "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
              "  return %x : tensor<4xf32>\n}}";
  desc.length = std::strlen(desc.text);
  EXPECT_EQ(faModuleIsSupported("host", &desc), FA_SUCCESS) << fa::lastError();
  desc.length = std::strlen("module @na");
  EXPECT_EQ(faModuleIsSupported("host", &desc), FA_ERROR_COMPILE);
  EXPECT_NE(std::strstr(fa::lastError(), "module\":1"), nullptr);
}

/// What a mask says of the keys that are walked.
TEST(Programs, DescribesMasks) {
  auto describe = [](const std::string &mask) {
    std::string text = "func.func @f(%q: tensor<?x?x?x64xf16>, %s: f32) -> "
                       "tensor<?x?x?x64xf16> {\n"
                       "%o = tile.attention %q, %q, %q scale %s : "
                       "tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, "
                       "tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16>\n"
                       "score {} mask {" +
                       mask + "}\nreturn %o : tensor<?x?x?x64xf16>\n}";
    faModuleDesc desc{};
    desc.size = sizeof desc;
    desc.text = text.c_str();
    desc.length = text.size();
    const char *found = nullptr;
    EXPECT_EQ(faModuleDescribe(&desc, &found), FA_SUCCESS) << fa::lastError();
    return std::string(found ? found : "");
  };
  auto keep = [&](const std::string &lines) {
    return describe("^bb0(%b: index, %h: index, %i: index, %j: index):\n" +
                    lines + "\ntile.yield %keep : i1\n");
  };
  EXPECT_EQ(describe(""), R"({"attentions":[{"function":"f","mask":"none"}]})");
  // Of queries, where a key is seen from one on, bounds lie the other way.
  auto expected = [](const char *mask, const char *lower, const char *upper) {
    return std::string(R"({"attentions":[{"function":"f","has_lower_bound":)") +
           lower + R"(,"has_lower_query_bound":)" + upper +
           R"(,"has_upper_bound":)" + upper + R"(,"has_upper_query_bound":)" +
           lower + R"(,"mask":")" + mask + R"(","queries":")" + mask +
           R"("}]})";
  };
  EXPECT_EQ(keep("%keep = arith.cmpi sge, %i, %j : index"),
            expected("intervals", "false", "true"));
  std::string odd = "%two = arith.constant 2 : index\n"
                    "%rest = arith.remui %j, %two : index\n"
                    "%odd = arith.cmpi ne, %rest, %b : index\n";
  EXPECT_EQ(keep(odd + "%keep = arith.cmpi ne, %rest, %h : index"),
            expected("elements", "false", "false"));
  EXPECT_EQ(keep(odd + "%behind = arith.cmpi sle, %i, %j : index\n"
                       "%keep = arith.andi %behind, %odd : i1"),
            expected("elements", "true", "false"));
  // What is none is an error, and no description.
  faModuleDesc desc{};
  desc.size = sizeof desc;
  desc.text = "func.func @f(";
  desc.length = std::strlen(desc.text);
  const char *found = "";
  EXPECT_EQ(faModuleDescribe(&desc, &found), FA_ERROR_COMPILE);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(faModuleDescribe(&desc, nullptr), FA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(faModuleDescribe(nullptr, &found), FA_ERROR_INVALID_ARGUMENT);
}

TEST(Programs, BytecodeWhenAllowed) {
  faModuleDesc desc{};
  desc.size = sizeof desc;
  desc.text = "ML\xefR garbage";
  desc.length = 12;
  EXPECT_EQ(faModuleIsSupported("host", &desc), FA_ERROR_COMPILE);
  EXPECT_NE(std::strstr(fa::lastError(), "found bytecode"), nullptr);
  desc.allowBytecode = 1;
  EXPECT_EQ(faModuleIsSupported("host", &desc), FA_ERROR_COMPILE);
  EXPECT_EQ(std::strstr(fa::lastError(), "found bytecode"), nullptr);
}
