//===- HostDevice.h - the host CPU as a device ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_HOSTDEVICE_H
#define FA_LAUNCH_HOSTDEVICE_H

#include <cstdint>
#include <functional>
#include <memory>

namespace fa {

/// Threads that run the programs of a grid. Safe to use from several threads.
class HostDevice {
public:
  /// Runs `body(worker)` once for each worker 0 .. n-1, in parallel, and
  /// returns when all have returned. A host program gives its own pool so.
  using Parallel =
      std::function<void(unsigned n, const std::function<void(unsigned)> &)>;

  /// Memory of programs at work; empty functions: the C library's. `allocate`
  /// gives null where there is none.
  struct Allocator {
    std::function<void *(size_t bytes, size_t alignment)> allocate;
    std::function<void(void *memory, size_t bytes)> deallocate;
  };

  /// `threads` workers, the calling thread among them; 0: one a core that this
  /// process may use.
  explicit HostDevice(unsigned threads = 0);
  HostDevice(unsigned threads, Parallel parallel, Allocator allocator = {});
  ~HostDevice();

  unsigned numThreads() const;

  /// Calls `program(index, scratch)` for every index below `count`, which are
  /// handed out in order to `mostThreads` at most; `scratch` has `scratchBytes`
  /// of memory, aligned to 64 bytes, that no other running program has. Returns
  /// false if that memory cannot be had; then nothing ran.
  bool run(int64_t count, int64_t scratchBytes,
           const std::function<void(int64_t index, void *scratch)> &program,
           unsigned mostThreads = ~0u);

  /// Memory for one running program or launch, kept between launches.
  struct Memory {
    void *data = nullptr;
    int64_t bytes = 0;
  };
  /// At least `bytes`, aligned to 64 bytes, that nobody else has until it is
  /// given back; null if it cannot be had.
  Memory borrow(int64_t bytes);
  void giveBack(const Memory &memory);

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace fa

#endif // FA_LAUNCH_HOSTDEVICE_H
