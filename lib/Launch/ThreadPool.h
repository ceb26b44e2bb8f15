//===- ThreadPool.h - threads that wait for work ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LAUNCH_THREADPOOL_H
#define FA_LIB_LAUNCH_THREADPOOL_H

#include "Seats.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fa {

/// The number of cores that this process may use, at least 1.
unsigned usableCores();

/// Threads that help the calling ones. Safe to use from several threads. A
/// caller wakes one of them, which wakes two more, and so on: to wake a thread
/// of another core takes its waker some twenty microseconds in a virtual
/// machine, as long as a small call.
class ThreadPool {
public:
  explicit ThreadPool(unsigned helpers);
  ~ThreadPool();

  /// Calls `body(worker)` for each worker 0 .. count-1, some on this thread,
  /// and returns when all have returned. Helpers that are busy with another
  /// call come late, so workers must not wait for each other.
  void run(unsigned count, const std::function<void(unsigned)> &body);

private:
  /// One call of `run`; all members are changed under `mutex`.
  struct Call {
    const std::function<void(unsigned)> &body;
    unsigned next, count;
    std::atomic<unsigned> running; ///< read without the lock
  };
  struct Helper {
    cpu_set_t usable; ///< cores, but while it waits
    bool waits = false;
  };
  void help(unsigned number);
  /// Waits for work or the end on a core of its own; the caller holds the lock.
  void wait(unsigned number, std::unique_lock<std::mutex> &lock);
  /// Moves the helper that waits where this thread is, which goes on working;
  /// the caller holds the lock.
  void leaveCoreToCaller();
  /// Returns when no worker of `call` runs; the caller holds the lock.
  void awaitHelpers(const Call &call, std::unique_lock<std::mutex> &lock);
  /// Takes a worker of `call`; the caller holds the lock.
  void runNext(Call &call, std::unique_lock<std::mutex> &lock);

  std::mutex mutex;
  std::condition_variable work, done;
  std::deque<Call *> calls; ///< those with workers that nobody has taken
  bool stopping = false;
  Seats seats;
  std::vector<Helper> helpers;
  std::vector<std::thread> threads;
};

} // namespace fa

#endif // FA_LIB_LAUNCH_THREADPOOL_H
