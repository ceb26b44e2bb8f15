//===- CudaDriver.cpp - the functions of libcuda --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/CudaDriver.h"

#include <dlfcn.h>

using namespace fa;

/// Looks up every function; the name of the first that is missing, or null.
static const char *findFunctions(void *library, CudaDriver &driver) {
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    void *address = dlsym(library, name);
    if (!address && !missing)
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
  find(driver.Init, "cuInit");
  find(driver.DriverGetVersion, "cuDriverGetVersion");
  find(driver.DeviceGetCount, "cuDeviceGetCount");
  find(driver.DeviceGet, "cuDeviceGet");
  find(driver.DeviceGetName, "cuDeviceGetName");
  find(driver.DeviceGetAttribute, "cuDeviceGetAttribute");
  find(driver.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(driver.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  find(driver.CtxPushCurrent, "cuCtxPushCurrent_v2");
  find(driver.CtxPopCurrent, "cuCtxPopCurrent_v2");
  find(driver.CtxSynchronize, "cuCtxSynchronize");
  find(driver.StreamSynchronize, "cuStreamSynchronize");
  find(driver.ModuleLoadDataEx, "cuModuleLoadDataEx");
  find(driver.ModuleUnload, "cuModuleUnload");
  find(driver.ModuleGetFunction, "cuModuleGetFunction");
  find(driver.FuncSetAttribute, "cuFuncSetAttribute");
  find(driver.FuncGetAttribute, "cuFuncGetAttribute");
  find(driver.OccupancyMaxActiveBlocksPerMultiprocessor,
       "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(driver.LaunchKernel, "cuLaunchKernel");
  find(driver.PointerGetAttribute, "cuPointerGetAttribute");
  find(driver.MemAlloc, "cuMemAlloc_v2");
  find(driver.MemFree, "cuMemFree_v2");
  find(driver.MemcpyHtoD, "cuMemcpyHtoD_v2");
  find(driver.MemcpyDtoH, "cuMemcpyDtoH_v2");
  find(driver.EventCreate, "cuEventCreate");
  find(driver.EventDestroy, "cuEventDestroy_v2");
  find(driver.EventRecord, "cuEventRecord");
  find(driver.EventSynchronize, "cuEventSynchronize");
  find(driver.EventElapsedTime, "cuEventElapsedTime");
  driver.TensorMapEncodeTiled =
      reinterpret_cast<decltype(driver.TensorMapEncodeTiled)>(
          dlsym(library, "cuTensorMapEncodeTiled"));
  find(driver.GetErrorName, "cuGetErrorName");
  find(driver.GetErrorString, "cuGetErrorString");
  return missing;
}

Result<std::shared_ptr<const CudaDriver>>
CudaDriver::open(const std::string &path) {
  // NODELETE: drivers keep threads and exit handlers of their own.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return makeFailure("the NVIDIA driver is not there: ", dlerror());
  auto driver = std::make_shared<CudaDriver>();
  if (const char *missing = findFunctions(library, *driver))
    return makeFailure("the NVIDIA driver is too old: ", path,
                       " has no function ", missing);
  if (Failure failure = driver->check(driver->Init(0), "cuInit"))
    return failure;
  int version = 0;
  if (Failure failure = driver->check(driver->DriverGetVersion(&version),
                                      "cuDriverGetVersion"))
    return failure;
  if (version < oldestVersion)
    return makeFailure("the NVIDIA driver is too old: expected one of CUDA ",
                       oldestVersion / 1000, ".", oldestVersion % 1000 / 10,
                       " or newer, found one of CUDA ", version / 1000, ".",
                       version % 1000 / 10);
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

Failure CudaDriver::explain(Status status, const std::string &what) const {
  const char *name = nullptr, *text = nullptr;
  GetErrorName(status, &name);
  GetErrorString(status, &text);
  return makeFailure(what, ": ", name ? name : "unknown error ", " (", status,
                     ")", text ? ", " : "", text ? text : "");
}
