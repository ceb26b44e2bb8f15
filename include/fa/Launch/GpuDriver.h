//===- GpuDriver.h - the functions of libcuda or libamdhip64 ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HIP has the functions of the CUDA Driver API with the same parameters, so
// that one table serves both. Declared from the CUDA Driver API reference and
// the HIP Runtime API reference; names are NVIDIA's without the prefix "cu".
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_GPUDRIVER_H
#define FA_LAUNCH_GPUDRIVER_H

#include "fa/Launch/Text.h"

namespace fa {

enum class DriverKind { Cuda, Hip };

/// What a driver is called, and its numbers for what it is asked.
struct DriverInfo {
  std::string_view target;  ///< "cuda", as --target and bundles say
  std::string_view vendor;  ///< "NVIDIA"
  std::string_view prefix;  ///< "cu", of its functions' names
  const char *library;      ///< as the dynamic linker finds it
  std::string_view version; ///< "CUDA 11.0": the oldest that will do
  int oldestVersion;        ///< the same as the driver counts
  /// The most threads that a grid may have.
  int64_t maxGridThreads;
  // CUdevice_attribute, hipDeviceAttribute_t.
  int multiprocessorCount, pageableMemoryAccess, maxSharedPerBlock;
  int memoryClockRate, memoryBusWidth; ///< kHz and bits
};

const DriverInfo &infoOf(DriverKind kind);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  /// CUlaunchAttribute, with a value that is a number.
  struct Attribute {
    int name;
    alignas(8) int value;
    char rest[60];
  } *attributes;
  unsigned numAttributes;
};

struct GpuDriver {
  using Status = int;
  using Pointer = uint64_t;

  Status (*Init)(unsigned);
  Status (*DriverGetVersion)(int *);
  Status (*DeviceGetCount)(int *);
  Status (*DeviceGet)(int *, int);
  Status (*DeviceGetName)(char *, int, int);
  Status (*DeviceGetAttribute)(int *, int, int);
  Status (*CtxSynchronize)();
  Status (*StreamSynchronize)(void *);
  Status (*ModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  Status (*ModuleUnload)(void *);
  Status (*ModuleGetFunction)(void **, void *, const char *);
  Status (*FuncGetAttribute)(int *, int, void *);
  Status (*OccupancyMaxActiveBlocksPerMultiprocessor)(int *, void *, int,
                                                      size_t);
  Status (*LaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned, void *, void **,
                         void **);
  Status (*PointerGetAttribute)(void *, int, Pointer);
  Status (*MemAlloc)(Pointer *, size_t);
  Status (*MemFree)(Pointer);
  /// Words of 32 bits.
  Status (*MemsetD32Async)(Pointer to, unsigned word, size_t count,
                           void *stream);
  Status (*MemcpyHtoD)(Pointer, const void *, size_t);
  Status (*MemcpyDtoH)(void *, Pointer, size_t);
  Status (*StreamGetCaptureInfo)(void *, int *, uint64_t *);
  Status (*ThreadExchangeStreamCaptureMode)(int *);
  Status (*EventCreate)(void **, unsigned);
  Status (*EventDestroy)(void *);
  Status (*EventRecord)(void *, void *);
  Status (*EventSynchronize)(void *);
  Status (*EventElapsedTime)(float *, void *, void *);
  Status (*GetErrorName)(Status, const char **);
  Status (*GetErrorString)(Status, const char **);

  // Of CUDA alone; null of HIP.
  Status (*DevicePrimaryCtxRetain)(void **, int);
  Status (*DevicePrimaryCtxRelease)(int);
  Status (*CtxPushCurrent)(void *);
  Status (*CtxPopCurrent)(void **);
  Status (*FuncSetAttribute)(void *, int, int);
  /// Null before CUDA 12.0.
  Status (*TensorMapEncodeTiled)(void *, int, uint32_t, void *,
                                 const uint64_t *, const uint64_t *,
                                 const uint32_t *, const uint32_t *, int, int,
                                 int, int);

  /// Null before CUDA 11.8.
  Status (*LaunchKernelEx)(const LaunchConfig *, void *, void **, void **);

  // Of HIP alone, which has a current device instead of contexts; null of CUDA.
  Status (*GetDevice)(int *);
  Status (*SetDevice)(int);
  Status (*GetDeviceProperties)(void *, int);

  // CUfunction_attribute, CUpointer_attribute; HIP's have the same numbers.
  static constexpr int functionMaxDynamicShared = 8, functionNumRegs = 4,
                       functionLocalBytes = 3, functionSharedCarveout = 9;
  static constexpr int pointerMemoryType = 2;
  // CUstreamCaptureMode, CUstreamCaptureStatus, CU_STREAM_PER_THREAD; HIP's
  // have the same numbers.
  static constexpr int captureModeRelaxed = 2, captureActive = 1;
  static constexpr uintptr_t streamPerThread = 2;
  // CUlaunchAttributeID.
  static constexpr int launchProgrammaticSerialization = 6;

  DriverKind kind = DriverKind::Cuda;
  const DriverInfo &info() const { return infoOf(kind); }

  /// Opens and initialises the driver in the library `path` (empty: where the
  /// dynamic linker finds it), which then stays loaded; a failure says what is
  /// missing.
  static Result<std::shared_ptr<const GpuDriver>>
  open(DriverKind kind, const std::string &path = "");

  /// Success, or a failure with what was tried and the driver's own name and
  /// text. Success builds no text.
  template <typename... Parts>
  Failure check(Status status, const Parts &...what) const {
    return status == 0 ? Failure() : explain(status, makeText(what...));
  }

  /// The same for a function by its name without the prefix.
  Failure checkCall(Status status, std::string_view function) const {
    return check(status, info().prefix, function);
  }

private:
  Failure explain(Status status, const std::string &what) const;
};

} // namespace fa

#endif // FA_LAUNCH_GPUDRIVER_H
