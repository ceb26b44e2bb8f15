//===- CudaMemory.h - memory and time of an NVIDIA card ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For checks and measurements: a host program brings its own memory and events.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDAMEMORY_H
#define FA_RUNTIME_CUDAMEMORY_H

#include "fa/Launch/CudaDevice.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Memory on a card, freed with the object.
class CudaBuffer {
public:
  static llvm::Expected<CudaBuffer> create(const CudaDevice &device,
                                           size_t bytes);
  CudaBuffer(CudaBuffer &&other) noexcept;
  ~CudaBuffer();
  void *data() const {
    // The driver gives addresses as integers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void *>(address);
  }

  /// Copies all bytes; returns when that is done.
  llvm::Error copyFromHost(const void *source);
  llvm::Error copyToHost(void *destination) const;

private:
  CudaBuffer(const CudaDevice &device, uint64_t address, size_t bytes)
      : device(device), address(address), bytes(bytes) {}
  const CudaDevice &device;
  uint64_t address;
  size_t bytes;
};

/// Milliseconds between two points of the default stream.
class CudaTimer {
public:
  static llvm::Expected<std::unique_ptr<CudaTimer>>
  create(const CudaDevice &device);
  ~CudaTimer();
  llvm::Error start();
  /// Waits for the second point.
  llvm::Expected<double> stop();

private:
  explicit CudaTimer(const CudaDevice &device) : device(device) {}
  const CudaDevice &device;
  void *events[2] = {};
};

} // namespace fa

#endif // FA_RUNTIME_CUDAMEMORY_H
