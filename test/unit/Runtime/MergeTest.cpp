//===- MergeTest.cpp - merges of parts beside float64 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunKernels.h"

#include "fa/Frontend/BuildMerge.h"
#include "fa/Runtime/ServingArguments.h"

#include <limits>

using namespace fa;
using namespace fa::test;

namespace {

struct Merged {
  MergeProblem problem;
  MergeInputs inputs;
  HostTensor out, lse;

  explicit Merged(llvm::StringRef spec, uint64_t seed = 1)
      : problem(cantFail(parseMergeSpec(spec))),
        inputs(cantFail(makeRandomInputs(problem, seed))),
        out(cantFail(createMergeRows(problem, problem.headDim))),
        lse(cantFail(createMergeRows(problem, std::nullopt))) {
    out.fill(std::numeric_limits<double>::quiet_NaN());
    lse.fill(std::numeric_limits<double>::quiet_NaN());
  }
  const HostTensor *lseIfAny() const { return problem.lse ? &lse : nullptr; }
  std::string run(llvm::StringRef arch) {
    return runKernels(arch, "merge", makeArguments(inputs, out, lseIfAny()),
                      [&](mlir::MLIRContext &context) {
                        return buildMerge(context, problem);
                      });
  }
  std::string check(const MergeInputs &expected) {
    return failureOf(checkMerge(problem, expected, out, lseIfAny()));
  }
};

} // namespace

TEST(Merge, IsThatOfTheReference) {
  const char *specs[] = {"parts=2 b=2 h=3 s=37 d=64 type=f16 lse",
                         "parts=1 b=1 h=2 s=17 d=32 type=f32 lse",
                         "parts=3 b=2 h=9 s=1 d=128 type=bf16 lse",
                         "parts=4 b=1 h=5 s=7 d=40 type=f16",
                         "parts=16 b=1 h=1 s=19 d=16 type=f32 lse",
                         "parts=2 b=1 h=2 s=33 d=256 type=bf16 lse layout=bshd",
                         "parts=2 b=2 h=3 s=20 d=7 type=f32 lse layout=bshd",
                         "parts=2 b=0 h=3 s=20 d=64 type=f16 lse",
                         "parts=2 b=2 h=3 s=0 d=64 type=f16 lse"};
  for (const char *spec : specs)
    for (const char *arch : kArchs) {
      Merged merged(spec);
      EXPECT_EQ(merged.run(arch), "") << spec << " on " << arch;
      EXPECT_EQ(merged.check(merged.inputs), "") << spec << " on " << arch;
    }
}

/// Weights are of differences: those of sums near 60000 are as good.
TEST(Merge, LargeLogSumExps) {
  for (const char *arch : kArchs) {
    Merged merged("parts=3 b=1 h=2 s=40 d=64 type=f32 lse");
    for (HostTensor &lse : merged.inputs.lses)
      lse.forEach([](char *p) {
        double x = loadElement(p, ElementType::F32);
        storeElement(p, ElementType::F32, x + 60000);
      });
    EXPECT_EQ(merged.run(arch), "");
    EXPECT_EQ(merged.check(merged.inputs), "") << arch;
  }
}

/// What is wrong is found: a mean without weights, parts in another order, and
/// an empty part that counts.
TEST(Merge, TwinsAreFound) {
  for (const char *arch : kArchs) {
    Merged merged("parts=2 b=1 h=3 s=37 d=64 type=f16 lse");
    ASSERT_EQ(merged.run(arch), "");
    auto others = [&](auto change) {
      MergeInputs twin = cantFail(makeRandomInputs(merged.problem, 1));
      change(twin);
      return merged.check(twin);
    };
    EXPECT_EQ(others([](MergeInputs &) {}), "");
    EXPECT_NE(others([](MergeInputs &twin) {
                for (HostTensor &lse : twin.lses)
                  lse.forEach([](char *p) {
                    if (std::isfinite(loadElement(p, ElementType::F32)))
                      storeElement(p, ElementType::F32, 0);
                  });
              }),
              "")
        << arch;
    EXPECT_NE(others([](MergeInputs &twin) {
                std::swap(twin.outs[0], twin.outs[1]);
              }),
              "")
        << arch;
    EXPECT_NE(others([](MergeInputs &twin) {
                twin.lses[0].forEach([](char *p) {
                  if (std::isinf(loadElement(p, ElementType::F32)))
                    storeElement(p, ElementType::F32, 1);
                });
              }),
              "")
        << arch;
  }
}

TEST(Merge, SaysWhatIsWrong) {
  auto error = [](llvm::StringRef spec) {
    auto problem = parseMergeSpec(spec);
    return problem ? "" : toString(problem.takeError());
  };
  EXPECT_EQ(error("parts=17"), "expected 1 to 16 parts, found 17");
  EXPECT_EQ(error("d=0"), "expected d of at least 1, found 0");
  EXPECT_EQ(error("d=x"),
            "merge key 'd': expected an integer of 64 bits, found 'x'");
  EXPECT_EQ(error("hq=3"), "merge key 'hq' is unknown, expected one of: parts "
                           "b h s d type lse layout");
  EXPECT_EQ(error("lse lse"), "merge key 'lse' is given twice");
  EXPECT_EQ(error("lse=1"), "merge key 'lse': expected no value, found '1'");
  EXPECT_EQ(error("type=f64"),
            "merge key 'type': expected f32, f16 or bf16, found 'f64'");
  EXPECT_EQ(error("layout=hd"),
            "merge key 'layout': expected one of bhsd, bshd, found 'hd'");
  MergeProblem problem = cantFail(
      parseMergeSpec("parts=3 b=2 h=1 s=4 d=8 type=bf16 layout=bshd lse"));
  EXPECT_EQ(cantFail(parseMergeSpec(problem.str())).str(), problem.str());
}
