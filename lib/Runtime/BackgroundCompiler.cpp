//===- BackgroundCompiler.cpp - a thread that compiles ahead --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/BackgroundCompiler.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <set>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace fa;

struct BackgroundCompiler::Work {
  void run();
  /// Ends the thread, if there is one here.
  void stop();

  std::mutex mutex; ///< of `kernels`, `thread` and `process`
  std::condition_variable added;
  std::deque<std::weak_ptr<StoredKernel>> kernels;
  std::atomic<bool> stopping = false;
  std::thread thread; ///< since something was added
  pid_t process = 0;  ///< that has it
};

void BackgroundCompiler::Work::run() {
  std::unique_lock lock(mutex);
  while (true) {
    added.wait(lock, [&] { return stopping || !kernels.empty(); });
    if (stopping)
      return;
    auto kernel = kernels.front().lock();
    kernels.pop_front();
    lock.unlock();
    if (kernel)
      kernel->compileAhead([&](StringRef) { return !stopping; });
    kernel.reset();
    lock.lock();
  }
}

void BackgroundCompiler::Work::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  added.notify_all();
  if (thread.joinable())
    thread.join();
}

namespace {

/// Threads of contexts that are there. A program may end without destroying
/// them, and a thread that compiles must not outlive what LLVM has in static
/// memory, which was made before this.
template <typename Work> class Running {
public:
  static Running &get() {
    static Running running;
    return running;
  }
  ~Running() {
    for (Work *work : works)
      if (work->process == getpid())
        work->stop();
  }
  void insert(Work *work) {
    std::lock_guard lock(mutex);
    works.insert(work);
  }
  void erase(Work *work) {
    std::lock_guard lock(mutex);
    works.erase(work);
  }

private:
  std::mutex mutex;
  std::set<Work *> works;
};

} // namespace

BackgroundCompiler::BackgroundCompiler() : work(std::make_unique<Work>()) {}

BackgroundCompiler::~BackgroundCompiler() {
  // The thread is where its process is. Here its locks may be held for ever,
  // and what it works on is a copy that nobody works on.
  if (work->process && work->process != getpid()) {
    (void)work.release();
    return;
  }
  Running<Work>::get().erase(work.get());
  work->stop();
}

void BackgroundCompiler::add(ArrayRef<std::shared_ptr<StoredKernel>> kernels) {
  Running<Work>::get().insert(work.get());
  {
    std::lock_guard lock(work->mutex);
    work->kernels.insert(work->kernels.end(), kernels.begin(), kernels.end());
    if (!work->thread.joinable()) {
      work->process = getpid();
      work->thread = std::thread([work = work.get()] { work->run(); });
    }
  }
  work->added.notify_one();
}
