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

#ifndef FA_LIB_RUNTIME_CUDADRIVER_H
#define FA_LIB_RUNTIME_CUDADRIVER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace fa {

struct CudaDriver {
  using Result = int;
  using Pointer = uint64_t;

  Result (*Init)(unsigned);
  Result (*DriverGetVersion)(int *);
  Result (*DeviceGetCount)(int *);
  Result (*DeviceGet)(int *, int);
  Result (*DeviceGetName)(char *, int, int);
  Result (*DeviceGetAttribute)(int *, int, int);
  Result (*DevicePrimaryCtxRetain)(void **, int);
  Result (*DevicePrimaryCtxRelease)(int);
  Result (*CtxPushCurrent)(void *);
  Result (*CtxPopCurrent)(void **);
  Result (*CtxSynchronize)();
  Result (*ModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  Result (*ModuleUnload)(void *);
  Result (*ModuleGetFunction)(void **, void *, const char *);
  Result (*FuncSetAttribute)(void *, int, int);
  Result (*FuncGetAttribute)(int *, int, void *);
  Result (*LaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned, void *, void **,
                         void **);
  Result (*MemAlloc)(Pointer *, size_t);
  Result (*MemFree)(Pointer);
  Result (*MemcpyHtoD)(Pointer, const void *, size_t);
  Result (*MemcpyDtoH)(void *, Pointer, size_t);
  Result (*EventCreate)(void **, unsigned);
  Result (*EventDestroy)(void *);
  Result (*EventRecord)(void *, void *);
  Result (*EventSynchronize)(void *);
  Result (*EventElapsedTime)(float *, void *, void *);
  Result (*GetErrorName)(Result, const char **);
  Result (*GetErrorString)(Result, const char **);

  // Numbers of CUdevice_attribute and CUfunction_attribute.
  static constexpr int multiprocessorCount = 16, capabilityMajor = 75,
                       capabilityMinor = 76, maxSharedPerBlockOptin = 97;
  static constexpr int functionMaxDynamicShared = 8, functionNumRegs = 4,
                       functionLocalBytes = 3;

  /// The driver, opened and initialised once; else what is missing.
  static llvm::Expected<const CudaDriver *> get();

  /// Success, or an error with `what` was tried and the driver's own name and
  /// text.
  llvm::Error check(Result result, const llvm::Twine &what) const;
};

} // namespace fa

#endif // FA_LIB_RUNTIME_CUDADRIVER_H
