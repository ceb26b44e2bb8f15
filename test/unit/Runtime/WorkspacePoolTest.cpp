//===- WorkspacePoolTest.cpp - workspace that a context has ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>

namespace {

/// One query a head on many keys, which splits keys where there is workspace.
std::vector<fa::Argument> decodeOf(int64_t batch, int64_t keys = 2048) {
  alignas(16) static char memory[64];
  auto q = fa::tensor(memory, FA_F16, {batch, 8, 1, 64}),
       k = fa::tensor(memory, FA_F16, {batch, 1, keys, 64});
  return {q, k, k, fa::scalar(0.125f), q};
}

/// A context with a pool on a driver that records, and a plan of decodes.
class WorkspacePool : public testing::Test {
protected:
  void SetUp() override {
    *fakeDriver() = FakeDriver();
    *fakeHip() = FakeDriver();
    // q, k, v, the scale, the output, then the first tensor of the workspace.
    fakeDriver()->numWords = inWorkspace + 1;
  }
  /// What the context took, it gives back.
  void TearDown() override {
    plan.reset();
    context.reset();
    EXPECT_EQ(fakeDriver()->numBlocks, 0);
    EXPECT_EQ(fakeHip()->numBlocks, 0);
  }

  void create(uint64_t poolBytes, bool isTold = true) {
    faContextOptions options = fa::contextOptions("cuda");
    options.driver = FA_FAKE_DRIVER;
    options.ptxas = "none";
    options.workspacePoolBytes = poolBytes;
    options.user = &notes;
    if (isTold)
      options.log = [](void *user, faLogLevel level, const char *message) {
        EXPECT_EQ(level, FA_LOG_NOTE);
        static_cast<std::vector<std::string> *>(user)->emplace_back(message);
      };
    context.emplace(options);
    ASSERT_TRUE(*context) << fa::lastError();
    plan.emplace(*context, fa::attention(FA_F16, 64), decodeOf(1));
    ASSERT_TRUE(*plan) << fa::lastError();
  }

  /// The kernels since the last call, and where the last one's workspace is.
  std::string kernels() {
    std::string text;
    for (; seen < fakeDriver()->numLaunches; ++seen)
      text += std::string(text.empty() ? "" : " ") + fakeLaunched(seen);
    return text;
  }
  static int64_t workspace() { return fakeDriver()->launch.words[inWorkspace]; }

  /// Enqueues, expects that keys are split, and says in which memory.
  int64_t enqueue(void *stream, int64_t batch = 1) {
    EXPECT_EQ(plan->enqueue(stream, decodeOf(batch)), FA_SUCCESS)
        << fa::lastError();
    EXPECT_EQ(kernels(), split);
    EXPECT_EQ(fakeDriver()->launch.stream, stream);
    return workspace();
  }
  /// The same without workspace.
  void enqueueUnsplit(void *stream, int64_t batch = 1) {
    EXPECT_EQ(plan->enqueue(stream, decodeOf(batch)), FA_SUCCESS)
        << fa::lastError();
    EXPECT_EQ(kernels(), "attention_decode");
  }

  static constexpr size_t inWorkspace = 3 + 3 * 9 + 1 + 9;
  static constexpr const char *split =
      "attention_decode_split attention_decode_merge";
  std::vector<std::string> notes;
  std::optional<fa::Context> context;
  std::optional<fa::Plan> plan;
  size_t seen = 0;
};

} // namespace

/// faPlanEnqueue, faPlanEnqueueWith without workspace and faPlanLaunch split
/// keys as faPlanEnqueueWith does that is given workspace.
TEST_F(WorkspacePool, EveryEntrySplits) {
  create(1 << 20);
  int stream = 0;
  EXPECT_NE(enqueue(&stream), 0);
  EXPECT_EQ(plan->enqueue(&stream, nullptr, 0, decodeOf(1)), FA_SUCCESS);
  EXPECT_EQ(kernels(), split);
  EXPECT_EQ(fakeDriver()->numBlocks, 1);
  EXPECT_EQ(plan->launch(decodeOf(1)), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(kernels(), split);
  EXPECT_EQ(fakeDriver()->numBlocks, 2);
  // The caller's is preferred.
  alignas(16) static char own[33792];
  EXPECT_EQ(plan->enqueue(&stream, own, sizeof own, decodeOf(1)), FA_SUCCESS);
  EXPECT_EQ(kernels(), split);
  EXPECT_EQ(workspace(), reinterpret_cast<intptr_t>(own));
  EXPECT_EQ(fakeDriver()->numBlocks, 2);
  // A launch that wants none asks for none.
  size_t before = fakeDriver()->numCalls;
  EXPECT_EQ(plan->enqueue(&stream, decodeOf(1, 64)), FA_SUCCESS);
  EXPECT_EQ(kernels(), "attention_decode");
  EXPECT_EQ(fakeDriver()->numCalls, before + 3);
  EXPECT_TRUE(notes.empty()) << notes.front();
}

/// What a stream has is used again, and stays when more is wanted: launches
/// under way may use it.
TEST_F(WorkspacePool, GrowsAndFreesNothing) {
  create(64 << 20);
  int streams[2];
  int64_t first = enqueue(&streams[0]);
  EXPECT_EQ(enqueue(&streams[0]), first);
  int64_t other = enqueue(&streams[1]);
  EXPECT_NE(other, first);
  ASSERT_GT(plan->launchInfo(decodeOf(16)).workspaceSize, 64u * 1024);
  int64_t larger = enqueue(&streams[0], 16);
  EXPECT_NE(larger, first);
  EXPECT_EQ(enqueue(&streams[0]), larger);
  EXPECT_EQ(enqueue(&streams[1]), other);
  EXPECT_EQ(fakeDriver()->numBlocks, 3);
  // No byte of one is in another.
  EXPECT_GE(std::abs(first - other), 64 * 1024);
}

/// One handle stands for a stream of each thread's own.
TEST_F(WorkspacePool, KnowsTheStreamOfEachThread) {
  create(1 << 20);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void *perThread = reinterpret_cast<void *>(uintptr_t(2));
  int64_t mine = enqueue(perThread), others = 0;
  std::thread([&] { others = enqueue(perThread); }).join();
  EXPECT_NE(mine, others);
  EXPECT_EQ(enqueue(perThread), mine);
}

/// A capture has memory of its own, which is taken without breaking it.
TEST_F(WorkspacePool, SplitsInCaptures) {
  create(64 << 20);
  int stream = 0;
  int64_t before = enqueue(&stream);
  std::set<int64_t> memory = {before};
  for (int capture = 0; capture < 2; ++capture) {
    fakeCapture(&stream);
    int64_t captured = enqueue(&stream);
    EXPECT_EQ(enqueue(&stream), captured);
    int64_t larger = enqueue(&stream, 16);
    EXPECT_EQ(fakeDriver()->capturing, &stream) << "the capture was broken";
    fakeCapture(nullptr);
    memory.insert({captured, larger});
  }
  EXPECT_EQ(memory.size(), 5u);
  EXPECT_EQ(enqueue(&stream), before);
  // Another stream takes its first workspace while this one is captured.
  fakeCapture(&stream);
  int other = 0;
  memory.insert(enqueue(&other));
  EXPECT_EQ(memory.size(), 6u);
  EXPECT_EQ(fakeDriver()->capturing, &stream) << "the capture was broken";
  // And a context goes.
  plan.reset();
  context.reset();
  EXPECT_EQ(fakeDriver()->capturing, &stream) << "the capture was broken";
  EXPECT_TRUE(notes.empty()) << notes.front();
}

/// Beyond its bytes there is no more, which is said once; what there is stays
/// in use.
TEST_F(WorkspacePool, TakesNoMoreThanItMay) {
  create(100 << 10);
  int streams[3];
  int64_t first = enqueue(&streams[0]);
  // 36 KiB are left, of the 64 that a stream has at first.
  int64_t second = enqueue(&streams[1]);
  for (int repeat = 0; repeat < 2; ++repeat)
    enqueueUnsplit(&streams[2]);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes.front(),
            "@attention_decode runs, for @attention_decode_split in 16 splits, "
            "which is faster, has no workspace of 33792 bytes: the context's "
            "pool has 0 of 102400 bytes left");
  EXPECT_EQ(enqueue(&streams[0]), first);
  EXPECT_EQ(enqueue(&streams[1]), second);
  EXPECT_EQ(fakeDriver()->numBlocks, 2);
}

/// A driver that gives no memory, or does not say what is captured, is a note.
TEST_F(WorkspacePool, SaysWhyThereIsNone) {
  create(1 << 20);
  int stream = 0;
  fakeDriver()->failing = "cuMemAlloc_v2";
  fakeDriver()->failure = 2;
  enqueueUnsplit(&stream);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("has no workspace of 33792 bytes: cannot "
                               "allocate 65536 bytes on Fake GPU 0: "
                               "CUDA_ERROR_OUT_OF_MEMORY (2), out of memory"),
            std::string::npos)
      << notes.front();
  fakeDriver()->failing = "cuStreamGetCaptureInfo";
  fakeDriver()->failure = 906;
  enqueueUnsplit(&stream);
  EXPECT_EQ(notes.size(), 1u);
  fakeDriver()->failing = nullptr;
  enqueue(&stream);
}

/// Without a pool, a launch that is given no workspace says so, once a plan.
TEST_F(WorkspacePool, NotesThatThereIsNone) {
  create(0);
  enqueueUnsplit(nullptr);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("33792 bytes: none was given, and "
                               "workspacePoolBytes of the context is 0"),
            std::string::npos)
      << notes.front();
  enqueueUnsplit(nullptr);
  EXPECT_EQ(plan->launch(decodeOf(1)), FA_SUCCESS);
  EXPECT_EQ(notes.size(), 1u);
  // Another plan says so by itself; one whose launches want none does not.
  fa::Plan other(*context, fa::attention(FA_F16, 64), decodeOf(1));
  EXPECT_EQ(other.enqueue(nullptr, decodeOf(1, 64)), FA_SUCCESS);
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(other.enqueue(nullptr, decodeOf(1)), FA_SUCCESS);
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_EQ(fakeDriver()->numBlocks, 0);
}

/// The kernels of a launch stay together, however many threads launch on a
/// stream: its memory is one.
TEST_F(WorkspacePool, ThreadsTakeTurns) {
  create(1 << 20);
  int stream = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat)
        EXPECT_EQ(plan->enqueue(&stream, decodeOf(1)), FA_SUCCESS);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeDriver()->numLaunches, 1600u);
  for (size_t n = 0; n < 1600; n += 2) {
    ASSERT_STREQ(fakeLaunched(n), "attention_decode_split") << n;
    ASSERT_STREQ(fakeLaunched(n + 1), "attention_decode_merge") << n;
  }
  EXPECT_EQ(fakeDriver()->numBlocks, 1);
}

/// Threads take memory for streams of their own at the same time.
TEST_F(WorkspacePool, ThreadsTakeMemory) {
  create(64 << 20);
  int streams[4][50];
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (auto &own : streams)
    threads.emplace_back([&] {
      for (int &stream : own)
        EXPECT_EQ(plan->enqueue(&stream, decodeOf(1)), FA_SUCCESS);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeDriver()->numBlocks, 200);
  EXPECT_EQ(fakeDriver()->numLaunches, 400u);
  EXPECT_TRUE(notes.empty()) << notes.front();
}

/// The same of HIP, whose memory goes back as well.
TEST_F(WorkspacePool, OfHip) {
  faContextOptions options = fa::contextOptions("hip:1");
  options.driver = FA_FAKE_HIP;
  options.workspacePoolBytes = 1 << 20;
  context.emplace(options);
  ASSERT_TRUE(*context) << fa::lastError();
  plan.emplace(*context, fa::attention(FA_F16, 64), decodeOf(1));
  ASSERT_TRUE(*plan) << fa::lastError();
  int stream = 0;
  auto calls = [from = fakeHip()->numCalls]() mutable {
    std::string text;
    for (; from < fakeHip()->numCalls; ++from)
      text += std::string(" ") + fakeHip()->calls[from];
    return text;
  };
  fakeHip()->capturing = &stream;
  EXPECT_EQ(plan->enqueue(&stream, decodeOf(1)), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(fakeHip()->capturing, &stream) << "the capture was broken";
  fakeHip()->capturing = nullptr;
  EXPECT_STREQ(fakeHip()->lastLaunch.kernel, "attention_decode_split");
  EXPECT_STREQ(fakeHip()->launch.kernel, "attention_decode_merge");
  EXPECT_EQ(calls(), " hipGetDevice hipSetDevice hipStreamGetCaptureInfo "
                     "hipThreadExchangeStreamCaptureMode hipMalloc "
                     "hipThreadExchangeStreamCaptureMode hipSetDevice "
                     "hipGetDevice hipSetDevice hipModuleLaunchKernel "
                     "hipModuleLaunchKernel hipSetDevice");
  EXPECT_EQ(fakeHip()->numBlocks, 1);
}
