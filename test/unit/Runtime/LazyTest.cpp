//===- LazyTest.cpp - kernels that are compiled as launches take them -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "LazyLaunches.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

/// A driver that records, and what of it is different.
struct Vendor {
  const char *target, *library;
  FakeDriver *(*driver)();
  const char *load, *exchange; ///< names of functions
};

const Vendor cuda = {"cuda", FA_FAKE_DRIVER, fakeDriver, "cuModuleLoadDataEx",
                     "cuThreadExchangeStreamCaptureMode"};
const Vendor hip = {"hip", FA_FAKE_HIP, fakeHip, "hipModuleLoadDataEx",
                    "hipThreadExchangeStreamCaptureMode"};

/// Counts what launches compile, which is not what is compiled behind them.
struct Counter {
  std::atomic<int> compiled = 0, loaded = 0;
  void (*atLoad)() = nullptr;

  void addTo(faContextOptions &options) {
    options.user = this;
    options.progress = [](void *user, const char *phase) -> int32_t {
      auto &counter = *static_cast<Counter *>(user);
      counter.compiled += std::string(phase) == "optimization";
      if (std::string(phase) == "load" && ++counter.loaded && counter.atLoad)
        counter.atLoad();
      return 0;
    };
  }
};

class Lazy : public testing::TestWithParam<const Vendor *> {
protected:
  void SetUp() override { *driver() = FakeDriver(); }
  void TearDown() override { EXPECT_EQ(driver()->numModules, 0); }

  static FakeDriver *driver() { return GetParam()->driver(); }

  static faContextOptions options(faCompileMode mode, Counter *counter) {
    faContextOptions result = fa::contextOptions(GetParam()->target);
    result.driver = GetParam()->library;
    result.ptxas = "none";
    result.compile = mode;
    if (counter)
      counter->addTo(result);
    return result;
  }

  /// How often a function of the driver was called.
  static int count(const char *function) {
    int number = 0;
    for (size_t n = 0; n < driver()->numCalls; ++n)
      number += !std::string(driver()->calls[n]).compare(function);
    return number;
  }

  static void expectError(faStatus found, faStatus expected,
                          const std::string &message) {
    EXPECT_EQ(found, expected);
    std::string text = fa::lastError();
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }
};

} // namespace

TEST_P(Lazy, CompilesWhatALaunchTakes) {
  Counter counter;
  fa::Context context(options(FA_COMPILE_LAZY, &counter));
  ASSERT_TRUE(context) << fa::lastError();
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  EXPECT_GE(plan.info().numKernels, 4u);
  EXPECT_EQ(counter.compiled, 0);
  EXPECT_EQ(driver()->numModules, 0);
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
    EXPECT_STREQ(driver()->launch.kernel, "attention");
    EXPECT_EQ(counter.compiled, 1);
    EXPECT_EQ(driver()->numModules, 1);
  }
  int known = 0;
  for (uint32_t n = 0; n < plan.info().numKernels; ++n)
    known += plan.kernel(n).registers > 0;
  EXPECT_EQ(known, 1);
  EXPECT_EQ(plan.launch(decode), FA_SUCCESS) << fa::lastError();
  EXPECT_STREQ(driver()->launch.kernel, "attention_decode");
  EXPECT_EQ(counter.compiled, 2);
  // What no kernel takes compiles none.
  auto wrong = decode;
  wrong.pop_back();
  expectError(plan.enqueue(nullptr, wrong), FA_ERROR_INVALID_ARGUMENT,
              "expected 5 arguments, found 4");
  EXPECT_EQ(counter.compiled, 2);
  // The twin.
  fa::Context eager(options(FA_COMPILE_EAGER, nullptr));
  fa::Plan all(eager, problem);
  for (uint32_t n = 0; n < all.info().numKernels; ++n)
    EXPECT_GT(all.kernel(n).registers, 0);
}

/// What a launch runs does not depend on what was loaded before it.
TEST_P(Lazy, ChoosesAsIfAllWereThere) {
  fa::Context contexts[] = {
      fa::Context(options(FA_COMPILE_EAGER, nullptr)),
      fa::Context(options(FA_COMPILE_LAZY, nullptr)),
  };
  fa::Plan all(contexts[0], problem), lazy(contexts[1], problem);
  ASSERT_TRUE(all && lazy) << fa::lastError();
  for (int64_t queries : {1, 4, 100, 1000})
    for (int64_t keys : {64, 2048, 16384})
      for (int64_t batch : {1, 40, 55, 160}) {
        auto launch = launchOf(queries, keys, batch);
        SCOPED_TRACE(testing::Message()
                     << queries << "x" << keys << " of " << batch);
        // One that has this launch alone, as nothing was loaded.
        auto expected = all.launchInfo(launch), found = lazy.launchInfo(launch);
        EXPECT_EQ(found.splits, expected.splits) << fa::lastError();
        EXPECT_EQ(found.workspaceSize, expected.workspaceSize);
        EXPECT_EQ(found.numKernels, expected.numKernels);
        all.enqueue(nullptr, launch);
        std::string kernel = driver()->launch.kernel;
        EXPECT_EQ(lazy.enqueue(nullptr, launch), FA_SUCCESS);
        EXPECT_EQ(driver()->launch.kernel, kernel);
      }
}

/// Where splits depend on how many blocks a processor holds, the kernel is
/// loaded before it is chosen, or not.
TEST_P(Lazy, AsksTheDriverBeforeItSplits) {
  fa::Context contexts[] = {
      fa::Context(options(FA_COMPILE_EAGER, nullptr)),
      fa::Context(options(FA_COMPILE_LAZY, nullptr)),
  };
  fa::Plan all(contexts[0], problem);
  int split = 0;
  for (int64_t batch : {20, 40, 55, 100, 110, 160, 200, 310}) {
    auto launch = launchOf(1, 2048, batch);
    fa::Plan lazy(contexts[1], problem); // nothing of which is loaded
    EXPECT_EQ(lazy.launchInfo(launch).splits, all.launchInfo(launch).splits)
        << batch;
    split += all.launchInfo(launch).splits > 1;
  }
  EXPECT_GT(split, 0);
}

/// As a plan's compilation is; the next launch compiles it.
TEST_P(Lazy, LaunchesCanBeCancelled) {
  static const char *stopAt;
  faContextOptions how = options(FA_COMPILE_LAZY, nullptr);
  how.progress = [](void *, const char *phase) -> int32_t {
    return std::string(phase) == stopAt;
  };
  stopAt = "";
  fa::Context context(how);
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  for (const char *phase : {"optimization", "load"}) {
    stopAt = phase;
    expectError(plan.enqueue(nullptr, prefill), FA_ERROR_CANCELLED,
                "the compilation was cancelled");
    EXPECT_EQ(driver()->numLaunches, 0u);
  }
  stopAt = "";
  EXPECT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
}

TEST_P(Lazy, PreparesLaunches) {
  Counter counter;
  fa::Context context(options(FA_COMPILE_LAZY, &counter));
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  // With workspace two kernels, without one.
  EXPECT_EQ(plan.prepare(launchOf(1, 2048, 1, 1, nullptr)), FA_SUCCESS)
      << fa::lastError();
  EXPECT_EQ(counter.compiled, 3);
  EXPECT_EQ(driver()->numLaunches, 0u);
  faLaunchInfo info = plan.launchInfo(longDecode);
  EXPECT_EQ(info.numKernels, 2u);
  EXPECT_EQ(plan.enqueue(nullptr, memory, info.workspaceSize, longDecode),
            FA_SUCCESS);
  EXPECT_EQ(plan.enqueue(nullptr, longDecode), FA_SUCCESS);
  EXPECT_EQ(counter.compiled, 3);
  EXPECT_EQ(count(GetParam()->load), 3);
  auto wrong = decode;
  wrong.pop_back();
  expectError(plan.prepare(wrong), FA_ERROR_INVALID_ARGUMENT,
              "expected 5 arguments, found 4");
  expectError(faPlanPrepare(nullptr, nullptr, 0), FA_ERROR_INVALID_ARGUMENT,
              "faPlanPrepare: expected a plan");
}

/// A launch that is captured compiles and loads beside the capture, or says
/// what to do and leaves the capture whole.
TEST_P(Lazy, BreaksNoCapture) {
  int stream = 0;
  Counter counter;
  fa::Context context(options(FA_COMPILE_LAZY, &counter));
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  driver()->capturing = &stream;
  EXPECT_EQ(plan.enqueue(&stream, prefill), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(driver()->capturing, &stream);
  EXPECT_EQ(count(GetParam()->load), 1);
  EXPECT_EQ(count(GetParam()->exchange), 2);
  // The thread's mode is as it was: what waits for the card ends a capture.
  fa::Context eager(options(FA_COMPILE_EAGER, nullptr));
  EXPECT_FALSE(fa::Plan(eager, problem, prefill));
  EXPECT_EQ(driver()->capturing, nullptr);
  // A driver that refuses.
  driver()->capturing = &stream;
  driver()->failing = GetParam()->exchange;
  driver()->failure = 1;
  expectError(plan.enqueue(&stream, decode), FA_ERROR_DEVICE,
              "@attention_decode is not loaded, and a launch that may be "
              "captured cannot do it: ");
  expectError(FA_ERROR_DEVICE, FA_ERROR_DEVICE, "faPlanPrepare");
  EXPECT_EQ(driver()->capturing, &stream);
  EXPECT_EQ(driver()->numLaunches, 1u);
  // Before the capture it helps, and what was compiled is not again.
  driver()->failing = nullptr;
  EXPECT_EQ(plan.prepare(decode), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(counter.compiled, 2);
  driver()->failing = GetParam()->exchange;
  EXPECT_EQ(plan.enqueue(&stream, decode), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(driver()->capturing, &stream);
}

/// Two problems have the same merge of the same splits.
TEST_P(Lazy, ProblemsShareKernels) {
  Counter counter;
  fa::Context context(options(FA_COMPILE_LAZY, &counter));
  faAttentionDesc other = problem;
  other.softcap = 30;
  fa::Plan one(context, problem), two(context, other);
  ASSERT_TRUE(one && two) << fa::lastError();
  for (fa::Plan *plan : {&one, &two}) {
    size_t bytes = plan->launchInfo(longDecode).workspaceSize;
    EXPECT_EQ(plan->enqueue(nullptr, memory, bytes, longDecode), FA_SUCCESS);
    EXPECT_EQ(driver()->numLaunches, plan == &one ? 2u : 4u);
  }
  EXPECT_EQ(counter.compiled, 3);
}

/// However many threads want it.
TEST_P(Lazy, CompilesAKernelOnce) {
  Counter counter;
  fa::Context context(options(FA_COMPILE_LAZY, &counter));
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  std::vector<std::thread> threads;
  for (int n = 0; n < 12; ++n)
    threads.emplace_back([&, n] {
      EXPECT_EQ(plan.prepare(n % 3 ? prefill : decode), FA_SUCCESS)
          << fa::lastError();
      EXPECT_GT(plan.info().numKernels, 2u);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(counter.compiled, 2);
  EXPECT_EQ(driver()->numModules, 2);
}

namespace {

/// A folder for a cache, and how many files it has.
class LazyCache : public Lazy {
protected:
  void SetUp() override {
    Lazy::SetUp();
    folder = testing::TempDir() + "/fa-lazy-" + GetParam()->target +
             std::to_string(getpid());
  }
  void TearDown() override {
    Lazy::TearDown();
    std::filesystem::remove_all(folder);
  }

  faContextOptions keeping(faCompileMode mode, Counter *counter) const {
    faContextOptions result = options(mode, counter);
    result.cacheDirectory = folder.c_str();
    return result;
  }
  int countFiles() const {
    int number = 0;
    for (auto &file : std::filesystem::directory_iterator(folder))
      number += file.path().filename().string().size() == 10 + 64;
    return number;
  }

  std::string folder;
};

} // namespace

/// A list for each program, and a file for each kernel, which contexts and
/// programs share.
TEST_P(LazyCache, KeepsKernelByKernel) {
  faAttentionDesc other = problem;
  other.softcap = 30;
  struct {
    const faAttentionDesc &desc;
    int compiled, files;
  } runs[] = {{problem, 2, 3}, {other, 1, 5}, {problem, 0, 5}};
  for (const auto &run : runs) {
    Counter counter;
    fa::Context context(keeping(FA_COMPILE_LAZY, &counter));
    fa::Plan plan(context, run.desc);
    ASSERT_TRUE(plan) << fa::lastError();
    size_t bytes = plan.launchInfo(longDecode).workspaceSize;
    EXPECT_EQ(plan.enqueue(nullptr, memory, bytes, longDecode), FA_SUCCESS)
        << fa::lastError();
    EXPECT_STREQ(driver()->launch.kernel, "attention_decode_merge");
    EXPECT_EQ(counter.compiled, run.compiled);
    EXPECT_EQ(countFiles(), run.files);
    EXPECT_EQ(plan.info().cache, run.compiled ? FA_CACHE_MISS : FA_CACHE_HIT);
  }
  // What is not there may not be compiled.
  faContextOptions only = keeping(FA_COMPILE_LAZY, nullptr);
  only.cacheMode = FA_CACHE_ONLY;
  fa::Context context(only);
  fa::Plan plan(context, problem);
  EXPECT_GT(plan.launchInfo(longDecode).splits, 1) << fa::lastError();
  expectError(plan.enqueue(nullptr, prefill), FA_ERROR_COMPILE,
              "expected the program in the cache");
}

/// All kernels of gradients are found again: the first one, too, whose
/// workspace is said by a number of splits.
TEST_P(LazyCache, KeepsKernelsOfGradients) {
  faBackwardDesc wanted = fa::backward();
  auto rows = prefill[0];
  auto lse = fa::tensor(memory, FA_F32, {1, 8, 256});
  std::vector<fa::Argument> arguments = {
      rows, rows, rows, fa::scalar(0.125f), rows, lse, rows, rows, rows, rows};
  for (bool isFirst : {true, false}) {
    Counter counter;
    fa::Context context(keeping(FA_COMPILE_LAZY, &counter));
    fa::Plan plan(context, problem, wanted);
    ASSERT_TRUE(plan) << fa::lastError();
    size_t bytes = plan.launchInfo(arguments).workspaceSize;
    EXPECT_EQ(plan.enqueue(nullptr, memory, bytes, arguments), FA_SUCCESS)
        << fa::lastError();
    if (isFirst)
      EXPECT_GE(counter.compiled, 3);
    else
      EXPECT_EQ(counter.compiled, 0);
  }
}

/// So is one that takes programs from a counter, which its plan has and it by
/// itself has not.
TEST(TakenPrograms, AreKept) {
  std::string folder =
      testing::TempDir() + "/fa-taken-" + std::to_string(getpid());
  *fakeDriver() = FakeDriver();
  fakeDriver()->capability[0] = fakeDriver()->capability[1] = 90;
  faAttentionDesc desc = fa::attention(FA_F16, 64);
  desc.hasOffsets = desc.hasKeyOffsets = 1;
  alignas(256) static char memory[256];
  auto q = fa::tensor(memory, FA_F16, {4, 400000, 64}),
       k = fa::tensor(memory, FA_F16, {2, 400000, 64}),
       offsets = fa::tensor(memory, FA_I32, {9});
  std::vector<fa::Argument> packed = {
      q, k, k, offsets, offsets, fa::scalar(0.125f), q};
  for (bool isFirst : {true, false}) {
    Counter counter;
    faContextOptions how = fa::contextOptions("cuda");
    how.driver = FA_FAKE_DRIVER;
    how.ptxas = "none";
    how.compile = FA_COMPILE_LAZY;
    how.cacheDirectory = folder.c_str();
    counter.addTo(how);
    fa::Context context(how);
    fa::Plan plan(context, desc);
    ASSERT_TRUE(plan) << fa::lastError();
    size_t bytes = plan.launchInfo(packed).workspaceSize;
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(plan.enqueue(nullptr, memory, bytes, packed), FA_SUCCESS)
        << fa::lastError();
    EXPECT_STREQ(fakeDriver()->launch.kernel, "attention_roles_dynamic");
    EXPECT_EQ(counter.compiled, isFirst);
  }
  std::filesystem::remove_all(folder);
}

TEST_P(LazyCache, CompilesTheRestBehind) {
  Counter counter;
  faContextOptions how = keeping(FA_COMPILE_BACKGROUND, &counter);
  {
    fa::Context context(how);
    fa::Plan plan(context, problem);
    ASSERT_TRUE(plan) << fa::lastError();
    EXPECT_EQ(countFiles(), 1); // the list
    EXPECT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
    int all = 1 + static_cast<int>(plan.info().numKernels);
    for (int wait = 0; wait < 6000 && countFiles() < all; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(countFiles(), all);
    EXPECT_EQ(plan.enqueue(nullptr, decode), FA_SUCCESS) << fa::lastError();
    EXPECT_EQ(counter.compiled, 1);
    EXPECT_EQ(driver()->numModules, 2);
  }
  // A later process finds kernels and list.
  how.compile = FA_COMPILE_LAZY;
  fa::Context context(how);
  fa::Plan plan(context, problem);
  EXPECT_EQ(plan.info().cache, FA_CACHE_HIT);
  EXPECT_EQ(plan.enqueue(nullptr, longDecode), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(counter.compiled, 1);
}

TEST(LazyContext, RefusesAnotherMode) {
  faContextOptions how = fa::contextOptions("cpu");
  how.compile = static_cast<faCompileMode>(3);
  EXPECT_FALSE(fa::Context(how));
  EXPECT_STREQ(fa::lastError(),
               "faContextOptions: expected compile between 0 and 2, found 3");
  // On the CPU all is compiled when the plan is created.
  how.compile = FA_COMPILE_LAZY;
  how.threads = 1;
  Counter counter;
  counter.addTo(how);
  fa::Context context(how);
  fa::Plan plan(context, fa::attention(FA_F32, 16));
  EXPECT_EQ(counter.compiled, 1);
  auto t = fa::tensor(nullptr, FA_F32, {1, 2, 20, 16});
  EXPECT_EQ(plan.prepare(std::vector{t, t, t, fa::scalar(0.25f), t}),
            FA_SUCCESS)
      << fa::lastError();
}

INSTANTIATE_TEST_SUITE_P(Vendors, Lazy, testing::Values(&cuda, &hip),
                         [](const auto &info) { return info.param->target; });
INSTANTIATE_TEST_SUITE_P(Vendors, LazyCache, testing::Values(&cuda, &hip),
                         [](const auto &info) { return info.param->target; });
