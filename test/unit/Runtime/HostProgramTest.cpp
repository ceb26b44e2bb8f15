//===- HostProgramTest.cpp - what a host program may count on -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SignalHandlers.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace {

/// What a context reports, and when it is told to stop.
struct Host {
  std::atomic<int> compilations = 0;
  std::string stopAt;
  std::vector<std::string> phases, messages; ///< of one thread
  bool records = true;
  std::atomic<int64_t> allocated = 0, blocks = 0;

  faContextOptions options() {
    faContextOptions result = fa::contextOptions("cpu");
    result.threads = 2;
    result.user = this;
    result.progress = [](void *user, const char *phase) -> int32_t {
      auto &host = *static_cast<Host *>(user);
      host.compilations += !std::strcmp(phase, "fusion");
      if (host.records)
        host.phases.emplace_back(phase);
      return host.stopAt == phase;
    };
    result.log = [](void *user, faLogLevel, const char *message) {
      static_cast<Host *>(user)->messages.emplace_back(message);
    };
    result.allocate = [](void *user, size_t size, size_t alignment) {
      auto &host = *static_cast<Host *>(user);
      host.allocated += static_cast<int64_t>(size);
      ++host.blocks;
      return std::aligned_alloc(alignment, size);
    };
    result.deallocate = [](void *user, void *memory, size_t size) {
      auto &host = *static_cast<Host *>(user);
      host.allocated -= static_cast<int64_t>(size);
      --host.blocks;
      std::free(memory);
    };
    return result;
  }
};

faAttentionDesc smallProblem() { return fa::attention(FA_F32, 16); }

} // namespace

TEST(HostProgram, ProgressAndCancel) {
  Host host;
  fa::Context context(host.options());
  for (const char *phase : {"fusion", "lowering", "optimization", "load"}) {
    host.stopAt = phase;
    faAttentionDesc desc = smallProblem();
    faPlan plan = nullptr;
    EXPECT_EQ(faPlanCreateFromAttention(context.get(), &desc, &plan),
              FA_ERROR_CANCELLED);
    EXPECT_STREQ(fa::lastError(), "the compilation was cancelled");
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(host.phases.back(), phase);
  }
  host.stopAt = "";
  host.phases.clear();
  EXPECT_TRUE(fa::Plan(context, smallProblem())) << fa::lastError();
  EXPECT_EQ(host.phases, (std::vector<std::string>{"fusion", "lowering",
                                                   "optimization", "load"}));
}

/// One compilation, however many threads ask for a problem.
TEST(HostProgram, CompilesOnce) {
  Host host;
  host.records = false;
  fa::Context context(host.options());
  std::vector<std::thread> threads;
  std::vector<fa::Plan> plans;
  std::mutex mutex;
  threads.reserve(16);
  for (int n = 0; n < 16; ++n)
    threads.emplace_back([&] {
      fa::Plan plan(context, smallProblem());
      EXPECT_TRUE(plan) << fa::lastError();
      std::lock_guard lock(mutex);
      plans.push_back(std::move(plan));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(host.compilations, 1);
  // The twin: without a plan that is kept, it is compiled again.
  plans.clear();
  EXPECT_TRUE(fa::Plan(context, smallProblem()));
  EXPECT_EQ(host.compilations, 2);
}

TEST(HostProgram, SaysWhatIsSlow) {
  Host host;
  fa::Context context(host.options());
  EXPECT_TRUE(fa::Plan(context, smallProblem()));
  EXPECT_TRUE(host.messages.empty());
  const char *text = "func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
                     "  %y = math.log1p %x : tensor<4x4xf32>\n"
                     "  return %y : tensor<4x4xf32>\n}\n";
  fa::Plan plan(context, text);
  ASSERT_TRUE(plan) << fa::lastError();
  ASSERT_EQ(host.messages.size(), 1u);
  EXPECT_EQ(host.messages[0], "@f runs unfused, one program on whole tensors, "
                              "slow: no attention was found");
  faKernelInfo kernel{};
  kernel.size = sizeof kernel;
  EXPECT_EQ(faPlanGetKernelInfo(plan.get(), 0, &kernel), FA_SUCCESS);
  EXPECT_EQ(kernel.unfused, 1);
  // The reason, where there is attention.
  text = "!t = tensor<1x2x16x16xf32>\n"
         "func.func @g(%q: !t, %k: !t, %v: !t) -> !t {\n"
         "  %s = tile.dot %q, %k transpose_b : !t, !t -> !t\n"
         "  %p = tile.softmax %s dim 2 : !t\n"
         "  %o = tile.dot %p, %v : !t, !t -> !t\n"
         "  return %o : !t\n}\n";
  EXPECT_TRUE(fa::Plan(context, text)) << fa::lastError();
  ASSERT_EQ(host.messages.size(), 2u);
  EXPECT_NE(host.messages[1].find("the softmax is not over the last dimension"),
            std::string::npos)
      << host.messages[1];
  // What is kernels of tiles, none of them of an attention.
  text = "func.func @h(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
         "  %y = arith.addf %x, %x : tensor<4x4xf32>\n"
         "  return %y : tensor<4x4xf32>\n}\n";
  fa::Plan tiles(context, text);
  ASSERT_TRUE(tiles) << fa::lastError();
  ASSERT_EQ(host.messages.size(), 3u);
  EXPECT_EQ(host.messages[2], "@h runs as kernels with whole tensors between "
                              "them: no attention was found");
  EXPECT_EQ(faPlanGetKernelInfo(tiles.get(), 0, &kernel), FA_SUCCESS);
  EXPECT_EQ(kernel.unfused, 0);
}

TEST(HostProgram, DescribesThePlan) {
  Host host;
  fa::Context context(host.options());
  fa::Plan plan(context, smallProblem());
  faPlanInfo info = plan.info();
  EXPECT_STREQ(info.target, "cpu");
  EXPECT_EQ(info.numKernels, 8u);
  EXPECT_EQ(info.cache, FA_CACHE_OFF);
  EXPECT_GE(info.compileMs, info.passesMs + info.llvmMs - 1);
  faKernelInfo kernel = plan.kernel(6);
  EXPECT_STREQ(kernel.name, "attention");
  EXPECT_GT(kernel.tileQ, 0);
  EXPECT_GE(info.workspaceSize, 2 * static_cast<size_t>(kernel.scratchBytes));
  EXPECT_EQ(faPlanGetKernelInfo(plan.get(), 8, &kernel),
            FA_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(fa::lastError(), "below 8, found 8"), nullptr);
  // An older caller's struct is not written beyond its end.
  faPlanInfo old{};
  std::memset(static_cast<void *>(&old), 7, sizeof old);
  old.size = offsetof(faPlanInfo, arch);
  EXPECT_EQ(faPlanGetInfo(plan.get(), &old), FA_SUCCESS);
  EXPECT_STREQ(old.target, "cpu");
  faPlanInfo untouched;
  std::memset(static_cast<void *>(&untouched), 7, sizeof untouched);
  EXPECT_EQ(old.arch, untouched.arch);
}

/// What the query says is what the caller's allocator is asked for.
TEST(HostProgram, CallersMemory) {
  Host host;
  {
    fa::Context context(host.options());
    fa::Plan plan(context, smallProblem());
    std::vector<float> x(4 * 100 * 16, 1.0f), out(x.size());
    auto t = fa::tensor(x.data(), {1, 4, 100, 16});
    EXPECT_EQ(host.blocks, 0);
    for (int round = 0; round < 3; ++round)
      EXPECT_EQ(plan.launch({t, t, t, fa::scalar(0.3f),
                             fa::tensor(out.data(), {1, 4, 100, 16})}),
                FA_SUCCESS);
    EXPECT_EQ(host.blocks, 2);
    EXPECT_LE(host.allocated,
              static_cast<int64_t>(plan.info().workspaceSize) + 8192);
  }
  EXPECT_EQ(host.blocks, 0);
  EXPECT_EQ(host.allocated, 0);
}

/// Preparing changes no handler and no alarm of the host program's.
TEST(HostProgram, LeavesSignalsAlone) {
  auto before = signalHandlers();
  Host host;
  fa::Context context(host.options());
  EXPECT_TRUE(fa::Plan(context, smallProblem()));
  EXPECT_EQ(signalHandlers(), before);
}

/// Threads prepare, launch and cancel at random; every result that there is, is
/// right.
TEST(HostProgram, ManyThreads) {
  Host host;
  host.records = false;
  faContextOptions options = host.options();
  static std::atomic<unsigned> asked = 0;
  options.progress = [](void *, const char *) -> int32_t {
    return asked++ % 7 == 3;
  };
  fa::Context context(options);
  std::vector<float> x(2 * 20 * 16, 1.0f);
  std::atomic<int> launched = 0, cancelled = 0;
  auto launch = [&](float *out) {
    auto t = fa::tensor(x.data(), {1, 2, 20, 16});
    return std::vector<fa::Argument>{t, t, t, fa::scalar(0.3f),
                                     fa::tensor(out, {1, 2, 20, 16})};
  };
  auto work = [&](unsigned seed) {
    for (int round = 0; round < 2; ++round) {
      faAttentionDesc desc = smallProblem();
      desc.causal = static_cast<faCausal>((seed + round) % 3);
      // Most are for a known launch, which have one kernel to compile.
      fa::Plan plan = seed % 8 ? fa::Plan(context, desc, launch(nullptr))
                               : fa::Plan(context, desc);
      if (!plan) {
        EXPECT_STREQ(fa::lastError(), "the compilation was cancelled");
        ++cancelled;
        continue;
      }
      std::vector<float> out(x.size(), -1);
      EXPECT_EQ(plan.launch(launch(out.data())), FA_SUCCESS);
      for (float value : out) // a mean of ones
        EXPECT_NEAR(value, 1, 1e-6);
      ++launched;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(64);
  for (unsigned n = 0; n < 64; ++n)
    threads.emplace_back(work, n);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(launched, 0);
  EXPECT_GT(cancelled, 0);
}
