//===- ErrorRuleTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ErrorRule.h"
#include "fa/Numerics/Reference.h"

#include "gtest/gtest.h"

#include <limits>

using namespace fa;

static HostTensor makeTensor(std::vector<double> values) {
  auto tensor = HostTensor::create(ElementType::F64,
                                   {static_cast<int64_t>(values.size())});
  int64_t n = 0;
  tensor->forEach(
      [&](char *p) { storeElement(p, ElementType::F64, values[n++]); });
  return *tensor;
}

static OutputCheck check(std::vector<double> got, std::vector<double> ref,
                         std::vector<double> e0) {
  return checkForward("out", makeTensor(std::move(got)),
                      makeTensor(std::move(ref)), makeTensor(std::move(e0)),
                      ElementType::F32, 1.0);
}

TEST(ErrorRule, Bounds) {
  // e0 is 1e-3 everywhere: up to 2.001e-3 and a mean of 1.1e-3 are allowed.
  EXPECT_TRUE(check({1.001, 2.001}, {1, 2}, {1.001, 2.001}).pass);
  EXPECT_TRUE(check({1.0018, 2.0001}, {1, 2}, {1.001, 2.001}).pass);
  OutputCheck max = check({1.0025, 2}, {1, 2}, {1.001, 2.001});
  EXPECT_FALSE(max.pass);
  EXPECT_NE(max.why.find("at [0] expected 1"), std::string::npos) << max.why;
  OutputCheck mean = check({1.0019, 2.0019}, {1, 2}, {1.001, 2.001});
  EXPECT_FALSE(mean.pass);
  EXPECT_NE(mean.why.find("mean error"), std::string::npos) << mean.why;
}

TEST(ErrorRule, SpecialValuesMatchExactly) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(check({nan, inf, 1}, {nan, inf, 1}, {nan, inf, 1}).pass);
  EXPECT_FALSE(check({1, inf, 1}, {nan, inf, 1}, {nan, inf, 1}).pass);
  EXPECT_FALSE(check({nan, -inf, 1}, {nan, inf, 1}, {nan, inf, 1}).pass);
  EXPECT_FALSE(check({nan, inf, nan}, {nan, inf, 1}, {nan, inf, 1}).pass);
}

TEST(ErrorRule, NarrowTypesCheckSpecialValuesOnly) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  OutputCheck loose = check({1.5, 2}, {1, 2}, {1.2, 2});
  EXPECT_TRUE(loose.pass);
  EXPECT_TRUE(loose.contractOnly);
  EXPECT_FALSE(check({nan, 2}, {1, 2}, {1.2, 2}).pass);
}

TEST(ErrorRule, SizesMustMatch) {
  EXPECT_FALSE(check({1, 2}, {1, 2, 3}, {1, 2, 3}).pass);
}

//===----------------------------------------------------------------------===//
// Twins: results of wrong formulas are rejected.
//===----------------------------------------------------------------------===//

static AttentionProblem makeProblem(llvm::StringRef spec) {
  return llvm::cantFail(parseAttentionSpec(spec)).problem;
}

/// Whether the result of problem `wrong` passes as one of problem `right`.
static bool passesAs(const AttentionProblem &wrong,
                     const AttentionProblem &right) {
  AttentionInputs in = llvm::cantFail(makeRandomInputs(right, 3));
  AttentionResult ref = llvm::cantFail(referenceF64(right, in));
  AttentionResult e0 = llvm::cantFail(unfused(right, in));
  AttentionResult got = llvm::cantFail(unfused(wrong, in));
  return checkForward("out", got.out, ref.out, e0.out, right.type, maxAbs(in.v))
             .pass &&
         checkLse("lse", got.lse, ref.lse, e0.lse).pass;
}

TEST(ErrorRule, Twins) {
  for (llvm::StringRef type : {"f32", "f16", "bf16"}) {
    std::string base = "hq=2 sq=40 sk=70 d=32 type=" + type.str();
    AttentionProblem right = makeProblem(base + " causal");
    EXPECT_TRUE(passesAs(right, right));
    EXPECT_FALSE(passesAs(makeProblem(base), right));
    EXPECT_FALSE(passesAs(makeProblem(base + " causal=top-left"), right));
    EXPECT_FALSE(
        passesAs(makeProblem(base + " causal window=-1,-1 scale=0.2"), right));
    EXPECT_FALSE(passesAs(makeProblem(base + " causal softcap=30"), right));
    AttentionProblem off = makeProblem(base + " causal window=40,0");
    EXPECT_FALSE(passesAs(off, right));
  }
}
