//===- CudaCApiTest.cpp - the C interface on a driver that records --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "SignalHandlers.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace {

faContextOptions options(const char *target) {
  faContextOptions result = fa::contextOptions(target);
  result.driver = FA_FAKE_DRIVER;
  result.ptxas = "none";
  return result;
}

void expectError(faStatus found, faStatus expected, const char *message) {
  EXPECT_EQ(found, expected);
  std::string text = fa::lastError();
  EXPECT_NE(text.find(message), std::string::npos) << text;
}

class CudaCApi : public testing::Test {
protected:
  void SetUp() override { *fakeDriver() = FakeDriver(); }
  void TearDown() override {
    EXPECT_EQ(fakeDriver()->numModules, 0);
    EXPECT_EQ(fakeDriver()->retained[1], 0);
  }

  static std::vector<fa::Argument> arguments() {
    alignas(16) static char memory[64];
    auto t = fa::tensor(memory, FA_F16, {1, 2, 256, 64});
    return {t, t, t, fa::scalar(0.125f), t};
  }
};

} // namespace

TEST_F(CudaCApi, CompilesForTheCardAndEnqueues) {
  fakeDriver()->capability[1] = 89;
  fa::Context context(options("cuda:1"));
  ASSERT_TRUE(context) << fa::lastError();
  fa::Plan plan(context, fa::attention(FA_F16, 64));
  ASSERT_TRUE(plan) << fa::lastError();
  std::string text = plan.describe();
  for (const char *expected : {"\"target\":\"cuda\"", "\"arch\":\"sm_89\"",
                               "\"registers\":123", "\"block\":128"})
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  size_t before = fakeDriver()->numCalls;
  int stream = 0;
  EXPECT_EQ(plan.enqueue(&stream, arguments()), FA_SUCCESS) << fa::lastError();
  ASSERT_EQ(fakeDriver()->numCalls, before + 3);
  EXPECT_STREQ(fakeDriver()->calls[before + 1], "cuLaunchKernel");
  EXPECT_STREQ(fakeDriver()->launch.kernel, "attention");
  EXPECT_EQ(fakeDriver()->launch.stream, &stream);
  EXPECT_EQ(fakeDriver()->launch.card, 1);
}

/// Plans of two cards, in turns on one thread: each goes to its own, whatever
/// was used last, and each card has its own code.
TEST_F(CudaCApi, TwoCardsInTurns) {
  fakeDriver()->capability[1] = 89;
  fa::Context contexts[] = {fa::Context(options("cuda:0")),
                            fa::Context(options("cuda:1"))};
  ASSERT_TRUE(contexts[0] && contexts[1]) << fa::lastError();
  fa::Plan plans[] = {fa::Plan(contexts[0], fa::attention(FA_F16, 64)),
                      fa::Plan(contexts[1], fa::attention(FA_F16, 64))};
  ASSERT_TRUE(plans[0] && plans[1]) << fa::lastError();
  EXPECT_NE(std::string(plans[0].describe()).find("\"arch\":\"sm_80\""),
            std::string::npos);
  EXPECT_NE(std::string(plans[1].describe()).find("\"arch\":\"sm_89\""),
            std::string::npos);
  int streams[2];
  void *own = fakePushOwnContext();
  for (int card : {0, 1, 1, 0, 1}) {
    EXPECT_EQ(plans[card].enqueue(&streams[card], arguments()), FA_SUCCESS)
        << fa::lastError();
    EXPECT_EQ(fakeDriver()->launch.card, card);
    EXPECT_EQ(fakeDriver()->launch.stream, &streams[card]);
    EXPECT_EQ(fakeCurrentContext(), own);
  }
}

/// faPlanLaunch waits for the stream that it used.
TEST_F(CudaCApi, LaunchWaits) {
  fa::Context context(options("cuda"));
  fa::Plan plan(context, fa::attention(FA_F16, 64));
  ASSERT_TRUE(plan) << fa::lastError();
  size_t before = fakeDriver()->numCalls;
  EXPECT_EQ(plan.launch(arguments()), FA_SUCCESS) << fa::lastError();
  ASSERT_EQ(fakeDriver()->numCalls, before + 6);
  EXPECT_STREQ(fakeDriver()->calls[before + 1], "cuLaunchKernel");
  EXPECT_STREQ(fakeDriver()->calls[before + 4], "cuStreamSynchronize");
  auto wrong = arguments();
  wrong.pop_back();
  expectError(plan.launch(wrong), FA_ERROR_INVALID_ARGUMENT,
              "expected 5 arguments, found 4");
}

/// Offsets of packed sequences are the kernel's to read: a launch finds its
/// grid from sizes, of addresses that no host could read.
TEST_F(CudaCApi, LaunchesPackedSequencesUnseen) {
  fa::Context context(options("cuda"));
  faAttentionDesc desc = fa::attention(FA_F16, 64);
  desc.hasOffsets = desc.hasKeyOffsets = 1;
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  auto *far = reinterpret_cast<void *>(uintptr_t(4096));
  auto q = fa::tensor(far, FA_F16, {4, 1000, 64}),
       k = fa::tensor(far, FA_F16, {2, 3000, 64}),
       offsets = fa::tensor(far, FA_I32, {9});
  std::vector<fa::Argument> packed = {
      q, k, k, offsets, offsets, fa::scalar(0.125f), q};
  size_t before = fakeDriver()->numCalls;
  int stream = 0;
  EXPECT_EQ(plan.enqueue(&stream, packed), FA_SUCCESS) << fa::lastError();
  ASSERT_EQ(fakeDriver()->numCalls, before + 3); // no copy, and no wait
  EXPECT_STREQ(fakeDriver()->calls[before + 1], "cuLaunchKernel");
  // 1000 / 128 + 8 slots of 4 heads.
  EXPECT_EQ(fakeDriver()->launch.grid, (7u + 8) * 4);
  packed[4] = fa::tensor(far, FA_I32, {8});
  expectError(plan.enqueue(&stream, packed), FA_ERROR_INVALID_ARGUMENT,
              "expected size 9 in dimension 0 as in dimension 0 of argument 3, "
              "found 8");
  packed[3] = packed[4] = fa::tensor(far, FA_I32, {1});
  expectError(plan.enqueue(&stream, packed), FA_ERROR_INVALID_ARGUMENT,
              "expected at least 2 in dimension 0, found 1");
  // Keys that are padded are one batch less than there are offsets.
  desc.hasKeyOffsets = 0;
  fa::Plan mixed(context, desc);
  ASSERT_TRUE(mixed) << fa::lastError();
  auto padded = fa::tensor(far, FA_F16, {8, 2, 300, 64});
  packed = {q, padded, padded, offsets, fa::scalar(0.125f), q};
  EXPECT_EQ(mixed.enqueue(&stream, packed), FA_SUCCESS) << fa::lastError();
  packed[1] = packed[2] = fa::tensor(far, FA_F16, {9, 2, 300, 64});
  expectError(mixed.enqueue(&stream, packed), FA_ERROR_INVALID_ARGUMENT,
              "expected one more than dimension 0 of argument 1, 10, in "
              "dimension 0, found 9");
}

/// With workspace, few queries are two kernels on one stream.
TEST_F(CudaCApi, SplitsKeysInWorkspace) {
  fakeDriver()->capability[1] = 89;
  fa::Context context(options("cuda:1"));
  ASSERT_TRUE(context) << fa::lastError();
  fa::Plan plan(context, fa::attention(FA_F16, 64));
  ASSERT_TRUE(plan) << fa::lastError();
  alignas(16) static char memory[64];
  auto q = fa::tensor(memory, FA_F16, {1, 8, 1, 64}),
       k = fa::tensor(memory, FA_F16, {1, 1, 2048, 64});
  std::vector<fa::Argument> decode = {q, k, k, fa::scalar(0.125f), q};
  faLaunchInfo info = plan.launchInfo(decode);
  ASSERT_EQ(info.size, sizeof info) << fa::lastError();
  EXPECT_EQ(info.numKernels, 2u);
  EXPECT_EQ(info.splits, 16);
  EXPECT_EQ(info.workspaceSize, 16u * 8 * (64 + 2) * 4);
  int stream = 0;
  EXPECT_EQ(plan.enqueue(&stream, memory, info.workspaceSize, decode),
            FA_SUCCESS)
      << fa::lastError();
  EXPECT_EQ(fakeDriver()->numLaunches, 2u);
  EXPECT_STREQ(fakeDriver()->lastLaunch.kernel, "attention_decode_split");
  EXPECT_STREQ(fakeDriver()->launch.kernel, "attention_decode_merge");
  EXPECT_EQ(fakeDriver()->launch.stream, &stream);
  expectError(plan.enqueue(&stream, memory, 16, decode),
              FA_ERROR_INVALID_ARGUMENT,
              "expected a workspace of 33792 bytes, found 16");
  // Without workspace, and where queries are many: one.
  EXPECT_EQ(plan.enqueue(&stream, decode), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(fakeDriver()->numLaunches, 3u);
  EXPECT_EQ(plan.launchInfo(arguments()).numKernels, 1u);
  EXPECT_EQ(plan.launchInfo(arguments()).workspaceSize, 0u);
}

/// A plan of a known launch has the kernels that it may run, on the same card
/// and by the same rule; other launches run if these take them.
TEST_F(CudaCApi, CompilesForOneLaunch) {
  fakeDriver()->capability[1] = 89;
  fa::Context context(options("cuda:1"));
  ASSERT_TRUE(context) << fa::lastError();
  alignas(16) static char memory[64];
  auto decodeOf = [&](int64_t count, void *at) {
    auto q = fa::tensor(at, FA_F16, {1, 8, 1, 64}),
         k = fa::tensor(at, FA_F16, {1, 1, count, 64});
    return std::vector<fa::Argument>{q, k, k, fa::scalar(0.125f), q};
  };
  faAttentionDesc desc = fa::attention(FA_F16, 64);
  fa::Plan prefill(context, desc, arguments());
  ASSERT_TRUE(prefill) << fa::lastError();
  EXPECT_EQ(prefill.info().numKernels, 1u);
  EXPECT_STREQ(prefill.kernel(0).name, "attention");
  EXPECT_EQ(prefill.enqueue(nullptr, arguments()), FA_SUCCESS);
  // It takes one query, too, but not what lies elsewhere than was said.
  EXPECT_EQ(prefill.enqueue(nullptr, decodeOf(64, memory)), FA_SUCCESS);
  expectError(prefill.enqueue(nullptr, decodeOf(64, memory + 2)),
              FA_ERROR_INVALID_ARGUMENT,
              "argument 0: expected an address that is a multiple of 16");
  fa::Plan decode(context, desc, decodeOf(64, nullptr));
  EXPECT_EQ(decode.info().numKernels, 1u);
  EXPECT_STREQ(decode.kernel(0).name, "attention_decode");
  expectError(decode.enqueue(nullptr, arguments()), FA_ERROR_INVALID_ARGUMENT,
              "expected size 1 in dimension 2, found 256");
  fa::Plan split(context, desc, decodeOf(2048, nullptr));
  EXPECT_EQ(split.info().numKernels, 3u);
  EXPECT_EQ(split.launchInfo(decodeOf(2048, memory)).splits, 16);
  // 55 programs of 108 multiprocessors are split only where each holds two.
  auto q = fa::tensor(nullptr, FA_F16, {55, 8, 1, 64}),
       k = fa::tensor(nullptr, FA_F16, {55, 1, 2048, 64});
  std::vector<fa::Argument> many{q, k, k, fa::scalar(0.125f), q};
  fa::Plan two(context, desc, many);
  ASSERT_TRUE(two) << fa::lastError();
  EXPECT_EQ(two.info().numKernels, 3u);
  // Any launch, and two that are none.
  EXPECT_EQ(fa::Plan(context, desc).info().numKernels, 8u);
  faArgument none = {};
  faPlan refused;
  desc.launch = &none;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &refused),
              FA_ERROR_INVALID_ARGUMENT, "expected 5 arguments, found 0");
  desc.launch = nullptr;
  desc.launchCount = 5;
  expectError(faPlanCreateFromAttention(context.get(), &desc, &refused),
              FA_ERROR_INVALID_ARGUMENT,
              "launch: expected 5 arguments, found null");
}

/// What keeps a launch from a faster variant is said once a plan; that there
/// are variants for other sizes is not.
TEST_F(CudaCApi, NotesASlowerVariantOnce) {
  fakeDriver()->capability[0] = 89;
  std::vector<std::string> notes;
  faContextOptions how = options("cuda");
  how.user = &notes;
  how.log = [](void *user, faLogLevel level, const char *message) {
    EXPECT_EQ(level, FA_LOG_NOTE);
    static_cast<std::vector<std::string> *>(user)->emplace_back(message);
  };
  fa::Context context(how);
  ASSERT_TRUE(context) << fa::lastError();
  alignas(16) static char memory[64];
  auto launchOf = [&](int64_t queries, int64_t headStep, void *at) {
    auto q = fa::tensor(at, FA_F16, {1, 8, queries, 64}),
         k = fa::tensor(at, FA_F16, {1, 1, 256, 64});
    q.strides = {8 * headStep, headStep, 64, 1};
    return std::vector<fa::Argument>{q, k, k, fa::scalar(0.125f), q};
  };
  faAttentionDesc desc = fa::attention(FA_F16, 64);
  fa::Plan plan(context, desc);
  ASSERT_TRUE(plan) << fa::lastError();
  auto enqueue = [&](fa::Plan &on, const std::vector<fa::Argument> &arguments) {
    EXPECT_EQ(on.enqueue(nullptr, arguments), FA_SUCCESS) << fa::lastError();
  };
  for (int64_t queries : {1, 4, 256})
    enqueue(plan, launchOf(queries, 64 * queries, memory));
  EXPECT_TRUE(notes.empty()) << notes.front();
  for (int repeat = 0; repeat < 2; ++repeat)
    enqueue(plan, launchOf(256, 64 * 256, memory + 2));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes.back(),
            "@attention_strided runs, for @attention, which is faster, does "
            "not take these arguments: argument 0: expected an address that is "
            "a multiple of 16");
  enqueue(plan, launchOf(4, 64 * 5, memory));
  EXPECT_EQ(notes.size(), 1u);
  // Gaps keep no launch from packed rows. Steps, of a plan for such a launch
  // alone.
  fa::Plan gaps(context, desc);
  enqueue(gaps, launchOf(4, 64 * 5, memory));
  ASSERT_EQ(notes.size(), 1u);
  fa::Plan one(context, desc, launchOf(256, 64 * 256 + 1, memory));
  ASSERT_TRUE(one) << fa::lastError();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes.back().find("argument 0: expected steps of multiples of 16 "
                              "bytes in dimension 1, found 32770"),
            std::string::npos)
      << notes.back();
  enqueue(one, launchOf(256, 64 * 256 + 1, memory));
  EXPECT_EQ(notes.size(), 2u);
}

/// The assembler runs as a process: no handler and no alarm of the host
/// program's is touched, and it ends when it is cancelled.
TEST_F(CudaCApi, TheAssemblerIsAGuest) {
  auto before = signalHandlers();
  faContextOptions how = options("cuda");
  how.ptxas = nullptr; // the one on PATH
  {
    fa::Context context(how);
    fa::Plan plan(context, fa::attention(FA_F16, 64));
    ASSERT_TRUE(plan) << fa::lastError();
    faPlanInfo info{};
    info.size = sizeof info;
    ASSERT_EQ(faPlanGetInfo(plan.get(), &info), FA_SUCCESS);
    EXPECT_STRNE(info.assembler, "");
    EXPECT_GT(info.assemblerMs, 0);
  }
  EXPECT_EQ(signalHandlers(), before);
  // The second time that it is asked, the assembler is under way.
  static int asked;
  asked = 0;
  how.progress = [](void *, const char *phase) -> int32_t {
    return std::string(phase) == "assembly" && asked++ == 1;
  };
  fa::Context context(how);
  EXPECT_FALSE(fa::Plan(context, fa::attention(FA_F16, 64)));
  EXPECT_STREQ(fa::lastError(), "the compilation was cancelled");
}

TEST_F(CudaCApi, SaysWhatIsMissing) {
  faContext context = nullptr;
  auto create = [&](const faContextOptions &how) {
    return faContextCreate(&how, &context);
  };
  expectError(create(options("gpu")), FA_ERROR_INVALID_ARGUMENT,
              "'gpu' is not a target of this build, expected cpu, cuda, "
              "cuda:N, hip or hip:N");
  expectError(create(options("cuda:7")), FA_ERROR_DEVICE, "no card 7: found 2");
  faContextOptions how = options("cuda");
  how.driver = "/nonexistent/libcuda.so.1";
  expectError(create(how), FA_ERROR_DEVICE, "the NVIDIA driver is not there");
  fakeDriver()->capability[0] = 75;
  expectError(create(options("cuda")), FA_ERROR_DEVICE,
              "Fake GPU 0 has compute capability 7.5, expected 8.0 or more");
  EXPECT_EQ(context, nullptr);
}

/// A program that was built before `target` was added has a plan of the CPU.
TEST_F(CudaCApi, OlderCallersRunOnTheHost) {
  faContextOptions how = options("cuda");
  how.size = offsetof(faContextOptions, target);
  faContext context = nullptr;
  ASSERT_EQ(faContextCreate(&how, &context), FA_SUCCESS) << fa::lastError();
  faAttentionDesc desc = fa::attention(FA_F32, 64);
  faPlan plan = nullptr;
  ASSERT_EQ(faPlanCreateFromAttention(context, &desc, &plan), FA_SUCCESS);
  expectError(faPlanEnqueue(plan, nullptr, nullptr, 0),
              FA_ERROR_INVALID_ARGUMENT,
              "expected a plan of a card, found one of the CPU");
  EXPECT_EQ(fakeDriver()->numCalls, 0u);
  faPlanDestroy(plan);
  faContextDestroy(context);
}

/// A tuning table decides for a launch of its class, and for no other plan; one
/// that cannot be read says so before anything else happens.
TEST_F(CudaCApi, TakesWhatATuningTableSays) {
  std::string path = testing::TempDir() + "/fa-tuning.json";
  auto write =
      [&](const char *assembler, const char *arch, int tile = 64) {
        std::ofstream(path)
            << R"({"flashtile_tuning": 2, "entries": [{"arch": ")" << arch
            << R"(", "assembler": ")" << assembler << R"(", "problem": )"
            << R"("b=1 hq=1 hkv=1 sq=256 sk=256 d=64 dv=64 type=f16", )"
            << R"("asked": "tile=64x32", "plans": ["@attention plan<tile )"
            << tile << R"(x32, partitions [all w4], slots {step 3}>"], )"
            << R"("ms": 1, "rules_ms": 1, "device": ""}]})";
      };
  write("driver", "sm_80");
  static std::string said;
  said.clear();
  faContextOptions how = options("cuda:0");
  how.tuning = path.c_str();
  how.log = [](void *, faLogLevel, const char *message) { said = message; };
  auto tileOf = [](const fa::Plan &plan) {
    faKernelInfo info{};
    info.size = sizeof info;
    faPlanGetKernelInfo(plan.get(), 0, &info);
    return std::to_string(info.tileQ) + "x" + std::to_string(info.tileKv) +
           " " + std::to_string(info.stages);
  };
  faAttentionDesc desc = fa::attention(FA_F16, 64);
  {
    fa::Context context(how);
    ASSERT_TRUE(context) << fa::lastError();
    fa::Plan tuned(context, desc, arguments()), any(context, desc);
    ASSERT_TRUE(tuned && any) << fa::lastError();
    EXPECT_EQ(tileOf(tuned), "64x32 3");
    desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
    fa::Plan other(context, desc, arguments());
    EXPECT_EQ(tileOf(other), "128x64 2");
    EXPECT_EQ(said, "");
  }
  // A plan that the kernels do not have is said, and the rules choose.
  write("driver", "sm_80", /*tile=*/128);
  desc.causal = FA_CAUSAL_NONE;
  {
    fa::Context context(how);
    ASSERT_TRUE(context) << fa::lastError();
    fa::Plan plan(context, desc, arguments());
    ASSERT_TRUE(plan) << fa::lastError();
    EXPECT_EQ(tileOf(plan), "128x64 2");
    EXPECT_NE(said.find("type=f16 is not used: "), std::string::npos) << said;
    EXPECT_NE(said.find("expected the kernel's tile, 64x32, found 128x32"),
              std::string::npos)
        << said;
  }
  write("12.9", "sm_80");
  {
    fa::Context context(how);
    ASSERT_TRUE(context) << fa::lastError();
    EXPECT_NE(said.find("measured with assembler 12.9, found driver"),
              std::string::npos)
        << said;
    desc.causal = FA_CAUSAL_NONE;
    fa::Plan plan(context, desc, arguments());
    EXPECT_EQ(tileOf(plan), "128x64 2");
  }
  write("driver", "sm_70");
  faContext none = nullptr;
  expectError(faContextCreate(&how, &none), FA_ERROR_INVALID_ARGUMENT,
              "entries[0].arch: expected sm_80, ");
  std::remove(path.c_str());
}
