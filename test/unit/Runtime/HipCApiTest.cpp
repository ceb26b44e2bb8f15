//===- HipCApiTest.cpp - the C interface on a HIP that records ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "fa/Machine/AmdInfo.h"
#include "fa/Runtime/GpuPlan.h"
#include "fa/fa.hpp"

#include "gtest/gtest.h"

#include <string>

namespace {

faContextOptions options(const char *target) {
  faContextOptions result = fa::contextOptions(target);
  result.driver = FA_FAKE_HIP;
  return result;
}

class HipCApi : public testing::Test {
protected:
  void SetUp() override { *fakeHip() = FakeDriver(); }
  void TearDown() override { EXPECT_EQ(fakeHip()->numModules, 0); }
};

std::string callsSince(size_t from) {
  std::string text;
  for (size_t n = from; n < fakeHip()->numCalls; ++n)
    text += std::string(" ") + fakeHip()->calls[n];
  return text;
}

} // namespace

TEST_F(HipCApi, CompilesForTheCardAndLaunches) {
  fa::Context context(options("hip:1"));
  ASSERT_TRUE(context) << fa::lastError();
  fa::Plan plan(context, fa::attention(FA_F16, 64));
  ASSERT_TRUE(plan) << fa::lastError();
  std::string text = plan.describe();
  for (const char *expected :
       {"\"target\":\"hip\"", "\"arch\":\"gfx942\"", "\"block\":256"})
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  alignas(16) static char memory[64];
  auto t = fa::tensor(memory, FA_F16, {1, 2, 256, 64});
  std::vector<fa::Argument> arguments = {t, t, t, fa::scalar(0.125f), t};
  size_t before = fakeHip()->numCalls;
  int stream = 0;
  EXPECT_EQ(plan.enqueue(&stream, arguments), FA_SUCCESS) << fa::lastError();
  EXPECT_EQ(callsSince(before),
            " hipGetDevice hipSetDevice hipModuleLaunchKernel hipSetDevice");
  EXPECT_STREQ(fakeHip()->launch.kernel, "attention");
  EXPECT_EQ(fakeHip()->launch.stream, &stream);
  EXPECT_EQ(fakeHip()->launch.card, 1);
  // faPlanLaunch waits for the stream that it used.
  before = fakeHip()->numCalls;
  EXPECT_EQ(plan.launch(arguments), FA_SUCCESS) << fa::lastError();
  EXPECT_NE(callsSince(before).find("hipStreamSynchronize"), std::string::npos);
  // The twin.
  arguments.pop_back();
  EXPECT_EQ(plan.launch(arguments), FA_ERROR_INVALID_ARGUMENT);
}

/// Workgroups go round as many dies as a card has: MI300A has 6, a part of a
/// card fewer.
TEST_F(HipCApi, KnowsTheDiesOfCards) {
  auto dies = [](const char *arch, int64_t processors) {
    return llvm::cantFail(fa::getAmdInfo(arch)).diesOf(processors);
  };
  EXPECT_EQ(dies("gfx942", 304), 8u);
  EXPECT_EQ(dies("gfx942", 228), 6u);
  EXPECT_EQ(dies("gfx942", 38), 1u);
  EXPECT_EQ(dies("gfx942", 4), 1u);
  EXPECT_EQ(dies("gfx942", 0), 8u);
  EXPECT_EQ(dies("gfx950", 256), 8u);
  EXPECT_EQ(dies("gfx90a", 110), 1u);
  for (auto [processors, expected] : {std::pair(304, 8), {228, 6}}) {
    fakeHip()->processors = processors;
    auto card = fa::GpuDevice::open(fa::DriverKind::Hip, 1, FA_FAKE_HIP);
    ASSERT_TRUE(card);
    EXPECT_EQ(fa::diesOf(**card), expected);
  }
}

TEST_F(HipCApi, SaysWhatIsMissing) {
  auto expect = [](const faContextOptions &how, const char *message) {
    faContext context = nullptr;
    EXPECT_EQ(faContextCreate(&how, &context), FA_ERROR_DEVICE);
    EXPECT_EQ(context, nullptr);
    std::string text = fa::lastError();
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect(options("hip:7"), "no card 7: found 2");
  fakeHip()->gcnArch[0] = "gfx1100";
  expect(options("hip"), "Fake Instinct 0: unknown architecture 'gfx1100', "
                         "expected gfx90a, gfx942, gfx950");
  faContextOptions how = options("hip");
  how.driver = "/nonexistent/libamdhip64.so";
  expect(how, "the AMD driver is not there");
}
