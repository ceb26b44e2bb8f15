//===- CudaDriver.cpp - the functions of libcuda --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include "llvm/Support/DynamicLibrary.h"

using namespace llvm;
using namespace fa;

static Expected<CudaDriver> openDriver() {
  std::string problem;
  auto library =
      sys::DynamicLibrary::getPermanentLibrary("libcuda.so.1", &problem);
  if (!library.isValid())
    return createStringError("the NVIDIA driver is not there: " + problem);
  CudaDriver driver;
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    void *address = library.getAddressOfSymbol(name);
    if (!address && missing.empty())
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
  find(driver.ModuleLoadDataEx, "cuModuleLoadDataEx");
  find(driver.ModuleUnload, "cuModuleUnload");
  find(driver.ModuleGetFunction, "cuModuleGetFunction");
  find(driver.FuncSetAttribute, "cuFuncSetAttribute");
  find(driver.FuncGetAttribute, "cuFuncGetAttribute");
  find(driver.LaunchKernel, "cuLaunchKernel");
  find(driver.MemAlloc, "cuMemAlloc_v2");
  find(driver.MemFree, "cuMemFree_v2");
  find(driver.MemcpyHtoD, "cuMemcpyHtoD_v2");
  find(driver.MemcpyDtoH, "cuMemcpyDtoH_v2");
  find(driver.EventCreate, "cuEventCreate");
  find(driver.EventDestroy, "cuEventDestroy_v2");
  find(driver.EventRecord, "cuEventRecord");
  find(driver.EventSynchronize, "cuEventSynchronize");
  find(driver.EventElapsedTime, "cuEventElapsedTime");
  find(driver.GetErrorName, "cuGetErrorName");
  find(driver.GetErrorString, "cuGetErrorString");
  if (!missing.empty())
    return createStringError("the NVIDIA driver is too old: libcuda.so.1 has "
                             "no function " +
                             missing);
  if (Error error = driver.check(driver.Init(0), "cuInit"))
    return error;
  return driver;
}

Expected<const CudaDriver *> CudaDriver::get() {
  // What went wrong stays wrong: the text is kept, not the error.
  static std::string problem;
  static const std::optional<CudaDriver> driver =
      []() -> std::optional<CudaDriver> {
    Expected<CudaDriver> opened = openDriver();
    if (opened)
      return *opened;
    problem = toString(opened.takeError());
    return std::nullopt;
  }();
  if (!driver)
    return createStringError(problem);
  return &*driver;
}

Error CudaDriver::check(Result result, const Twine &what) const {
  if (result == 0)
    return Error::success();
  const char *name = nullptr, *text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  return createStringError(what + ": " + (name ? name : "unknown error ") +
                           " (" + Twine(result) + ")" +
                           (text ? ", " + StringRef(text) : ""));
}
