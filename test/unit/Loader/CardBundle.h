//===- CardBundle.h - tests of bundles on a card ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_LOADER_CARDBUNDLE_H
#define FA_TEST_UNIT_LOADER_CARDBUNDLE_H

#include "FakeDriver.h"
#include "TestBundle.h"

#include "fa/bundle.h"

#include "gtest/gtest.h"

namespace fa::test {

/// Allocations of the whole process up to now.
size_t countAllocations();

/// A driver that records its calls.
struct TestDriver {
  FakeDriver *fake;
  const char *library, *target; ///< its path, "cuda"
  int (*allocate)(uint64_t *, size_t);
  int (*release)(uint64_t);
};

/// A bundle that is open, memory that the driver knows, and arguments on it.
class CardBundle : public testing::Test {
protected:
  explicit CardBundle(const TestDriver &driver) : driver(driver) {}

  void SetUp() override {
    *driver.fake = FakeDriver();
    // The driver's own, as a host program would.
    ASSERT_EQ(driver.allocate(&memory, 1 << 20), 0);
    arguments = {tensor(), tensor(), tensor(), {}, tensor()};
    arguments[3].type = FA_F32;
    arguments[3].f32 = 0.125f;
  }
  void TearDown() override {
    faBundlePlanDestroy(plan);
    faBundleClose(bundle);
    EXPECT_EQ(driver.fake->numModules, 0);
    driver.release(memory);
  }

  void open(const std::vector<BundleFile> &from);

  /// On the card, that many bytes behind the start.
  void *addressOf(size_t offset) const {
    // The driver's interface has addresses as integers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void *>(memory + offset);
  }
  faArgument tensor() const;

  faBundleOptions options(const char *target = nullptr) const {
    faBundleOptions result{};
    result.size = sizeof result;
    result.target = target ? target : driver.target;
    result.driver = driver.library;
    return result;
  }

  faStatus prepare(const faBundleOptions &how) {
    return faBundlePrepare(bundle, &how, &plan);
  }
  faStatus prepare() { return prepare(options()); }
  faStatus launch(void *stream = nullptr) {
    return faBundlePlanLaunch(plan, stream, arguments.data(), arguments.size());
  }

  static void expectError(faStatus found, faStatus expected,
                          const std::string &message);
  /// Lets a function of the driver fail while the bundle is prepared or, if
  /// that has been done, launched.
  void expectFailure(const char *function, int status, const char *message);

  /// Prepares a plan that checks pointers; launches it with memory of the card,
  /// and then with memory of the host, which the card of this name refuses.
  void expectHostPointerRefused(const std::string &card);

  /// The driver's calls since `from`, in order.
  std::string callsSince(size_t from) const;

  TestDriver driver;
  int64_t sizes[4] = {2, 4, 256, 64};
  uint64_t memory = 0;
  faBundle bundle = nullptr;
  faBundlePlan plan = nullptr;
  std::vector<faArgument> arguments;
};

} // namespace fa::test

#endif // FA_TEST_UNIT_LOADER_CARDBUNDLE_H
