//===- SeatsTest.cpp ------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Seats.h"
#include "ThreadPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <unistd.h>

using namespace fa;

static cpu_set_t cores(std::initializer_list<int> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : numbers)
    CPU_SET(core, &set);
  return set;
}

static cpu_set_t usableNow() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(Seats, AreOneHelpersEach) {
  Seats seats(3);
  cpu_set_t usable = cores({1, 2, 5, 7});
  EXPECT_EQ(seats.take(0, 5, usable), 5);
  // The second one is there, too, and the third where it is not to be.
  EXPECT_EQ(seats.take(1, 5, usable), 7);
  EXPECT_EQ(seats.take(2, 7, usable), 1);
  // Its own is free for it.
  EXPECT_EQ(seats.take(1, 7, usable), 7);
}

TEST(Seats, AreGivenUpForTheCaller) {
  Seats seats(3);
  cpu_set_t usable = cores({0, 1, 2, 3});
  for (unsigned helper = 0; helper < 3; ++helper)
    EXPECT_EQ(seats.take(helper, int(helper), usable), int(helper));
  EXPECT_EQ(seats.findHelper(1), 1u);
  EXPECT_EQ(seats.findHelper(3), 3u);
  EXPECT_EQ(seats.findHelper(Seats::none), 3u);
  EXPECT_EQ(seats.change(1, usable), 3);
  EXPECT_EQ(seats.findHelper(1), 3u);
  // Nobody's core is left without the caller's.
  EXPECT_EQ(seats.change(1, cores({0, 2, 3})), 3);
}

TEST(Seats, AreAsManyAsCores) {
  Seats seats(3);
  EXPECT_EQ(seats.take(0, 0, cores({0, 1})), 0);
  EXPECT_EQ(seats.take(1, 0, cores({0, 1})), 1);
  EXPECT_EQ(seats.take(2, 0, cores({0, 1})), Seats::none);
}

TEST(Seats, BindOnlyUntilUnbound) {
  cpu_set_t before = usableNow();
  int core = sched_getcpu();
  Seats::bind(pthread_self(), core);
  cpu_set_t one = cores({core}), bound = usableNow();
  EXPECT_TRUE(CPU_EQUAL(&bound, &one));
  // Not what this thread was bound to: somebody else said so.
  Seats::unbind(core + 1, before);
  bound = usableNow();
  EXPECT_TRUE(CPU_EQUAL(&bound, &one));
  Seats::unbind(core, before);
  bound = usableNow();
  EXPECT_TRUE(CPU_EQUAL(&bound, &before));
}

/// The cores where threads of this process, but for the calling one, are bound
/// to one; a core that several have is there several times.
static std::multiset<int> findBound() {
  std::multiset<int> found;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    pid_t thread = std::stoi(task.path().filename());
    cpu_set_t set;
    if (thread == getpid() || sched_getaffinity(thread, sizeof set, &set))
      continue;
    if (CPU_COUNT(&set) == 1)
      for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set))
          found.insert(core);
  }
  return found;
}

TEST(ThreadPool, HelpersWaitApartAndWorkUnbound) {
  unsigned count = usableCores();
  if (count < 2)
    GTEST_SKIP() << "one core";
  cpu_set_t all = usableNow();
  ThreadPool pool(count - 1);
  for (unsigned round = 0; round < 10; ++round) {
    for (unsigned tries = 0; findBound().size() < count - 1; ++tries) {
      ASSERT_LT(tries, 5000u) << "helpers wait unbound";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::multiset<int> seats = findBound();
    EXPECT_EQ(std::set<int>(seats.begin(), seats.end()).size(), count - 1);
    // Each waits for the others, so that none does the work of two; helpers
    // wake each other.
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::atomic<unsigned> unbound = 0, came = 0;
    pool.run(count, [&](unsigned) {
      cpu_set_t usable = usableNow();
      unbound += CPU_EQUAL(&usable, &all);
      for (++came; came < count && std::chrono::steady_clock::now() < end;)
        std::this_thread::yield();
      EXPECT_EQ(came, count) << "helpers sleep";
    });
    EXPECT_EQ(unbound, count);
  }
}
