//===- HostDevice.cpp - the host CPU as a device --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/HostDevice.h"

#include "ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

using namespace fa;

namespace {

/// Memory for one running program, kept between launches.
struct Scratch {
  void *memory = nullptr;
  int64_t bytes = 0;

  bool reserve(int64_t wanted, const HostDevice::Allocator &allocator) {
    if (wanted <= bytes)
      return true;
    release(allocator);
    constexpr int64_t page = 4096;
    bytes = (wanted + page - 1) / page * page;
    memory = allocator.allocate(bytes, page);
    if (!memory)
      bytes = 0;
    return memory;
  }

  void release(const HostDevice::Allocator &allocator) {
    if (memory)
      allocator.deallocate(memory, bytes);
    memory = nullptr;
  }
};

} // namespace

class HostDevice::Impl {
public:
  Impl(unsigned threads, Parallel parallel, Allocator given)
      : threads(threads), parallel(std::move(parallel)),
        allocator(std::move(given)) {
    if (!allocator.allocate)
      allocator = {[](size_t bytes, size_t alignment) {
                     return std::aligned_alloc(alignment, bytes);
                   },
                   [](void *memory, size_t) { std::free(memory); }};
    if (!this->parallel && threads > 1)
      pool = std::make_unique<ThreadPool>(threads - 1);
  }

  ~Impl() {
    for (Scratch &scratch : idle)
      scratch.release(allocator);
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
      complete &= scratch.reserve(std::max<int64_t>(bytes, 64), allocator);
    }
    if (complete)
      return taken;
    idle.insert(idle.end(), taken.begin(), taken.end());
    return {};
  }

  void release(const std::vector<Scratch> &taken) {
    std::lock_guard lock(mutex);
    idle.insert(idle.end(), taken.begin(), taken.end());
  }

  void forEachWorker(unsigned count,
                     const std::function<void(unsigned)> &body) {
    if (parallel)
      return parallel(count, body);
    if (count == 1)
      return body(0);
    pool->run(count, body);
  }

  unsigned threads;

private:
  Parallel parallel;
  Allocator allocator;
  std::unique_ptr<ThreadPool> pool;
  std::mutex mutex;
  std::vector<Scratch> idle;
};

HostDevice::HostDevice(unsigned threads) : HostDevice(threads, nullptr) {}

HostDevice::HostDevice(unsigned threads, Parallel parallel,
                       Allocator allocator) {
  if (threads == 0)
    threads = usableCores();
  impl = std::make_unique<Impl>(threads, std::move(parallel),
                                std::move(allocator));
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
