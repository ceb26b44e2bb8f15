//===- CudaDevice.h - an NVIDIA card ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver is opened when a device is asked for: nothing here needs it, or
// CUDA's headers, to be built or loaded.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CUDADEVICE_H
#define FA_LAUNCH_CUDADEVICE_H

#include "fa/Launch/CudaDriver.h"

namespace fa {

/// A card and its primary context, which is retained as long as the object is
/// there. Every call makes that context current for its own duration: whatever
/// the caller has current stays so. Safe to use from several threads.
class CudaDevice {
public:
  /// Opens card `number` of the driver in the library `driver`. A failure says
  /// what is missing: the driver, a card, a driver that is new enough.
  static Result<std::shared_ptr<CudaDevice>>
  open(int number, const std::string &driver = kCudaDriver);
  ~CudaDevice();
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  const CudaDriver &cuda() const { return *driver; }
  const std::string &name() const { return cardName; }
  int computeCapability() const { return capability; } ///< 90 for 9.0
  int numProcessors() const { return processors; }
  int64_t sharedLimit() const { return sharedBytes; } ///< of a block
  int driverVersion() const { return version; }       ///< 12040 for 12.4
  /// Whether kernels can read any memory of the process.
  bool readsHostMemory() const { return pageable; }

  /// Waits for everything that was launched.
  Failure synchronize() const;
  /// Waits for everything that was enqueued on `stream`.
  Failure synchronize(void *stream) const;

  /// Makes the device's context current as long as it is there.
  class Current {
  public:
    explicit Current(const CudaDevice &device)
        : device(device),
          status(device.driver->CtxPushCurrent(device.context)) {}
    ~Current() {
      void *popped;
      if (status == 0)
        device.driver->CtxPopCurrent(&popped);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    /// Why the context is not current.
    Failure failure() const {
      return device.driver->check(status, "cuCtxPushCurrent");
    }

  private:
    const CudaDevice &device;
    int status;
  };

private:
  CudaDevice() = default;
  Failure readFacts();

  std::shared_ptr<const CudaDriver> driver;
  int device = 0;
  void *context = nullptr;
  std::string cardName;
  int capability = 0, processors = 0, version = 0;
  int64_t sharedBytes = 0;
  bool pageable = false;
};

} // namespace fa

#endif // FA_LAUNCH_CUDADEVICE_H
