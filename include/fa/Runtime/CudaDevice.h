//===- CudaDevice.h - an NVIDIA card ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver, libcuda.so.1, is opened when the first device is asked for:
// nothing here needs it, or CUDA's headers, to be built or loaded.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDADEVICE_H
#define FA_RUNTIME_CUDADEVICE_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace fa {

struct CudaDriver;

/// Memory on a card, freed with the object.
class CudaBuffer {
public:
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
  friend class CudaDevice;
  CudaBuffer(const class CudaDevice &device, uint64_t address, size_t bytes)
      : device(device), address(address), bytes(bytes) {}
  const CudaDevice &device;
  uint64_t address;
  size_t bytes;
};

/// A card and its primary context, which is retained as long as the object is
/// there. Every call makes that context current for its own duration: whatever
/// the caller has current stays so. Safe to use from several threads.
class CudaDevice {
public:
  /// Opens card `number`. An error says what is missing: the driver, a card, a
  /// driver that is new enough.
  static llvm::Expected<std::shared_ptr<CudaDevice>> open(int number);
  ~CudaDevice();

  const std::string &name() const { return cardName; }
  int computeCapability() const { return capability; } ///< 90 for 9.0
  int numProcessors() const { return processors; }
  int64_t sharedLimit() const { return sharedBytes; } ///< of a block
  int driverVersion() const { return version; }       ///< 12040 for 12.4

  llvm::Expected<CudaBuffer> allocate(size_t bytes) const;
  /// Waits for everything that was launched.
  llvm::Error synchronize() const;

private:
  friend class CudaBuffer;
  friend class CudaPlan;
  friend class CudaTimer;
  class Current;
  CudaDevice() = default;

  const CudaDriver *driver = nullptr;
  int device = 0;
  void *context = nullptr;
  std::string cardName;
  int capability = 0, processors = 0, version = 0;
  int64_t sharedBytes = 0;
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

#endif // FA_RUNTIME_CUDADEVICE_H
