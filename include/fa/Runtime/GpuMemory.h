//===- GpuMemory.h - memory and time of a card ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For checks and measurements: a host program brings its own memory and events.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_GPUMEMORY_H
#define FA_RUNTIME_GPUMEMORY_H

#include "fa/Launch/GpuDevice.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Memory on a card, freed with the object.
class GpuBuffer {
public:
  /// The first byte lies `offset` bytes behind what the driver gives.
  static llvm::Expected<GpuBuffer> create(const GpuDevice &device, size_t bytes,
                                          size_t offset = 0);
  GpuBuffer(GpuBuffer &&other) noexcept;
  ~GpuBuffer();
  void *data() const {
    // The driver gives addresses as integers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void *>(address + offset);
  }

  /// Copies all bytes; returns when that is done.
  llvm::Error copyFromHost(const void *source);
  llvm::Error copyToHost(void *destination) const;

private:
  GpuBuffer(const GpuDevice &device, uint64_t address, size_t bytes,
            size_t offset)
      : device(device), address(address), bytes(bytes), offset(offset) {}
  const GpuDevice &device;
  uint64_t address;
  size_t bytes, offset;
};

/// Milliseconds between two points of the default stream.
class GpuTimer {
public:
  static llvm::Expected<std::unique_ptr<GpuTimer>>
  create(const GpuDevice &device);
  ~GpuTimer();
  llvm::Error start();
  /// Waits for the second point.
  llvm::Expected<double> stop();

private:
  explicit GpuTimer(const GpuDevice &device) : device(device) {}
  const GpuDevice &device;
  void *events[2] = {};
};

} // namespace fa

#endif // FA_RUNTIME_GPUMEMORY_H
