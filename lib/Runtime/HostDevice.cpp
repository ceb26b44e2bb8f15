//===- HostDevice.cpp - the host CPU as a device --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/HostDevice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

using namespace fa;

namespace {

/// Memory for one running program, kept between launches.
struct Scratch {
  void *memory = nullptr;
  int64_t bytes = 0;

  bool reserve(int64_t wanted) {
    if (wanted <= bytes)
      return true;
    std::free(memory);
    bytes = llvm::alignTo(wanted, 4096);
    memory = std::aligned_alloc(4096, bytes);
    if (!memory)
      bytes = 0;
    return memory;
  }
};

} // namespace

class HostDevice::Impl {
public:
  Impl(unsigned threads, Parallel parallel)
      : threads(threads), parallel(std::move(parallel)) {
    if (!this->parallel && threads > 1)
      pool = std::make_unique<llvm::StdThreadPool>(
          llvm::hardware_concurrency(threads - 1));
  }

  ~Impl() {
    for (Scratch &scratch : idle)
      std::free(scratch.memory);
  }

  /// Takes scratch for `count` programs out of the store, so that launches at
  /// the same time have their own.
  std::vector<Scratch> acquire(unsigned count, int64_t bytes) {
    std::lock_guard lock(mutex);
    std::vector<Scratch> taken(count);
    bool complete = true;
    for (Scratch &scratch : taken) {
      if (!idle.empty()) {
        scratch = idle.back();
        idle.pop_back();
      }
      complete &= scratch.reserve(std::max<int64_t>(bytes, 64));
    }
    if (complete)
      return taken;
    llvm::append_range(idle, taken);
    return {};
  }

  void release(const std::vector<Scratch> &taken) {
    std::lock_guard lock(mutex);
    llvm::append_range(idle, taken);
  }

  void forEachWorker(unsigned count,
                     const std::function<void(unsigned)> &body) {
    if (parallel)
      return parallel(count, body);
    if (count == 1)
      return body(0);
    llvm::ThreadPoolTaskGroup group(*pool);
    for (unsigned worker = 1; worker < count; ++worker)
      group.async([&body, worker] { body(worker); });
    body(0);
    group.wait();
  }

  unsigned threads;

private:
  Parallel parallel;
  std::unique_ptr<llvm::StdThreadPool> pool;
  std::mutex mutex;
  std::vector<Scratch> idle;
};

HostDevice::HostDevice(unsigned threads) : HostDevice(threads, nullptr) {}

HostDevice::HostDevice(unsigned threads, Parallel parallel) {
  if (threads == 0)
    threads = llvm::hardware_concurrency().compute_thread_count();
  impl = std::make_unique<Impl>(threads, std::move(parallel));
}

HostDevice::~HostDevice() = default;

unsigned HostDevice::numThreads() const { return impl->threads; }

bool HostDevice::run(int64_t count, int64_t scratchBytes,
                     const std::function<void(int64_t, void *)> &program) {
  if (count <= 0)
    return true;
  unsigned workers =
      static_cast<unsigned>(std::min<int64_t>(impl->threads, count));
  std::vector<Scratch> scratch = impl->acquire(workers, scratchBytes);
  if (scratch.empty())
    return false;
  // Programs are handed out one by one: they differ in length.
  std::atomic<int64_t> next = 0;
  impl->forEachWorker(workers, [&](unsigned worker) {
    for (int64_t index; (index = next.fetch_add(1)) < count;)
      program(index, scratch[worker].memory);
  });
  impl->release(scratch);
  return true;
}
