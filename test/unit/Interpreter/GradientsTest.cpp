//===- GradientsTest.cpp - tile.attention_backward, evaluated -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/BuildAttention.h"
#include "fa/Fusion/Passes.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Numerics/ErrorRule.h"
#include "fa/Numerics/ReferenceBackward.h"
#include "fa/Target/Compile.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace fa;

namespace {

/// Gradients of random inputs, by the interpreter.
struct Setting {
  explicit Setting(StringRef spec)
      : problem(llvm::cantFail(parseAttentionSpec(spec)).problem),
        in(llvm::cantFail(makeRandomInputs(problem, 5))),
        cotangents(llvm::cantFail(makeRandomCotangents(problem, 6))) {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry);
    context->loadAllAvailableDialects();
    module = llvm::cantFail(buildAttention(*context, problem));
    PassManager pm(context.get());
    buildFusionPipeline(pm, {});
    EXPECT_TRUE(succeeded(pm.run(*module)));
    auto function = module->lookupSymbol<func::FuncOp>("attention");
    EXPECT_FALSE(
        function.getBody().getOps<tile::AttentionBackwardOp>().empty());
  }

  /// Of these results of the forward.
  std::vector<HostTensor> run(const AttentionResult &forward,
                              Precision precision) const {
    std::vector<InterpreterValue> arguments = {in.q, in.k, in.v};
    for (const auto *input : {&in.bias, &in.slopes, &in.lengths, &in.sink,
                              &in.rng, &in.offsets, &in.keyOffsets})
      if (*input)
        arguments.push_back(**input);
    arguments.insert(arguments.end(), {problem.effectiveScale(), forward.out,
                                       forward.lse, cotangents.out});
    if (problem.backward->dlse)
      arguments.push_back(*cotangents.lse);
    return llvm::cantFail(
        interpret(*module, "attention", arguments, precision));
  }

  AttentionProblem problem;
  AttentionInputs in;
  Cotangents cotangents;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

/// The largest and the mean error.
struct Errors {
  double max = 0, mean = 0;

  Errors(const HostTensor &found, const HostTensor &expected) {
    std::vector<double> x = found.toDoubles(), y = expected.toDoubles();
    EXPECT_EQ(x.size(), y.size());
    for (auto [a, b] : llvm::zip(x, y)) {
      double error = std::isnan(a - b) ? 1e300 : std::fabs(a - b);
      max = std::max(max, error);
      mean += error / double(x.size());
    }
  }
};

constexpr StringRef kSpecs[] = {
    "hq=2 sq=21 sk=34 d=16 type=bf16 backward dlse",
    "b=2 hq=4 hkv=2 sq=19 sk=26 d=8 dv=12 type=f16 causal softcap=2 backward",
    "b=3 hq=2 sq=14 sk=26 d=8 type=f16 lengths window=3,4 backward=q,v dlse",
    "b=2 hq=4 hkv=2 sq=19 sk=26 d=8 type=bf16 alibi causal sink bias=1h1k "
    "backward=q,k,v,bias,slopes,sink,scale dlse",
    "b=2 hq=2 sq=19 sk=26 d=8 type=f32 bias=b11k softcap=2 "
    "backward=k,bias,scale dlse",
    "hq=4 hkv=2 sq=19 sk=26 d=8 type=f16 dropout=0.3 causal backward"};

} // namespace

/// Plain loops, which share nothing with the compiler.
TEST(InterpreterGradients, AgreeWithTheReference) {
  for (StringRef spec : kSpecs) {
    SCOPED_TRACE(spec.str());
    Setting setting(spec);
    auto exact = llvm::cantFail(
        referenceBackwardF64(setting.problem, setting.in, setting.cotangents));
    auto found =
        setting.run(llvm::cantFail(referenceF64(setting.problem, setting.in)),
                    Precision::Float64);
    ASSERT_EQ(found.size(), exact.size());
    for (auto [x, y] : llvm::zip(found, exact))
      EXPECT_LT(Errors(x, y.value).max, 1e-12 * std::max(y.bound, 1.0))
          << y.name;
  }
}

/// Packed sequences are one batch, whose rows of no sequence have gradients of
/// 0.
TEST(InterpreterGradients, OfPackedSequences) {
  for (StringRef spec :
       {"b=4 hq=4 hkv=2 sq=7 sk=9 d=8 dv=6 type=f32 ragged causal backward "
        "dlse",
        "b=3 hq=2 sq=5 sk=6 d=8 type=f16 window=2,1 softcap=2 alibi sink "
        "ragged backward",
        "b=3 hq=2 sq=5 sk=6 d=8 type=f16 causal lengths ragged=q backward dlse",
        "b=3 hq=2 sq=5 sk=6 d=8 type=bf16 dropout=0.3 ragged=k backward=k,v",
        "b=3 hq=2 sq=5 sk=6 d=8 type=f16 alibi sink causal ragged "
        "backward=q,slopes,sink,scale dlse"}) {
    SCOPED_TRACE(spec.str());
    Setting setting(spec);
    auto exact = llvm::cantFail(
        referenceBackwardF64(setting.problem, setting.in, setting.cotangents));
    auto found =
        setting.run(llvm::cantFail(referenceF64(setting.problem, setting.in)),
                    Precision::Float64);
    ASSERT_EQ(found.size(), exact.size());
    for (auto [x, y] : llvm::zip(found, exact)) {
      ASSERT_EQ(x.numElements(), y.value.numElements());
      for (auto [a, b] : llvm::zip(x.toDoubles(), y.value.toDoubles()))
        EXPECT_LT(std::isnan(b) ? std::fabs(a) : std::fabs(a - b), 1e-12)
            << y.name;
    }
  }
}

/// e0 is that of a SPEC's gradients: what O's rounding does to δ is in it. The
/// twin: of an output that is not rounded it is another.
TEST(InterpreterGradients, ErrAsTheRuleSays) {
  double largestRatio = 0;
  for (StringRef spec : kSpecs) {
    SCOPED_TRACE(spec.str());
    Setting setting(spec);
    auto exact = llvm::cantFail(
        referenceBackwardF64(setting.problem, setting.in, setting.cotangents));
    AttentionResult given =
        llvm::cantFail(makeForwardResults(setting.problem, setting.in));
    auto unfused = llvm::cantFail(unfusedBackward(setting.problem, setting.in,
                                                  {given, setting.cotangents}));
    auto found = setting.run(given, Precision::Declared);
    auto unrounded =
        setting.run(llvm::cantFail(referenceF64(setting.problem, setting.in)),
                    Precision::Declared);
    ASSERT_EQ(found.size(), exact.size());
    for (auto [n, gradient] : llvm::enumerate(exact)) {
      Errors mine(found[n], gradient.value),
          rule(unfused[n].value, gradient.value),
          own(unrounded[n], gradient.value);
      // Sums of f32 in another order.
      double floor = 2e-7 * std::max(gradient.bound, 1.0);
      EXPECT_LT(mine.max, 1.1 * rule.max + floor) << gradient.name;
      EXPECT_GT(mine.max, 0.9 * rule.max - floor) << gradient.name;
      EXPECT_LT(mine.mean, 1.1 * rule.mean + floor) << gradient.name;
      EXPECT_GT(mine.mean, 0.9 * rule.mean - floor) << gradient.name;
      largestRatio = std::max(largestRatio, mine.mean / own.mean);
    }
  }
  EXPECT_GT(largestRatio, 1.1);
}
