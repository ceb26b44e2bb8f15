//===- RangesTest.cpp - what a profiler is told ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeRanges.h"

#include "fa/fa.hpp"

#include "gtest/gtest.h"

namespace {

/// The messages of a context whose ranges go to `library`; it prepares,
/// launches, and is refused a launch.
std::vector<std::string> work(const char *library) {
  std::vector<std::string> messages;
  faContextOptions options = fa::contextOptions("cpu");
  options.threads = 1;
  options.ranges = library;
  options.user = &messages;
  options.log = [](void *user, faLogLevel level, const char *message) {
    EXPECT_EQ(level, FA_LOG_WARNING);
    static_cast<std::vector<std::string> *>(user)->emplace_back(message);
  };
  fa::Context context(options);
  fa::Plan plan(context, fa::attention(FA_F32, 16));
  EXPECT_TRUE(plan) << fa::lastError();
  std::vector<float> x(4 * 16, 1.0f), out(x.size());
  auto t = fa::tensor(x.data(), {1, 1, 4, 16});
  EXPECT_EQ(plan.launch({t, t, t, fa::scalar(0.3f),
                         fa::tensor(out.data(), {1, 1, 4, 16})}),
            FA_SUCCESS);
  EXPECT_EQ(plan.launch({t, t}), FA_ERROR_INVALID_ARGUMENT);
  return messages;
}

const std::vector<std::string> expected = {
    "flashtile: prepare", "flashtile: @attention", "flashtile: @attention"};

} // namespace

TEST(Ranges, Nvtx) {
  *fakeNvtx() = {};
  EXPECT_TRUE(work(FA_FAKE_NVTX).empty());
  EXPECT_EQ(fakeNvtx()->names, expected);
  EXPECT_EQ(fakeNvtx()->depth, 0);
  EXPECT_EQ(fakeNvtx()->attached, 1);
  // A second context has the same tool, which is not asked again.
  EXPECT_TRUE(work(FA_FAKE_NVTX).empty());
  EXPECT_EQ(fakeNvtx()->names.size(), 2 * expected.size());
  EXPECT_EQ(fakeNvtx()->attached, 1);
}

TEST(Ranges, Roctx) {
  *fakeRoctx() = {};
  EXPECT_TRUE(work(FA_FAKE_ROCTX).empty());
  EXPECT_EQ(fakeRoctx()->names, expected);
  EXPECT_EQ(fakeRoctx()->depth, 0);
}

/// Nobody is told without being named; what cannot be used is said, and that is
/// all.
TEST(Ranges, Absent) {
  *fakeNvtx() = *fakeRoctx() = {};
  EXPECT_TRUE(work(nullptr).empty());
  auto messages = work("/nonexistent/libtool.so");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("ranges: /nonexistent"), std::string::npos);
  messages = work(FA_FAKE_DRIVER);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("expected InitializeInjectionNvtx2 or "
                             "roctxRangePushA in"),
            std::string::npos);
  EXPECT_TRUE(fakeNvtx()->names.empty());
  EXPECT_TRUE(fakeRoctx()->names.empty());
}
