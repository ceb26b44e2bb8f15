//===- TritonPlanTest.cpp - Triton's kernels by the C interface -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "HeadKernel.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

faArgument number(int64_t value) {
  faArgument argument{};
  argument.type = FA_I32;
  argument.i64 = value;
  return argument;
}

/// A launch of the kernel, whose members may be changed.
struct HeadLaunch {
  HeadMemory memory;
  float nothing = 0;
  int64_t count = kHeads * kHeadStep, one = 1, zeros[3] = {0, 0, 0},
          grid[3] = {kRows / 16, kHeads, 1};
  std::vector<faArgument> arguments;

  HeadLaunch() {
    for (std::vector<float> *each :
         {&memory.q, &memory.k, &memory.v, &memory.out})
      arguments.push_back({1, FA_F32, each->data(), 1, &count, &one, 0, 0});
    faArgument scale{};
    scale.type = FA_F32;
    scale.f32 = kScale;
    arguments.push_back(scale);
    for (int64_t n : {kHeadStep, kRows, kColumns, kValueStep})
      arguments.push_back(number(n));
    arguments.push_back({1, FA_F32, &nothing, 3, grid, zeros, 0, 0});
  }
  HeadLaunch(const HeadLaunch &) = delete;

  /// Fewer rows and keys than the grid has programs for.
  void setRows(int64_t rows) { arguments[6] = number(rows); }
  faStatus run(const fa::Plan &plan) {
    memory.clear();
    return faPlanLaunch(plan.get(), arguments.data(), arguments.size());
  }
  /// Why it does not run as attention; "": it does.
  std::string notRaised(const fa::Plan &plan) {
    faLaunchInfo info{};
    info.size = sizeof info;
    EXPECT_EQ(faPlanGetLaunchInfo(plan.get(), arguments.data(),
                                  arguments.size(), &info),
              FA_SUCCESS)
        << fa::lastError();
    return info.notRaised ? info.notRaised : "";
  }
};

/// What a context said.
struct Log {
  std::vector<std::string> notes, warnings;

  faContextOptions options(const char *target) {
    faContextOptions result = fa::contextOptions(target);
    result.threads = 2;
    result.user = this;
    result.log = [](void *user, faLogLevel level, const char *message) {
      auto &log = *static_cast<Log *>(user);
      (level == FA_LOG_NOTE ? log.notes : log.warnings).emplace_back(message);
    };
    return result;
  }
};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The kernel with another text in the place of one part of it.
std::string headWith(const std::string &part, const std::string &other) {
  std::string text = kHeadKernel;
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, part.size(), other);
}

/// It does not rescale what it carries by the base that it adds with.
std::string mixedBases() {
  return headWith("math.exp %fall", "math.exp2 %fall");
}

} // namespace

TEST(TritonPlan, RunsAsAttention) {
  for (const char *target : {"cpu", "emulator:sm_80"}) {
    Log log;
    fa::Context context(log.options(target));
    fa::Plan plan(context, kHeadKernel, nullptr, FA_RAISE_AUTO);
    ASSERT_TRUE(plan) << fa::lastError();
    EXPECT_TRUE(contains(plan.describe(), "\"raised\":[")) << plan.describe();
    EXPECT_TRUE(contains(plan.describe(), "raised: @head: softmax"));
    EXPECT_FALSE(contains(plan.describe(), "not_raised"));
    HeadLaunch launch;
    EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
    EXPECT_LT(launch.memory.errorOf(kRows, kRows), 1e-5) << target;
    EXPECT_EQ(launch.notRaised(plan), "");
    // The twin: a wrong result is seen.
    EXPECT_GT(launch.memory.errorOf(kRows, kRows, kColumns), 1e-2);
    for (const std::string &note : log.notes)
      EXPECT_FALSE(contains(note, "raised")) << note;
    EXPECT_TRUE(log.warnings.empty());
  }
}

/// Of a thread's last launch, in an emulator that is to count.
TEST(TritonPlan, CountsWhatALaunchAsksFor) {
  Log log;
  for (bool isCounting : {true, false}) {
    faContextOptions options = log.options("emulator:sm_80");
    options.counters = isCounting;
    fa::Context context(options);
    fa::Plan plan(context, kHeadKernel, nullptr, FA_RAISE_OFF);
    ASSERT_TRUE(plan) << fa::lastError();
    HeadLaunch launch;
    EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
    std::string counted = faGetLastCounters();
    EXPECT_EQ(contains(counted, "\"global_requests\":"), isCounting) << counted;
    EXPECT_EQ(contains(counted, "\"bank_conflicts_at\":{"), isCounting);
    // One that fails has counted nothing, and another thread launched nothing.
    std::thread([] { EXPECT_STREQ(faGetLastCounters(), ""); }).join();
    launch.arguments[0].type = FA_F16;
    EXPECT_NE(launch.run(plan), FA_SUCCESS);
    EXPECT_STREQ(faGetLastCounters(), "");
  }
}

/// Of 30 keys the kernel sees 32, of which an attention of 30 keys knows
/// nothing.
TEST(TritonPlan, RunsAsWrittenWhereTheLaunchIsNotTheProofs) {
  Log log;
  fa::Context context(log.options("cpu"));
  fa::Plan plan(context, kHeadKernel, nullptr, FA_RAISE_AUTO);
  ASSERT_TRUE(plan) << fa::lastError();
  HeadLaunch launch;
  launch.setRows(30);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
    EXPECT_LT(launch.memory.errorOf(30, 32), 1e-5);
    EXPECT_GT(launch.memory.errorOf(30, 30), 1e-3);
  }
  std::string why = "@head: not raised: this launch breaks: argument 6 is a "
                    "multiple of 16";
  EXPECT_EQ(launch.notRaised(plan), why);
  EXPECT_EQ(log.notes,
            std::vector<std::string>({why + "; it runs as it is written"}));
  // The next one is attention again.
  launch.setRows(32);
  EXPECT_EQ(launch.notRaised(plan), "");
  // What is wrong for both is an error, as of any plan.
  launch.arguments[0].type = FA_F16;
  EXPECT_EQ(launch.run(plan), FA_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(fa::lastError(), "expected elements of type f32"))
      << fa::lastError();
}

TEST(TritonPlan, RunsAsWrittenWhereNothingIsAsked) {
  fa::Context context(2);
  fa::Plan plan(context, kHeadKernel);
  ASSERT_TRUE(plan) << fa::lastError();
  EXPECT_FALSE(contains(plan.describe(), "raised"));
  HeadLaunch launch;
  EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
  EXPECT_LT(launch.memory.errorOf(kRows, kRows), 1e-5);
  EXPECT_EQ(launch.notRaised(plan), "");
}

TEST(TritonPlan, RunsAsWrittenWhatIsNoAttention) {
  fa::Context context(2);
  std::string text = mixedBases();
  fa::Plan plan(context, text, nullptr, FA_RAISE_AUTO);
  ASSERT_TRUE(plan) << fa::lastError();
  std::string why = "not raised: @head: the sum that it carries does not grow "
                    "by a sum of exp(score) over keys";
  EXPECT_TRUE(contains(plan.describe(), why)) << plan.describe();
  HeadLaunch launch;
  EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
  EXPECT_TRUE(contains(launch.notRaised(plan), why));
  fa::Plan only(context, text, nullptr, FA_RAISE_ONLY);
  EXPECT_FALSE(only);
  EXPECT_TRUE(contains(fa::lastError(), why)) << fa::lastError();
}

TEST(TritonPlan, OnlyAttentionIsAnError) {
  fa::Context context(2);
  fa::Plan plan(context, kHeadKernel, nullptr, FA_RAISE_ONLY);
  ASSERT_TRUE(plan) << fa::lastError();
  HeadLaunch launch;
  EXPECT_EQ(launch.run(plan), FA_SUCCESS) << fa::lastError();
  EXPECT_LT(launch.memory.errorOf(kRows, kRows), 1e-5);
  launch.setRows(30);
  EXPECT_EQ(launch.run(plan), FA_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(fa::lastError(), "@head: not raised: this launch breaks: "
                                "argument 6 is a multiple of 16");
  EXPECT_GT(launch.run(plan), 0);
}

/// Launches of both kinds at a time, of which the first one as it is written
/// compiles.
TEST(TritonPlan, RunsInThreads) {
  fa::Context context(2);
  fa::Plan plan(context, kHeadKernel, nullptr, FA_RAISE_AUTO);
  ASSERT_TRUE(plan) << fa::lastError();
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> right = 0;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&plan, &right, n] {
      HeadLaunch launch;
      for (int again = 0; again < 4; ++again) {
        int64_t rows = (n + again) % 2 ? 30 : 32;
        launch.setRows(rows);
        bool isRaised = launch.notRaised(plan).empty();
        right += launch.run(plan) == FA_SUCCESS && isRaised == (rows == 32) &&
                 launch.memory.errorOf(rows, 32) < 1e-5;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 16);
}

TEST(TritonPlan, ChecksItsDescription) {
  fa::Context context(2);
  fa::Plan none(context, kHeadKernel, nullptr, static_cast<faRaise>(7));
  EXPECT_FALSE(none);
  EXPECT_TRUE(contains(fa::lastError(), "raiseAttention between 0 and 2"))
      << fa::lastError();
  const char *other = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                      "  return %x : tensor<4xf32>\n}\n";
  fa::Plan wrong(context, other, nullptr, FA_RAISE_ONLY);
  EXPECT_FALSE(wrong);
  EXPECT_TRUE(
      contains(fa::lastError(), "expected a kernel that Triton printed"))
      << fa::lastError();
  fa::Plan any(context, other, nullptr, FA_RAISE_AUTO);
  EXPECT_TRUE(any) << fa::lastError();
  faModuleDesc desc{};
  desc.size = sizeof desc;
  std::string text = mixedBases();
  desc.text = text.c_str();
  desc.length = text.size();
  for (auto [raise, status] : {std::pair(FA_RAISE_OFF, FA_SUCCESS),
                               {FA_RAISE_AUTO, FA_SUCCESS},
                               {FA_RAISE_ONLY, FA_ERROR_COMPILE}}) {
    desc.raiseAttention = raise;
    EXPECT_EQ(faModuleIsSupported("host", &desc), status) << fa::lastError();
  }
}

/// A plan for one launch, before there is memory.
TEST(TritonPlan, KnowsItsLaunch) {
  fa::Context context(2);
  HeadLaunch launch;
  std::vector<faArgument> planned = launch.arguments;
  for (unsigned n : {0, 1, 2, 3})
    planned[n].data = nullptr;
  auto create = [&](faRaise raise) {
    faModuleDesc desc{};
    desc.size = sizeof desc;
    desc.text = kHeadKernel;
    desc.length = std::strlen(kHeadKernel);
    desc.launch = planned.data();
    desc.launchCount = planned.size();
    desc.raiseAttention = raise;
    faPlan plan = nullptr;
    faStatus status = faPlanCreateFromModule(context.get(), &desc, &plan);
    std::string said = plan ? faPlanDescribe(plan) : fa::lastError();
    if (plan) {
      EXPECT_EQ(
          faPlanLaunch(plan, launch.arguments.data(), launch.arguments.size()),
          FA_SUCCESS)
          << fa::lastError();
      EXPECT_EQ(faPlanPrepare(plan, planned.data(), planned.size()), FA_SUCCESS)
          << fa::lastError();
    }
    faPlanDestroy(plan);
    return std::pair(status, said);
  };
  EXPECT_EQ(create(FA_RAISE_ONLY).first, FA_SUCCESS) << fa::lastError();
  EXPECT_LT(launch.memory.errorOf(kRows, kRows), 1e-5);
  planned[6] = number(30);
  auto [status, said] = create(FA_RAISE_AUTO);
  EXPECT_EQ(status, FA_SUCCESS) << said;
  EXPECT_TRUE(contains(said, "\"not_raised\":\"@head: not raised: this launch "
                             "breaks: argument 6 is a multiple of 16\""))
      << said;
  std::tie(status, said) = create(FA_RAISE_ONLY);
  EXPECT_EQ(status, FA_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(said, "multiple of 16")) << said;
}

/// An attention that an assembler does not take, which fails once.
class TritonPlanOnCard : public testing::TestWithParam<faCompileMode> {
protected:
  void SetUp() override {
    *fakeDriver() = FakeDriver();
    char name[] = "/tmp/fa-triton-XXXXXX";
    folder = mkdtemp(name);
    std::string program = folder + "/ptxas";
    std::ofstream(program)
        << "#!/bin/sh\n"
           "case \"$*\" in *--version*) echo 'release 12.9, V12'; exit;; esac\n"
           "cd "
        << folder
        << "\n[ -e fails ] && { rm fails; echo broken; exit 1; }\n"
           "while [ \"$1\" != -o ]; do shift; done\ncp /bin/true \"$2\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options = log.options("cuda");
    options.driver = FA_FAKE_DRIVER;
    options.ptxas = path.assign(program).c_str();
    options.compile = GetParam();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Log log;
  std::string folder, path;
  faContextOptions options;
};

TEST_P(TritonPlanOnCard, RunsAsWrittenWhatDoesNotCompile) {
  fa::Context context(options);
  ASSERT_TRUE(context.get()) << fa::lastError();
  HeadLaunch launch;
  auto enqueue = [&](const fa::Plan &plan) {
    return faPlanEnqueue(plan.get(), nullptr, launch.arguments.data(),
                         launch.arguments.size());
  };
  {
    fa::Plan right(context, kHeadKernel, nullptr, FA_RAISE_AUTO);
    ASSERT_TRUE(right) << fa::lastError();
    EXPECT_EQ(enqueue(right), FA_SUCCESS) << fa::lastError();
    EXPECT_EQ(launch.notRaised(right), "");
    EXPECT_TRUE(log.warnings.empty());
  }
  // Another kernel of the same: a plan of the same code would not be compiled.
  std::string text = headWith("0xFF800000", "-3.0e38");
  std::ofstream(folder + "/fails") << "once";
  {
    fa::Plan plan(context, text, nullptr, FA_RAISE_AUTO);
    ASSERT_TRUE(plan) << fa::lastError();
    EXPECT_EQ(enqueue(plan), FA_SUCCESS) << fa::lastError();
    EXPECT_TRUE(contains(launch.notRaised(plan), "broken"))
        << launch.notRaised(plan);
    EXPECT_EQ(enqueue(plan), FA_SUCCESS) << fa::lastError();
  }
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_TRUE(contains(log.warnings[0], "@head runs as it is written, as its "
                                        "attention cannot be compiled"))
      << log.warnings[0];
  EXPECT_TRUE(contains(log.warnings[0], "broken")) << log.warnings[0];
  std::ofstream(folder + "/fails") << "once";
  fa::Plan only(context, text, nullptr, FA_RAISE_ONLY);
  faStatus status = only ? enqueue(only) : FA_ERROR_COMPILE;
  EXPECT_EQ(status, FA_ERROR_COMPILE);
  EXPECT_TRUE(contains(fa::lastError(), "broken")) << fa::lastError();
}

INSTANTIATE_TEST_SUITE_P(Modes, TritonPlanOnCard,
                         testing::Values(FA_COMPILE_EAGER, FA_COMPILE_LAZY));
