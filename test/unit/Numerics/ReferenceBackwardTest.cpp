//===- ReferenceBackwardTest.cpp ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ReferenceBackward.h"
#include "fa/Numerics/ErrorRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/SaveAndRestore.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fa;

static AttentionProblem makeProblem(const llvm::Twine &spec) {
  AttentionProblem problem =
      llvm::cantFail(parseAttentionSpec(spec.str())).problem;
  llvm::cantFail(problem.verify());
  return problem;
}

static HostTensor toF64(const HostTensor &tensor) {
  auto copy =
      llvm::cantFail(HostTensor::create(ElementType::F64, tensor.sizes()));
  llvm::copy(tensor.toDoubles(), static_cast<double *>(copy.data()));
  return copy;
}

namespace {

/// A problem with inputs that small steps can be added to.
struct Setting {
  explicit Setting(const llvm::Twine &spec)
      : problem(makeProblem(spec)),
        in(llvm::cantFail(makeRandomInputs(problem, 5))),
        cotangents(llvm::cantFail(makeRandomCotangents(problem, 5))) {
    for (HostTensor *tensor : {&in.q, &in.k, &in.v})
      *tensor = toF64(*tensor);
    for (auto *tensor : {&in.bias, &in.slopes, &in.sink})
      if (*tensor)
        *tensor = toF64(**tensor);
  }

  Gradients reference() const {
    return llvm::cantFail(referenceBackwardF64(problem, in, cotangents));
  }
  Gradients unfused() const {
    return llvm::cantFail(unfusedBackward(
        problem, in, {llvm::cantFail(referenceF64(problem, in)), cotangents}));
  }

  /// What the gradients are of: results times cotangents. Rows without keys
  /// have no log-sum-exp that could change.
  double loss() const {
    AttentionResult result = llvm::cantFail(referenceF64(problem, in));
    double sum = 0;
    for (auto [x, d] :
         llvm::zip(result.out.toDoubles(), cotangents.out.toDoubles()))
      sum += x * d;
    if (cotangents.lse)
      for (auto [x, d] :
           llvm::zip(result.lse.toDoubles(), cotangents.lse->toDoubles()))
        sum += std::isfinite(x) ? x * d : 0;
    return sum;
  }

  /// The largest difference between `gradient` and that of the loss by central
  /// differences.
  double differenceFrom(const Gradient &gradient) const {
    const HostTensor &input =
        *llvm::StringSwitch<const HostTensor *>(gradient.name)
             .Case("dq", &in.q)
             .Case("dk", &in.k)
             .Case("dv", &in.v)
             .Case("dbias", in.bias ? &*in.bias : nullptr)
             .Case("dslopes", in.slopes ? &*in.slopes : nullptr)
             .Case("dsink", in.sink ? &*in.sink : nullptr);
    EXPECT_EQ(gradient.value.sizes(), input.sizes());
    // Threads cost more than they gain on so little.
    llvm::SaveAndRestore serial(llvm::parallel::strategy,
                                llvm::hardware_concurrency(1));
    std::vector<double> given = gradient.value.toDoubles();
    double worst = 0;
    auto *x = static_cast<double *>(input.data());
    for (size_t n = 0; n < given.size(); ++n) {
      double before = x[n];
      x[n] = before + step;
      double above = loss();
      x[n] = before - step;
      double below = loss();
      x[n] = before;
      double wrong = std::fabs((above - below) / (2 * step) - given[n]);
      worst = std::max(worst, std::isnan(wrong)
                                  ? std::numeric_limits<double>::infinity()
                                  : wrong);
    }
    return worst;
  }
  double differenceFrom(const Gradients &gradients) const {
    double worst = 0;
    for (const Gradient &gradient : gradients)
      worst = std::max(worst, differenceFrom(gradient));
    return worst;
  }

  /// Central differences are off by step^2 / 6 times a third derivative, a few
  /// tens here, and by 2^-53 of the loss divided by the step: 1e-9 together.
  static constexpr double step = 1e-5, tolerance = 1e-7, wrong = 1e-2;

  AttentionProblem problem;
  AttentionInputs in;
  Cotangents cotangents;
};

} // namespace

static const Gradient &find(const Gradients &gradients, llvm::StringRef name) {
  return *llvm::find_if(gradients,
                        [&](const Gradient &g) { return g.name == name; });
}

//===----------------------------------------------------------------------===//
// Against central differences of the forward
//===----------------------------------------------------------------------===//

TEST(ReferenceBackward, EachFeature) {
  for (llvm::StringRef features : {"",
                                   "sk=1",
                                   "hkv=1",
                                   "hkv=2 dv=3",
                                   "dv=5",
                                   "scale=-0.4",
                                   "scale=0",
                                   "causal",
                                   "causal=top-left",
                                   "window=1,1",
                                   "window=2,-1 causal",
                                   "prefix=2 causal",
                                   "documents",
                                   "lengths b=3",
                                   "softcap=0.7",
                                   "alibi",
                                   "sink",
                                   "bias=bhqk",
                                   "bias=1hqk",
                                   "bias=b1qk",
                                   "bias=bh1k",
                                   "bias=bhq1",
                                   "bias=11q1",
                                   "bias=111k",
                                   "bias=1111",
                                   "layout=bshd"})
    for (llvm::StringRef dlse : {"", " dlse"}) {
      SCOPED_TRACE(features.str() + dlse.str());
      std::string sizes = "hq=4 sq=5 d=4 type=f32 backward";
      if (!features.contains("sk="))
        sizes += " sk=6";
      Setting setting(sizes + " " + features + dlse);
      Gradients gradients = setting.reference();
      ASSERT_EQ(gradients.size(), 3u);
      EXPECT_LT(setting.differenceFrom(gradients), Setting::tolerance);
    }
}

TEST(ReferenceBackward, WhatScoresRead) {
  for (llvm::StringRef features :
       {"bias=bhqk backward=bias", "bias=1hqk backward=bias",
        "bias=b1q1 backward=bias,q", "bias=11qk backward=bias",
        "bias=111k backward=bias", "bias=bh11 backward=bias",
        "bias=1111 backward=bias", "alibi backward=slopes",
        "alibi causal hkv=2 backward=slopes,k", "sink backward=sink",
        "sink causal lengths sq=7 backward=sink",
        "alibi sink bias=1hqk softcap=0.7 window=2,1 "
        "backward=bias,slopes,sink"})
    for (llvm::StringRef dlse : {"", " dlse"}) {
      SCOPED_TRACE(features.str() + dlse.str());
      std::string sizes = "b=2 hq=4 sk=6 d=4 type=f32 ";
      if (!features.contains("sq="))
        sizes += "sq=5 ";
      Setting setting(sizes + features + dlse);
      Gradients gradients = setting.reference();
      EXPECT_EQ(gradients.size(), setting.problem.gradients().size());
      EXPECT_LT(setting.differenceFrom(gradients), Setting::tolerance);
      // The twin: with another sign each is far from the differences.
      for (Gradient &gradient : gradients) {
        gradient.value.forEach(
            [](char *e) { *reinterpret_cast<double *>(e) *= -1; });
        if (maxAbs(gradient.value) > Setting::wrong)
          EXPECT_GT(setting.differenceFrom(gradient), Setting::wrong)
              << gradient.name;
      }
    }
}

static constexpr const char *kAll =
    "b=2 hq=4 hkv=2 sq=5 sk=7 d=3 dv=2 type=f32 causal window=4,1 prefix=1 "
    "documents softcap=1.5 alibi scale=0.7 bias=bhqk backward dlse ";

TEST(ReferenceBackward, AllFeatures) {
  for (llvm::StringRef more : {"", "lengths", "sink", "sink lengths"}) {
    SCOPED_TRACE(more.str());
    Setting setting(kAll + more);
    EXPECT_LT(setting.differenceFrom(setting.reference()), Setting::tolerance);
  }
}

/// Rows without keys, and keys that no query sees, have no gradient, whatever
/// is there.
TEST(ReferenceBackward, EmptyRows) {
  Setting setting("hq=2 sq=6 sk=4 d=3 type=f32 causal backward dlse");
  double nan = std::numeric_limits<double>::quiet_NaN();
  setting.cotangents.out.set({0, 1, 1, 0}, nan);
  setting.cotangents.lse->set({0, 1, 0}, nan);
  setting.in.q.set({0, 0, 0, 1}, nan);
  for (Gradients gradients : {setting.reference(), setting.unfused()}) {
    const HostTensor &dq = find(gradients, "dq").value;
    for (int64_t h : {0, 1})
      for (int64_t d : {0, 1, 2}) {
        EXPECT_EQ(dq.at({0, h, 0, d}), 0);
        EXPECT_EQ(dq.at({0, h, 1, d}), 0);
        EXPECT_NE(dq.at({0, h, 3, d}), 0);
      }
    for (const Gradient &gradient : gradients)
      for (double x : gradient.value.toDoubles())
        EXPECT_TRUE(std::isfinite(x)) << gradient.name;
  }
}

TEST(ReferenceBackward, NoKeys) {
  Setting setting("hq=2 sq=3 sk=0 d=3 type=f32 backward");
  for (double x : find(setting.reference(), "dq").value.toDoubles())
    EXPECT_EQ(x, 0);
}

/// A masked element and a bias of -inf contribute nothing, although their dP is
/// not a number.
TEST(ReferenceBackward, MaskedElements) {
  double inf = std::numeric_limits<double>::infinity();
  Setting setting("hq=1 sq=3 sk=4 d=3 type=f32 bias=111k window=-1,0 backward");
  setting.in.bias->set({0, 0, 0, 1}, -inf);
  // Key 1 is seen by none, key 3 by the last query.
  for (int64_t j : {1, 3})
    setting.in.v.set({0, 0, j, 0}, inf);
  for (Gradients gradients : {setting.reference(), setting.unfused()})
    for (int64_t d : {0, 1, 2}) {
      EXPECT_EQ(find(gradients, "dk").value.at({0, 0, 1, d}), 0);
      EXPECT_EQ(find(gradients, "dv").value.at({0, 0, 1, d}), 0);
      for (int64_t i : {0, 1})
        EXPECT_TRUE(
            std::isfinite(find(gradients, "dq").value.at({0, 0, i, d})));
    }
}

/// A gradient that is not finite reaches what its row sees: loss scaling needs
/// it. So does a row whose log-sum-exp is infinite.
TEST(ReferenceBackward, NotFinite) {
  double inf = std::numeric_limits<double>::infinity();
  Setting setting("hq=1 sq=3 sk=3 d=2 type=f32 causal backward");
  setting.cotangents.out.set({0, 0, 1, 0}, inf);
  Setting large("hq=1 sq=3 sk=3 d=2 type=f32 causal backward");
  large.in.q.set({0, 0, 1, 0}, inf);
  for (int64_t j : {0, 1, 2})
    large.in.k.set({0, 0, j, 0}, 1);
  for (const Gradients &gradients :
       {setting.reference(), setting.unfused(), large.reference()})
    for (const Gradient &gradient : gradients)
      for (int64_t row : {0, 1, 2}) {
        bool reached = gradient.name == "dq" ? row == 1 : row <= 1;
        EXPECT_EQ(std::isfinite(gradient.value.at({0, 0, row, 0})), !reached)
            << gradient.name << row;
      }
}

/// A log-sum-exp of +inf that is given is no number, although every exp(s -
/// inf) is 0; that of a score of +inf is none in the first place.
TEST(ReferenceBackward, InfiniteLogSumExp) {
  double inf = std::numeric_limits<double>::infinity();
  Setting setting("hq=1 sq=1 sk=3 d=2 type=f32 bias=111k backward");
  AttentionResult forward =
      llvm::cantFail(referenceF64(setting.problem, setting.in));
  forward.lse.set({0, 0, 0}, inf);
  Gradients given = llvm::cantFail(unfusedBackward(
      setting.problem, setting.in, {forward, setting.cotangents}));
  setting.in.bias->set({0, 0, 0, 1}, inf);
  for (const Gradients &gradients :
       {given, setting.reference(), setting.unfused()})
    for (const Gradient &gradient : gradients)
      for (double x : gradient.value.toDoubles())
        EXPECT_TRUE(std::isnan(x)) << gradient.name;
}

TEST(ReferenceBackward, OnlyWhatIsAskedFor) {
  Setting all("hq=2 sq=3 sk=4 d=3 type=f32 backward");
  Setting some("hq=2 sq=3 sk=4 d=3 type=f32 backward=k");
  Gradients gradients = some.reference();
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].name, "dk");
  EXPECT_EQ(gradients[0].value.toDoubles(),
            find(all.reference(), "dk").value.toDoubles());
}

/// The bound is one: no gradient of a single query and head is larger.
TEST(ReferenceBackward, Bounds) {
  Setting setting("hq=1 sq=1 sk=9 d=4 type=f32 backward");
  for (const Gradient &gradient : setting.reference()) {
    EXPECT_GT(gradient.bound, 0);
    EXPECT_LE(maxAbs(gradient.value), 2 * gradient.bound) << gradient.name;
  }
}

/// Rows `first` to `end` - 1 of packed `rows`, [heads, rows, ..], as a batch of
/// one.
static HostTensor sequenceOf(const HostTensor &rows, int64_t first,
                             int64_t end) {
  llvm::SmallVector<int64_t, 4> sizes(rows.sizes()), strides(rows.strides());
  sizes[1] = end - first;
  sizes.insert(sizes.begin(), 1);
  strides.insert(strides.begin(), 1);
  return rows.view(sizes, strides, first * rows.strides()[1]);
}

/// A packed sequence has the gradients of a problem of its own, bit for bit,
/// and rows of none have none.
TEST(ReferenceBackward, PackedSequences) {
  for (llvm::StringRef features :
       {"", " causal dlse", " window=2,1 sink dlse", " alibi softcap=2",
        " prefix=1 causal", " layout=bshd causal=top-left dlse"}) {
    SCOPED_TRACE(features.str());
    Setting packed("b=4 hq=4 hkv=2 sq=7 sk=9 d=8 dv=6 type=f32 ragged "
                   "backward" +
                   features);
    std::vector<double> queries = packed.in.offsets->toDoubles(),
                        keys = packed.in.keyOffsets->toDoubles();
    Gradients all = packed.reference(), allUnfused = packed.unfused();
    int64_t compared = 0;
    for (int64_t b = 0; b < 4; ++b) {
      Setting one = packed;
      one.problem.hasOffsets = one.problem.hasKeyOffsets = false;
      one.problem.batch = 1;
      one.problem.seqQ = queries[b + 1] - queries[b];
      one.problem.seqKv = keys[b + 1] - keys[b];
      auto ofQueries = [&](const HostTensor &rows) {
        return sequenceOf(rows, queries[b], queries[b + 1]);
      };
      auto ofKeys = [&](const HostTensor &rows) {
        return sequenceOf(rows, keys[b], keys[b + 1]);
      };
      one.in.q = ofQueries(packed.in.q);
      one.in.k = ofKeys(packed.in.k);
      one.in.v = ofKeys(packed.in.v);
      one.cotangents.out = ofQueries(packed.cotangents.out);
      if (packed.cotangents.lse)
        one.cotangents.lse = ofQueries(*packed.cotangents.lse);
      for (auto [mine, theirs] : {std::pair(one.reference(), all),
                                  std::pair(one.unfused(), allUnfused)}) {
        ASSERT_EQ(mine.size(), 3u);
        for (auto [x, y] : llvm::zip(mine, theirs)) {
          HostTensor own =
              x.name == "dq" ? ofQueries(y.value) : ofKeys(y.value);
          EXPECT_EQ(x.value.toDoubles(), own.toDoubles()) << x.name;
          compared += own.numElements();
        }
      }
    }
    EXPECT_GT(compared, 0);
    for (const Gradient &gradient : all) {
      const auto &offsets = gradient.name == "dq" ? queries : keys;
      for (int64_t row = 0; row < gradient.value.sizes()[1]; ++row)
        EXPECT_EQ(std::isnan(gradient.value.at({1, row, 0})),
                  row < offsets.front() || row >= offsets.back());
    }
  }
}

/// Gradients of what heads or all share are sums over sequences.
TEST(ReferenceBackward, SumsOfPackedSequences) {
  Setting packed("b=4 hq=4 hkv=2 sq=7 sk=9 d=8 type=f32 causal alibi sink "
                 "ragged backward=slopes,sink,scale dlse");
  std::vector<double> queries = packed.in.offsets->toDoubles(),
                      keys = packed.in.keyOffsets->toDoubles();
  std::vector<std::vector<double>> sums = {
      std::vector<double>(4), std::vector<double>(4), std::vector<double>(1)};
  for (int64_t b = 0; b < 4; ++b) {
    Setting one = packed;
    one.problem.hasOffsets = one.problem.hasKeyOffsets = false;
    one.problem.batch = 1;
    one.problem.seqQ = queries[b + 1] - queries[b];
    one.problem.seqKv = keys[b + 1] - keys[b];
    one.in.q = sequenceOf(packed.in.q, queries[b], queries[b + 1]);
    one.in.k = sequenceOf(packed.in.k, keys[b], keys[b + 1]);
    one.in.v = sequenceOf(packed.in.v, keys[b], keys[b + 1]);
    one.cotangents.out =
        sequenceOf(packed.cotangents.out, queries[b], queries[b + 1]);
    one.cotangents.lse =
        sequenceOf(*packed.cotangents.lse, queries[b], queries[b + 1]);
    for (auto [sum, mine] : llvm::zip_equal(sums, one.reference()))
      for (auto [x, y] : llvm::zip_equal(sum, mine.value.toDoubles()))
        x += y;
  }
  for (auto [sum, all] : llvm::zip_equal(sums, packed.reference()))
    for (auto [x, y] : llvm::zip_equal(sum, all.value.toDoubles())) {
      EXPECT_NEAR(x, y, 1e-12) << all.name;
      EXPECT_NE(y, 0) << all.name;
    }
}

TEST(ReferenceBackward, Refuses) {
  Setting setting("hq=2 sq=3 sk=4 d=3 type=f32 backward dlse");
  setting.cotangents.lse.reset();
  auto gradients =
      referenceBackwardF64(setting.problem, setting.in, setting.cotangents);
  ASSERT_FALSE(static_cast<bool>(gradients));
  EXPECT_EQ(toString(gradients.takeError()),
            "expected a gradient of the log-sum-exp");
  setting.cotangents.lse =
      llvm::cantFail(HostTensor::create(ElementType::F32, {1, 2, 4}));
  gradients =
      referenceBackwardF64(setting.problem, setting.in, setting.cotangents);
  ASSERT_FALSE(static_cast<bool>(gradients));
  EXPECT_EQ(toString(gradients.takeError()),
            "expected the log-sum-exp's gradient of 1x2x3, found 1x2x4");
}

//===----------------------------------------------------------------------===//
// Twins: wrong gradients are found.
//===----------------------------------------------------------------------===//

namespace {

/// Wrong gradients of a problem with the dlse and a causal mask.
struct Fault {
  const char *what;
  Gradients gradients;
};

} // namespace

static std::vector<Fault> plantFaults(const Setting &setting) {
  std::vector<Fault> faults;
  auto of = [&](const AttentionProblem &p, const Cotangents &cotangents) {
    AttentionResult forward =
        llvm::cantFail(referenceF64(setting.problem, setting.in));
    return llvm::cantFail(
        unfusedBackward(p, setting.in, {forward, cotangents}));
  };
  AttentionProblem p = setting.problem;
  p.backward->dlse = false;
  faults.push_back({"delta without dlse", of(p, setting.cotangents)});

  p = setting.problem;
  p.causal = CausalKind::None;
  faults.push_back({"no mask on P and dS", of(p, setting.cotangents)});

  Cotangents one{toF64(setting.cotangents.out), toF64(*setting.cotangents.lse)};
  for (int64_t i = 0; i < p.seqQ; ++i) {
    one.lse->set({0, 1, i}, 0);
    for (int64_t d = 0; d < p.headDimV; ++d)
      one.out.set({0, 1, i, d}, 0);
  }
  faults.push_back({"a head of the group left out", of(setting.problem, one)});

  Gradients scaled = setting.unfused();
  HostTensor dk = find(scaled, "dk").value;
  dk.forEach([&](char *e) {
    storeElement(e, ElementType::F64,
                 loadElement(e, ElementType::F64) / p.effectiveScale());
  });
  faults.push_back({"dk without the scale", scaled});
  return faults;
}

TEST(ReferenceBackward, FaultsDifferFromTheDifferences) {
  Setting setting(
      "hq=4 hkv=2 sq=5 sk=6 d=4 dv=3 type=f32 causal backward dlse");
  for (const auto &[what, gradients] : plantFaults(setting)) {
    SCOPED_TRACE(what);
    EXPECT_GT(setting.differenceFrom(gradients), Setting::wrong);
  }
}

/// Whether the error rule takes `got` for the gradients of the setting.
static bool passes(const Setting &setting, const Gradients &got) {
  Gradients reference = setting.reference(), e0 = setting.unfused();
  bool pass = true;
  for (auto [g, r, e] : llvm::zip_equal(got, reference, e0)) {
    OutputCheck check = checkGradient(g.name, g.value, r.value, e.value,
                                      setting.problem.type, r.bound);
    EXPECT_FALSE(check.contractOnly) << g.name;
    pass &= check.pass;
  }
  return pass;
}

TEST(ReferenceBackward, TheErrorRuleFindsFaults) {
  for (llvm::StringRef type : {"f32", "f16", "bf16"}) {
    SCOPED_TRACE(type.str());
    Setting setting("hq=4 hkv=2 sq=40 sk=70 d=32 causal backward dlse type=" +
                    type);
    EXPECT_TRUE(passes(setting, setting.unfused()));
    for (const auto &[what, gradients] : plantFaults(setting))
      EXPECT_FALSE(passes(setting, gradients)) << what;
  }
}

/// Where every gradient vanishes something is compared still.
TEST(ReferenceBackward, TheErrorRuleOfWhatVanishes) {
  Setting setting("hq=2 sq=3 sk=1 d=8 type=f32 backward=q");
  Gradients wrong = setting.unfused();
  EXPECT_TRUE(passes(setting, wrong));
  wrong[0].value.set({0, 1, 2, 3}, 1e-3);
  EXPECT_FALSE(passes(setting, wrong));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

TEST(ReferenceBackward, InputsOfAProgram) {
  AttentionProblem p = makeProblem(
      "b=2 hq=3 sq=4 sk=5 d=6 dv=7 type=bf16 layout=bshd backward dlse");
  AttentionInputs in = llvm::cantFail(makeRandomInputs(p, 1));
  Cotangents given = llvm::cantFail(makeRandomCotangents(p, 1));
  AttentionResult forward = llvm::cantFail(makeForwardResults(p, in));
  for (const HostTensor &tensor : {given.out, forward.out}) {
    EXPECT_EQ(tensor.type(), ElementType::BF16);
    EXPECT_EQ(tensor.sizes(), llvm::ArrayRef<int64_t>({2, 3, 4, 7}));
    EXPECT_EQ(tensor.strides(), llvm::ArrayRef<int64_t>({84, 7, 21, 1}));
    EXPECT_GT(maxAbs(tensor), 0.5);
  }
  for (const HostTensor &tensor : {*given.lse, forward.lse}) {
    EXPECT_EQ(tensor.type(), ElementType::F32);
    EXPECT_EQ(tensor.sizes(), llvm::ArrayRef<int64_t>({2, 3, 4}));
  }
  EXPECT_NE(given.out.at({0, 0, 0, 0}), in.q.at({0, 0, 0, 0}));
  AttentionResult exact = llvm::cantFail(referenceF64(p, in));
  EXPECT_EQ(forward.out.at({1, 2, 3, 4}),
            roundTo(ElementType::BF16, exact.out.at({1, 2, 3, 4})));
}
