//===- ThreadPool.cpp - threads that wait for work ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include <algorithm>
#include <sched.h>

using namespace fa;

unsigned fa::usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned helpers) {
  threads.reserve(helpers);
  for (unsigned n = 0; n < helpers; ++n)
    threads.emplace_back([this] { help(); });
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

void ThreadPool::help() {
  std::unique_lock lock(mutex);
  while (true) {
    work.wait(lock, [&] { return stopping || !calls.empty(); });
    if (calls.empty())
      return;
    runNext(*calls.front(), lock);
  }
}

void ThreadPool::run(unsigned count,
                     const std::function<void(unsigned)> &body) {
  std::unique_lock lock(mutex);
  Call call{body, 0, count, 0};
  calls.push_back(&call);
  if (count > 1)
    work.notify_all();
  // The calling thread takes what no helper has come for.
  while (call.next < call.count)
    runNext(call, lock);
  done.wait(lock, [&] { return call.running == 0; });
}
