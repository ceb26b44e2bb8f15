//===- ThreadPool.cpp - threads that wait for work ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

using namespace fa;

unsigned fa::usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned count) : seats(count), helpers(count) {
  threads.reserve(count);
  for (unsigned n = 0; n < count; ++n)
    threads.emplace_back([this, n] { help(n); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  work.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadPool::runNext(Call &call, std::unique_lock<std::mutex> &lock) {
  unsigned worker = call.next++;
  if (call.next == call.count)
    calls.erase(std::ranges::find(calls, &call));
  ++call.running;
  lock.unlock();
  call.body(worker);
  lock.lock();
  // Its caller may be gone as soon as the lock is: this is the last touch.
  if (--call.running == 0 && call.next == call.count)
    done.notify_all();
}

void ThreadPool::wait(unsigned number, std::unique_lock<std::mutex> &lock) {
  Helper &self = helpers[number];
  int seat = Seats::none;
  if (sched_getaffinity(0, sizeof self.usable, &self.usable) == 0)
    seat = seats.take(number, sched_getcpu(), self.usable);
  if (seat != Seats::none) {
    // A thread that changes its core takes longer than a call may wait.
    lock.unlock();
    Seats::bind(pthread_self(), seat);
    lock.lock();
  }
  self.waits = true;
  work.wait(lock, [&] { return stopping || !calls.empty(); });
  self.waits = false;
  // A caller may have moved it meanwhile.
  seat = seats.of(number);
  // One worker is for this helper.
  unsigned others =
      calls.empty() ? 0 : calls.front()->count - calls.front()->next - 1;
  lock.unlock();
  if (seat != Seats::none)
    Seats::unbind(seat, self.usable);
  for (unsigned n = 0; n < std::min(others, 2u); ++n)
    work.notify_one();
  lock.lock();
}

void ThreadPool::help(unsigned number) {
  std::unique_lock lock(mutex);
  while (!stopping || !calls.empty()) {
    if (calls.empty())
      wait(number, lock);
    else
      runNext(*calls.front(), lock);
  }
}

void ThreadPool::leaveCoreToCaller() {
  int core = sched_getcpu();
  unsigned there = seats.findHelper(core);
  if (there == helpers.size() || !helpers[there].waits)
    return;
  if (int other = seats.change(there, helpers[there].usable); other != core)
    Seats::bind(threads[there].native_handle(), other);
}

void ThreadPool::awaitHelpers(const Call &call,
                              std::unique_lock<std::mutex> &lock) {
  // Workers end nearly together: to sleep and be woken takes longer than most
  // of them need.
  constexpr auto longest = std::chrono::microseconds(100);
  lock.unlock();
  auto end = std::chrono::steady_clock::now() + longest;
  while (call.running != 0 && std::chrono::steady_clock::now() < end)
    ;
  lock.lock();
  done.wait(lock, [&] { return call.running == 0; });
}

void ThreadPool::run(unsigned count,
                     const std::function<void(unsigned)> &body) {
  std::unique_lock lock(mutex);
  Call call{body, 0, count, 0};
  calls.push_back(&call);
  if (count > 1) {
    leaveCoreToCaller();
    work.notify_one();
  }
  // The calling thread takes what no helper has come for.
  while (call.next < call.count)
    runNext(call, lock);
  awaitHelpers(call, lock);
}
