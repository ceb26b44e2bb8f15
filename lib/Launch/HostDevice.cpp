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
    for (Memory &memory : idle)
      free(memory);
  }

  /// Takes memory for `count` programs out of the store, so that launches at
  /// the same time have their own.
  std::vector<Memory> acquire(unsigned count, int64_t bytes) {
    std::lock_guard lock(mutex);
    std::vector<Memory> taken(count);
    bool complete = true;
    for (Memory &memory : taken) {
      if (!idle.empty()) {
        memory = idle.back();
        idle.pop_back();
      }
      complete &= reserve(memory, std::max<int64_t>(bytes, 64));
    }
    if (complete)
      return taken;
    putBack(taken);
    return {};
  }

  void release(const std::vector<Memory> &taken) {
    std::lock_guard lock(mutex);
    putBack(taken);
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
  void putBack(const std::vector<Memory> &taken) {
    for (const Memory &memory : taken)
      idle.push_back(memory);
  }

  bool reserve(Memory &memory, int64_t wanted) {
    if (wanted <= memory.bytes)
      return true;
    free(memory);
    constexpr int64_t page = 4096;
    memory.bytes = (wanted + page - 1) / page * page;
    memory.data = allocator.allocate(memory.bytes, page);
    if (!memory.data)
      memory.bytes = 0;
    return memory.data;
  }

  void free(Memory &memory) {
    if (memory.data)
      allocator.deallocate(memory.data, memory.bytes);
    memory.data = nullptr;
  }

  Parallel parallel;
  Allocator allocator;
  std::unique_ptr<ThreadPool> pool;
  std::mutex mutex;
  std::vector<Memory> idle;
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
                     const std::function<void(int64_t, void *)> &program,
                     unsigned mostThreads) {
  if (count <= 0)
    return true;
  unsigned workers =
      std::min<int64_t>(std::min(impl->threads, mostThreads), count);
  std::vector<Memory> scratch = impl->acquire(workers, scratchBytes);
  if (scratch.empty())
    return false;
  // Programs are handed out one by one: they differ in length.
  std::atomic<int64_t> next = 0;
  impl->forEachWorker(workers, [&](unsigned worker) {
    for (int64_t index; (index = next.fetch_add(1)) < count;)
      program(index, scratch[worker].data);
  });
  impl->release(scratch);
  return true;
}

HostDevice::Memory HostDevice::borrow(int64_t bytes) {
  std::vector<Memory> taken = impl->acquire(1, bytes);
  return taken.empty() ? Memory() : taken.front();
}

void HostDevice::giveBack(const Memory &memory) { impl->release({memory}); }
