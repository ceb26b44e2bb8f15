//===- LazyAssemblerTest.cpp - kernels compiled behind launches -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "LazyLaunches.h"

#include "gtest/gtest.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

/// What names the folder to a process that a test runs.
constexpr const char *kFolder = "FA_LAZY_ASSEMBLER";

/// An assembler that fails or takes its time if it is told so.
class LazyAssembler : public testing::Test {
protected:
  void SetUp() override {
    *fakeDriver() = FakeDriver();
    char name[] = "/tmp/fa-lazy-XXXXXX";
    const char *given = std::getenv(kFolder);
    folder = given ? given : mkdtemp(name);
    std::string program = folder + "/ptxas";
    std::ofstream(program)
        << "#!/bin/sh\n"
           "case \"$*\" in *--version*) echo 'release 12.9, V12'; exit;; esac\n"
           "cd "
        << folder
        << "\n[ -e waits ] && echo $$ > waits\necho run >> runs\n"
           "[ -e fails ] && { echo broken; exit 1; }\n"
           "[ -e waits ] && exec sleep 60\n"
           "while [ \"$1\" != -o ]; do shift; done\ncp /bin/true \"$2\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options = fa::contextOptions("cuda");
    options.driver = FA_FAKE_DRIVER;
    options.ptxas = path.assign(program).c_str();
    options.compile = FA_COMPILE_BACKGROUND;
    options.user = this;
    // Once the first kernel is compiled, the assembler is as `then` says.
    options.progress = [](void *user, const char *phase) -> int32_t {
      auto &self = *static_cast<LazyAssembler *>(user);
      if (std::string(phase) == "load" && !self.then.empty())
        std::ofstream(self.folder + "/" + self.then);
      return 0;
    };
  }
  void TearDown() override {
    EXPECT_EQ(fakeDriver()->numModules, 0);
    std::filesystem::remove_all(folder);
  }

  /// Waits until the assembler ran so often.
  void waitForRuns(int64_t number) const {
    for (int wait = 0; wait < 6000; ++wait) {
      std::ifstream runs(folder + "/runs");
      std::string line;
      int64_t found = 0;
      while (std::getline(runs, line))
        ++found;
      if (found >= number)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "expected " << number << " runs of the assembler";
  }

  std::string folder, path, then;
  faContextOptions options;
};

} // namespace

/// What failed behind is told to the launch that needs it; the next one tries
/// again.
TEST_F(LazyAssembler, TellsWhatFailedBehind) {
  then = "fails";
  fa::Context context(options);
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  ASSERT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
  waitForRuns(plan.info().numKernels);
  then = "";
  std::filesystem::remove(folder + "/fails");
  EXPECT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(plan.enqueue(nullptr, decode), FA_ERROR_COMPILE);
  EXPECT_NE(std::string(fa::lastError()).find("broken"), std::string::npos)
      << fa::lastError();
  EXPECT_EQ(fakeDriver()->numLaunches, 2u);
  EXPECT_EQ(plan.enqueue(nullptr, decode), FA_SUCCESS) << fa::lastError();
  // One that fails while a launch waits for it.
  std::ofstream(folder + "/fails");
  fa::Plan other(context, fa::attention(FA_BF16, 64));
  auto launch = prefill;
  for (size_t n : {0, 1, 2, 4})
    launch[n].value.type = FA_BF16;
  EXPECT_EQ(other.enqueue(nullptr, launch), FA_ERROR_COMPILE);
}

/// Neither waits for a minute.
TEST_F(LazyAssembler, EndsWithWorkPending) {
  then = "waits";
  auto begin = std::chrono::steady_clock::now();
  {
    fa::Context context(options);
    fa::Plan plan(context, problem);
    ASSERT_TRUE(plan) << fa::lastError();
    ASSERT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
    waitForRuns(2);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
}

/// A forked process has no thread that compiles: it ends, and says so.
TEST_F(LazyAssembler, ForksWithWorkPending) {
  then = "waits";
  fa::Context context(options);
  fa::Plan plan(context, problem);
  ASSERT_TRUE(plan) << fa::lastError();
  ASSERT_EQ(plan.enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
  waitForRuns(2);
  pid_t child = fork();
  if (!child) {
    alarm(30); // by which it ends where it waits for ever
    bool right = true;
    for (uint32_t n = 0; n < 2; ++n)
      right &= plan.enqueue(nullptr, decode) == FA_ERROR_DEVICE &&
               std::string(fa::lastError()).find("a forked process") !=
                   std::string::npos;
    {
      fa::Plan ends(std::move(plan));
    }
    {
      fa::Context ends(std::move(context));
    }
    _exit(right ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

/// Runs when it is asked for: a program that ends without destroying anything.
TEST_F(LazyAssembler, DISABLED_EndsAsItIs) {
  then = "waits";
  auto *context = new fa::Context(options);
  auto *plan = new fa::Plan(*context, problem);
  ASSERT_EQ(plan->enqueue(nullptr, prefill), FA_SUCCESS) << fa::lastError();
  waitForRuns(2);
  std::exit(HasFailure() ? 1 : 42);
}

/// What such a program uses is there as long as the thread is, and the
/// assembler ends with it.
TEST_F(LazyAssembler, ExitsWithWorkPending) {
  setenv(kFolder, folder.c_str(), /*overwrite=*/1);
  pid_t child = fork();
  if (!child) {
    alarm(60);
    execl("/proc/self/exe", "test", "--gtest_brief=1",
          "--gtest_also_run_disabled_tests",
          "--gtest_filter=LazyAssembler.DISABLED_EndsAsItIs", nullptr);
    _exit(1);
  }
  unsetenv(kFolder);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  pid_t assembler = 0;
  std::ifstream(folder + "/waits") >> assembler;
  ASSERT_GT(assembler, 0);
  EXPECT_NE(kill(assembler, 0), 0);
}
