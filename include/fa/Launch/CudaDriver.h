//===- CudaDriver.h - the functions of libcuda ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared from the CUDA Driver API reference; names are NVIDIA's without the
// prefix "cu".
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_CUDADRIVER_H
#define FA_LAUNCH_CUDADRIVER_H

#include "fa/Launch/Text.h"

namespace fa {

/// The driver's library, as the dynamic linker finds it.
inline constexpr char kCudaDriver[] = "libcuda.so.1";

struct CudaDriver {
  using Status = int;
  using Pointer = uint64_t;

  Status (*Init)(unsigned);
  Status (*DriverGetVersion)(int *);
  Status (*DeviceGetCount)(int *);
  Status (*DeviceGet)(int *, int);
  Status (*DeviceGetName)(char *, int, int);
  Status (*DeviceGetAttribute)(int *, int, int);
  Status (*DevicePrimaryCtxRetain)(void **, int);
  Status (*DevicePrimaryCtxRelease)(int);
  Status (*CtxPushCurrent)(void *);
  Status (*CtxPopCurrent)(void **);
  Status (*CtxSynchronize)();
  Status (*StreamSynchronize)(void *);
  Status (*ModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  Status (*ModuleUnload)(void *);
  Status (*ModuleGetFunction)(void **, void *, const char *);
  Status (*FuncSetAttribute)(void *, int, int);
  Status (*FuncGetAttribute)(int *, int, void *);
  Status (*OccupancyMaxActiveBlocksPerMultiprocessor)(int *, void *, int,
                                                      size_t);
  Status (*LaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned, void *, void **,
                         void **);
  Status (*PointerGetAttribute)(void *, int, Pointer);
  Status (*MemAlloc)(Pointer *, size_t);
  Status (*MemFree)(Pointer);
  Status (*MemcpyHtoD)(Pointer, const void *, size_t);
  Status (*MemcpyDtoH)(void *, Pointer, size_t);
  Status (*EventCreate)(void **, unsigned);
  Status (*EventDestroy)(void *);
  Status (*EventRecord)(void *, void *);
  Status (*EventSynchronize)(void *);
  Status (*EventElapsedTime)(float *, void *, void *);
  /// Null before CUDA 12.0.
  Status (*TensorMapEncodeTiled)(void *, int, uint32_t, void *,
                                 const uint64_t *, const uint64_t *,
                                 const uint32_t *, const uint32_t *, int, int,
                                 int, int);
  Status (*GetErrorName)(Status, const char **);
  Status (*GetErrorString)(Status, const char **);

  // Numbers of CUdevice_attribute, CUfunction_attribute, CUpointer_attribute.
  static constexpr int multiprocessorCount = 16, capabilityMajor = 75,
                       capabilityMinor = 76, pageableMemoryAccess = 88,
                       maxSharedPerBlockOptin = 97;
  static constexpr int functionMaxDynamicShared = 8, functionNumRegs = 4,
                       functionLocalBytes = 3;
  static constexpr int pointerMemoryType = 2;
  // CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
  static constexpr int mapFloat16 = 6, mapBFloat16 = 9, mapSwizzle128 = 3,
                       mapPromote256 = 3;

  /// The CUDA version whose drivers are the first to know sm_80 (CUDA 11.0
  /// release notes), as cuDriverGetVersion counts.
  static constexpr int oldestVersion = 11000;

  /// Opens and initialises the driver in the library `path`, which then stays
  /// loaded; a failure says what is missing.
  static Result<std::shared_ptr<const CudaDriver>>
  open(const std::string &path = kCudaDriver);

  /// Success, or a failure with what was tried and the driver's own name and
  /// text. Success builds no text.
  template <typename... Parts>
  Failure check(Status status, const Parts &...what) const {
    return status == 0 ? Failure() : explain(status, makeText(what...));
  }

private:
  Failure explain(Status status, const std::string &what) const;
};

} // namespace fa

#endif // FA_LAUNCH_CUDADRIVER_H
