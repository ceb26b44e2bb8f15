//===- RaceTest.cpp - a race on purpose -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include <thread>

/// Runs when it is asked for, and then ThreadSanitizer must say so.
TEST(Race, DISABLED_IsFound) {
  int counter = 0;
  std::thread other([&] { ++counter; });
  ++counter;
  other.join();
}
