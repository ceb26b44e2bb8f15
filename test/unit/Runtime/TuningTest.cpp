//===- TuningTest.cpp - the tuning table and the search -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/Tuning.h"
#include "fa/Runtime/Tune.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

namespace {

/// A search over results that a clock need not give.
Expected<size_t> search(ArrayRef<CandidateResult> results) {
  return findFastest(
      results.size(),
      [&](size_t n) -> Expected<CandidateResult> { return results[n]; });
}

/// q, k and v of these sizes, whose rows of 128 elements are `row` apart.
std::vector<LaunchArgument> launchOf(int64_t batch, int64_t heads,
                                     int64_t kvHeads, int64_t queries,
                                     int64_t keys, int64_t row = 128,
                                     int64_t element = 1) {
  std::vector<LaunchArgument> launch;
  for (auto [h, s] : {std::pair(heads, queries), std::pair(kvHeads, keys),
                      std::pair(kvHeads, keys)}) {
    int64_t sizes[] = {batch, h, s, 128},
            strides[] = {h * s * row, s * row, row, element};
    launch.push_back(
        LaunchArgument::tensor(nullptr, ElementType::F16, sizes, strides));
  }
  return launch;
}

AttentionProblem problemOf(StringRef spec) {
  return cantFail(parseAttentionSpec(spec)).problem;
}

template <typename T> std::string messageOf(Expected<T> result) {
  return result ? "" : toString(result.takeError());
}

constexpr StringLiteral kClass =
    "b=1 hq=4 hkv=1 sq=4096 sk=4096 d=128 dv=128 type=f16 causal=bottom-right";

std::string tableOf(StringRef from, StringRef to) {
  std::string text =
      (Twine("{\"flashtile_tuning\": 2, \"entries\": [{\"arch\": \"sm_90a\", "
             "\"assembler\": \"driver\", \"problem\": \"") +
       kClass +
       "\", \"asked\": \"tile=128x64 schedule=roles\", "
       "\"plans\": [\"@attention plan<tile 128x64>\"], \"ms\": 0.5, "
       "\"rules_ms\": 1, \"device\": "
       "\"X\"}]}")
          .str();
  if (!from.empty()) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from.str();
    text.replace(at, from.size(), to.str());
  }
  return text;
}

} // namespace

TEST(Tune, TheFastestThatCounts) {
  EXPECT_EQ(cantFail(search({{3, ""}, {1, "wrong"}, {2, ""}, {2.5, ""}})), 2u);
}

/// Equal times, and such as differ by chance, leave the rules.
TEST(Tune, TiesAreTheEarliest) {
  EXPECT_EQ(cantFail(search({{2, ""}, {2, ""}})), 0u);
  EXPECT_EQ(cantFail(search({{2, ""}, {1.985, ""}, {1.97, ""}})), 2u);
  EXPECT_EQ(cantFail(search({{2, ""}, {1.985, ""}})), 0u);
}

TEST(Tune, NoneThatCountsIsAnError) {
  EXPECT_EQ(messageOf(search({{1, "too large"}, {1, "wrong"}})),
            "none of 2 candidates counts; the first: too large");
}

TEST(Tune, WhatEndsTheMeasuringEndsTheSearch) {
  size_t calls = 0;
  auto found = findFastest(3, [&](size_t) -> Expected<CandidateResult> {
    ++calls;
    return createStringError("the card is gone");
  });
  EXPECT_EQ(messageOf(std::move(found)), "the card is gone");
  EXPECT_EQ(calls, 1u);
}

TEST(TuningTable, ClassesRoundLengthsAndForgetTheRest) {
  AttentionProblem problem = problemOf("d=128 causal scale=2");
  auto classOf = [&](int64_t b, int64_t hq, int64_t hkv, int64_t sq,
                     int64_t sk) {
    return tuningClass(problem, launchOf(b, hq, hkv, sq, sk));
  };
  EXPECT_EQ(classOf(2, 32, 8, 3000, 4096), kClass);
  EXPECT_EQ(classOf(7, 4, 1, 4096, 2049), kClass);
  EXPECT_NE(classOf(2, 32, 8, 3000, 4097), kClass);
  EXPECT_NE(classOf(2, 32, 4, 3000, 4096), kClass);
  problem.causal = CausalKind::None;
  EXPECT_NE(classOf(2, 32, 8, 3000, 4096), kClass);
}

/// Other kernels take such rows.
TEST(TuningTable, LaunchesOfOtherRowsHaveNoClass) {
  AttentionProblem problem = problemOf("d=128");
  EXPECT_TRUE(tuningClass(problem, launchOf(1, 2, 2, 64, 64)));
  EXPECT_TRUE(tuningClass(problem, launchOf(1, 2, 2, 64, 64, 136)));
  EXPECT_FALSE(tuningClass(problem, launchOf(1, 2, 2, 64, 64, 129)));
  EXPECT_FALSE(tuningClass(problem, launchOf(1, 2, 2, 64, 64, 256, 2)));
  EXPECT_FALSE(tuningClass(problem, {}));
  EXPECT_FALSE(tuningClass(problem, launchOf(1, 3, 2, 64, 64)));
}

TEST(TuningTable, WrittenIsRead) {
  SmallString<128> path;
  ASSERT_FALSE(sys::fs::createTemporaryFile("tuning", "json", path));
  TuningTable table = cantFail(TuningTable::parse(tableOf("", ""), "text"));
  TuningKey key{"gfx942", "LLVM 22", kClass.str()};
  PlanConstraints asked = cantFail(parseConstraints("tile=64x32 warps=8"));
  table.set(key, {asked, "@a plan<tile 1x2>\n@b plan<tile 3x4>\n", 0.25, 0.5,
                  "MI300X"});
  cantFail(table.write(path));
  TuningTable read = cantFail(TuningTable::read(path));
  EXPECT_EQ(read.size(), 2u);
  const TuningEntry *entry = read.find(key);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->asked, asked);
  EXPECT_EQ(entry->plans, "@a plan<tile 1x2>\n@b plan<tile 3x4>\n");
  EXPECT_EQ(entry->ms, 0.25);
  EXPECT_EQ(entry->device, "MI300X");
  // The twin: another assembler's is not this one's.
  key.assembler = "LLVM 21";
  EXPECT_FALSE(read.find(key));
  ASSERT_FALSE(sys::fs::remove(path));
}

TEST(TuningTable, SaysWhatIsWrong) {
  std::tuple<StringRef, StringRef, StringRef> wrong[] = {
      {"{\"flash", "{flash", "F: expected a tuning table, found no JSON"},
      {"}]}", "}]", "F: expected a tuning table, found no JSON"},
      {"tuning\": 2", "tuning\": 1",
       "F: expected a tuning table with \"flashtile_tuning\": 2, found 1"},
      {"flashtile_tuning", "tuning",
       "F: expected a tuning table with \"flashtile_tuning\": 2, found none"},
      {"sm_90a", "sm_999",
       "F: entries[0].arch: expected sm_80, sm_86, sm_89, sm_90, sm_90a, "
       "gfx90a, gfx942, gfx950 or cpu:NAME, found \"sm_999\""},
      {"\"assembler\"", "\"compiler\"",
       "F: entries[0].assembler: expected a string, found nothing"},
      {"sq=4096", "sq=4000",
       "F: entries[0].problem: expected a class of launches, found"},
      {"\"tile=128x64 schedule=roles\"", "128",
       "F: entries[0].asked: expected a string, found 128"},
      {"tile=128x64", "tile=128",
       "F: entries[0].asked: expected plan constraints: expected tile=MxN, "},
      {"tile=128x64", "tile=0x64",
       "F: entries[0].asked: expected what can be asked of plans: tile: "
       "expected MxN with 1 <= M <= 1024 and 1 <= N <= 4096, found '0x64', "
       "found \"tile=0x64"},
      {"[\"@attention plan<tile 128x64>\"]", "\"plan\"",
       "F: entries[0].plans: expected an array of lines @KERNEL plan<...>, "
       "found \"plan\""},
      {"\"@attention plan", "\"attention plan",
       "F: entries[0].plans: expected lines @KERNEL plan<...>, found "
       "\"attention plan<tile 128x64>\""},
      {"@attention plan<tile 128x64>", "@attention plan<\\n>",
       "F: entries[0].plans: expected lines @KERNEL plan<...>, found"}};
  for (auto [from, to, message] : wrong) {
    std::string found = messageOf(TuningTable::parse(tableOf(from, to), "F"));
    EXPECT_EQ(StringRef(found).take_front(message.size()), message);
  }
  EXPECT_EQ(messageOf(TuningTable::parse(std::string(1 << 20, '['), "F")),
            "F: expected a tuning table, found arrays or objects more than 8 "
            "deep");
  EXPECT_EQ(messageOf(TuningTable::read("/")), "/: expected a file");
}

TEST(TuningTable, DigestsAreOfKeyAndChoice) {
  TuningKey key{"sm_90a", "driver", kClass.str()};
  TuningEntry entry{cantFail(parseConstraints("stages=3")), "", 1, 2, "X"},
      other = entry;
  other.ms = 3; // measured again
  EXPECT_EQ(entry.digest(key), other.digest(key));
  other.asked.stages = 2;
  EXPECT_NE(entry.digest(key), other.digest(key));
  other = entry;
  other.plans = "@a plan<tile 1x2>\n";
  EXPECT_NE(entry.digest(key), other.digest(key));
}

/// What was asked for by name stays; what is in the table for another compiler
/// is not used, and that is said.
TEST(Tuning, ChoosesForItsCompiler) {
  SmallString<128> path;
  ASSERT_FALSE(sys::fs::createTemporaryFile("tuning", "json", path));
  TuningTable table = cantFail(TuningTable::parse(tableOf("", ""), "text"));
  cantFail(table.write(path));
  CompileOptions options;
  options.arch = "sm_90a";
  options.ptxas = "none";
  std::string said;
  auto report = [&](const std::string &message) { said = message; };
  Tuning tuning = cantFail(Tuning::open(path, options, report));
  EXPECT_EQ(said, "");
  AttentionProblem problem = problemOf("d=128 causal");
  auto launch = launchOf(2, 32, 8, 3000, 4096);
  CompileOptions chosen = options, asked = options;
  EXPECT_TRUE(tuning.apply(problem, launch, chosen));
  EXPECT_EQ(printConstraints(chosen.asked), "tile=128x64 schedule=roles");
  EXPECT_EQ(chosen.plans, "@attention plan<tile 128x64>\n");
  EXPECT_EQ(chosen.tuning.size(), 64u);
  asked.asked.stages = 2;
  EXPECT_FALSE(tuning.apply(problem, launch, asked));
  EXPECT_FALSE(tuning.apply(problemOf("d=128"), launch, options));
  EXPECT_EQ(options.tuning, "");

  options.ptxas = "";
  table = cantFail(TuningTable::parse(tableOf("driver", "9.0"), "text"));
  cantFail(table.write(path));
  Tuning other = cantFail(Tuning::open(path, options, report));
  EXPECT_NE(said.find("it was measured with assembler 9.0, found"),
            std::string::npos)
      << said;
  EXPECT_FALSE(other.apply(problem, launch, options));
  ASSERT_FALSE(sys::fs::remove(path));
}
