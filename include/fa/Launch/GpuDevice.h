//===- GpuDevice.h - an NVIDIA or AMD card ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver is opened when a device is asked for: nothing here needs it, or
// a vendor's headers, to be built or loaded.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_GPUDEVICE_H
#define FA_LAUNCH_GPUDEVICE_H

#include "fa/Launch/GpuDriver.h"

namespace fa {

/// A card and, of CUDA, its primary context, which is retained as long as the
/// object is there. Every call makes the card current for its own duration:
/// whatever the caller has current stays so. Safe to use from several threads.
class GpuDevice {
public:
  /// Opens card `number` of the driver in the library `path` (empty: where the
  /// dynamic linker finds it). A failure says what is missing: the driver, a
  /// card, a driver that is new enough.
  static Result<std::shared_ptr<GpuDevice>> open(DriverKind kind, int number,
                                                 const std::string &path = "");
  ~GpuDevice();
  GpuDevice(const GpuDevice &) = delete;
  GpuDevice &operator=(const GpuDevice &) = delete;

  const GpuDriver &driver() const { return *opened; }
  bool isHip() const { return opened->kind == DriverKind::Hip; }
  const std::string &name() const { return cardName; }
  /// 90 for 9.0; of an AMD card 0.
  int computeCapability() const { return capability; }
  /// "gfx942"; of an NVIDIA card empty.
  const std::string &gcnArch() const { return architecture; }
  int numProcessors() const { return processors; }
  /// MB/s of the card's memory: twice its clock times the bytes of its bus; 0
  /// where the driver does not say.
  int64_t bandwidth() const { return memoryBandwidth; }
  int64_t sharedLimit() const { return sharedBytes; } ///< of a block
  int driverVersion() const { return version; }       ///< CUDA: 12040 for 12.4
  /// Whether kernels can read any memory of the process.
  bool readsHostMemory() const { return pageable; }

  /// Waits for everything that was launched.
  Failure synchronize() const;
  /// Waits for everything that was enqueued on `stream`.
  Failure synchronize(void *stream) const;

  /// Makes the device or its context current as long as it is there.
  class Current {
  public:
    explicit Current(const GpuDevice &device);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    /// Why the device is not current.
    Failure failure() const;

  private:
    const GpuDevice &device;
    int before = 0; ///< of HIP: what was current
    int status;
  };

  /// Lets this thread load code, allocate and free while any thread captures a
  /// graph, as long as the object is there. In the other modes a driver refuses
  /// that, and breaks the capture, since it may wait for the card; what is done
  /// here becomes no part of the graph (CUDA Driver API,
  /// cuThreadExchangeStreamCaptureMode).
  class RelaxedCapture {
  public:
    explicit RelaxedCapture(const GpuDevice &device);
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture &) = delete;
    RelaxedCapture &operator=(const RelaxedCapture &) = delete;
    /// Why the thread's mode is what it was.
    Failure failure() const;

  private:
    const GpuDevice &device;
    int mode = GpuDriver::captureModeRelaxed; ///< then the mode before
    int status;
  };

private:
  GpuDevice() = default;
  Failure readFacts();
  Failure readArchitecture();

  std::shared_ptr<const GpuDriver> opened;
  int device = 0;
  void *context = nullptr;
  std::string cardName, architecture;
  int capability = 0, processors = 0, version = 0;
  int64_t sharedBytes = 0, memoryBandwidth = 0;
  bool pageable = false;
};

} // namespace fa

#endif // FA_LAUNCH_GPUDEVICE_H
