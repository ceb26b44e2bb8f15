//===- AppendTest.cpp - tokens written to a cache beside float64 ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunKernels.h"

#include "fa/Frontend/BuildAppend.h"
#include "fa/Runtime/ServingArguments.h"

using namespace fa;
using namespace fa::test;

namespace {

struct Appended {
  AppendProblem problem;
  AppendInputs inputs; ///< pages and queries are written to

  explicit Appended(llvm::StringRef spec)
      : problem(cantFail(parseAppendSpec(spec))), inputs(before()) {}
  /// The inputs as they were, in memory of their own.
  AppendInputs before() const { return cantFail(makeRandomInputs(problem, 1)); }
  std::string run(llvm::StringRef arch) {
    return runKernels(arch, "append", makeArguments(inputs),
                      [&](mlir::MLIRContext &context) {
                        return buildAppend(context, problem);
                      });
  }
  std::string check(const AppendInputs &expected) {
    return failureOf(
        checkAppend(problem, expected,
                    AppendResult{inputs.kPages, inputs.vPages, inputs.q}));
  }
};

/// Neighbours exchange what `tensor` has for them.
void shift(HostTensor &tensor) {
  double first = tensor.at({0});
  int64_t count = tensor.sizes()[0];
  for (int64_t t = 0; t + 1 < count; ++t)
    tensor.set({t}, tensor.at({t + 1}));
  tensor.set({count - 1}, first);
}

} // namespace

TEST(Append, IsThatOfTheReference) {
  const char *specs[] = {
      "t=37 hkv=8 d=128 type=f16 page=16",
      "t=5 hkv=3 d=64 dv=40 type=f32 page=1 pages=nhd",
      "t=9 hkv=1 d=7 type=bf16 page=5 pages=beside",
      "t=0 hkv=2 d=64 type=f16",
      "t=20 hkv=2 d=576 dv=16 type=bf16 page=64",
      "t=37 hkv=8 hq=20 d=128 type=f16 page=16 rope=halves",
      "t=37 hkv=9 hq=9 d=64 type=bf16 page=3 rope=interleaved pages=nhd",
      "t=11 hkv=2 hq=3 d=80 type=f32 rope=halves rotary=32 positions=i64",
      "t=11 hkv=2 hq=8 d=80 rope=interleaved rotary=20 tables=f16 pages=beside",
      "t=7 hkv=1 d=6 dv=3 type=f32 rope=interleaved rotary=2 page=2",
      "t=12 hkv=4 hq=4 d=64 type=bf16 rope=halves rotary=64 tables=bf16"};
  for (const char *spec : specs)
    for (const char *arch : kArchs) {
      Appended appended(spec);
      EXPECT_EQ(appended.run(arch), "") << spec << " on " << arch;
      EXPECT_EQ(appended.check(appended.before()), "")
          << spec << " on " << arch;
    }
}

/// What is wrong is found: the slot of the next token, the next position, the
/// other convention, and other rotary dimensions.
TEST(Append, TwinsAreFound) {
  for (const char *arch : kArchs) {
    Appended appended("t=13 hkv=2 hq=4 d=64 type=f16 page=4 rope=halves "
                      "rotary=32");
    ASSERT_EQ(appended.run(arch), "");
    auto with = [&](auto change) {
      AppendInputs twin = appended.before();
      change(twin);
      return appended.check(twin);
    };
    EXPECT_EQ(with([](AppendInputs &) {}), "") << arch;
    EXPECT_NE(with([](AppendInputs &twin) { shift(twin.slots); }), "") << arch;
    EXPECT_NE(with([](AppendInputs &twin) { shift(*twin.positions); }), "")
        << arch;
    EXPECT_NE(with([](AppendInputs &twin) {
                for (int64_t t = 0; t < 13; ++t)
                  twin.positions->set({t}, twin.positions->at({t}) == 0
                                               ? 1
                                               : twin.positions->at({t}) - 1);
              }),
              "")
        << arch;
    AppendProblem right = appended.problem;
    appended.problem.rope = RopeKind::Interleaved;
    EXPECT_NE(with([](AppendInputs &) {}), "") << arch;
    appended.problem = right;
  }
}

/// Of a slot that there is not nothing is written, and the emulator says so.
TEST(Append, SlotsThatThereAreNot) {
  for (const char *arch : kArchs)
    for (int64_t slot : {int64_t(-2), int64_t(5 * 16), int64_t(1) << 40}) {
      Appended appended("t=33 hkv=2 d=64 type=f16 page=16 n=5");
      appended.inputs.slots.set({7}, static_cast<double>(slot));
      std::string faults = appended.run(arch);
      if (llvm::StringRef(arch) == "host")
        EXPECT_EQ(faults, "");
      else
        EXPECT_NE(faults.find("a token has slot " + std::to_string(slot) +
                              ", expected -1 or one of 80"),
                  std::string::npos)
            << arch << ": " << faults;
      AppendInputs expected = appended.before();
      expected.slots.set({7}, -1);
      if (llvm::StringRef(arch) == "host")
        EXPECT_EQ(appended.check(expected), "") << slot;
    }
}

/// Of a position that the tables have not, zeros: nothing else is read.
TEST(Append, PositionsBehindTheTables) {
  for (const char *arch : kArchs)
    for (int64_t position : {int64_t(-1), int64_t(80), int64_t(1) << 40}) {
      Appended appended("t=3 hkv=2 hq=1 d=64 type=f32 page=4 rope=halves "
                        "rotary=32 positions=i64");
      appended.inputs.positions->set({1}, static_cast<double>(position));
      ASSERT_EQ(appended.run(arch), "") << arch;
      auto slot = static_cast<int64_t>(appended.inputs.slots.at({1}));
      for (int64_t d : {0, 31, 32}) {
        double key = appended.inputs.kPages.at({slot / 4, 1, slot % 4, d});
        EXPECT_EQ(key, d < 32 ? 0 : appended.inputs.k.at({1, 1, d})) << arch;
      }
      EXPECT_EQ(appended.inputs.q->at({1, 0, 7}), 0) << arch;
    }
}

TEST(Append, SaysWhatIsWrong) {
  auto error = [](llvm::StringRef spec) {
    auto problem = parseAppendSpec(spec);
    return problem ? "" : toString(problem.takeError());
  };
  EXPECT_EQ(error("hq=4"),
            "expected RoPE with queries, which are rotated, found none");
  EXPECT_EQ(error("d=64 rope=halves rotary=7"),
            "expected an even rotary dimension from 2 to d, 64, found 7");
  EXPECT_EQ(error("d=64 rope=halves rotary=66"),
            "expected an even rotary dimension from 2 to d, 64, found 66");
  EXPECT_EQ(error("type=f16 rope=halves tables=bf16"),
            "expected tables of f32 or of f16, found bf16");
  EXPECT_EQ(error("rope=neox"), "append key 'rope': expected one of none, "
                                "interleaved, halves, found 'neox'");
  AppendProblem problem = cantFail(parseAppendSpec(
      "t=3 hkv=2 hq=4 d=64 rope=halves rotary=32 tables=f16 positions=i64 "
      "pages=beside page=3 n=9"));
  EXPECT_EQ(cantFail(parseAppendSpec(problem.str())).str(), problem.str());
}
