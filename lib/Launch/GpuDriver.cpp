//===- GpuDriver.cpp - the functions of libcuda or libamdhip64 ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/GpuDriver.h"

#include <dlfcn.h>

using namespace fa;

const DriverInfo &fa::infoOf(DriverKind kind) {
  // The first drivers that know sm_80 (CUDA 11.0 release notes) and gfx942
  // (ROCm 6.0 release notes; HIP counts major * 10^7 + minor * 10^5). A grid of
  // HIP has fewer than 2^32 threads (HIP Runtime API, hipModuleLaunchKernel),
  // one of CUDA is limited by its blocks alone.
  static constexpr DriverInfo infos[] = {{.target = "cuda",
                                          .vendor = "NVIDIA",
                                          .prefix = "cu",
                                          .library = "libcuda.so.1",
                                          .version = "CUDA 11.0",
                                          .oldestVersion = 11000,
                                          .maxGridThreads = INT64_MAX,
                                          .multiprocessorCount = 16,
                                          .pageableMemoryAccess = 88,
                                          .maxSharedPerBlock = 97,
                                          .memoryClockRate = 36,
                                          .memoryBusWidth = 37},
                                         {.target = "hip",
                                          .vendor = "AMD",
                                          .prefix = "hip",
                                          .library = "libamdhip64.so",
                                          .version = "HIP 6.0",
                                          .oldestVersion = 60000000,
                                          .maxGridThreads = UINT32_MAX,
                                          .multiprocessorCount = 63,
                                          .pageableMemoryAccess = 65,
                                          .maxSharedPerBlock = 74,
                                          .memoryClockRate = 60,
                                          .memoryBusWidth = 59}};
  return infos[static_cast<int>(kind)];
}

namespace {

/// Looks up functions of a library.
class Finder {
public:
  Finder(void *library, DriverKind kind)
      : library(library), isHip(kind == DriverKind::Hip) {}

  /// The function of this name in the kind of driver that there is.
  template <typename Function>
  void operator()(Function &function, const char *cuda, const char *hip) {
    const char *name = isHip ? hip : cuda;
    optional(function, name);
    if (!function && name && !missing)
      missing = name;
  }

  /// A function that may not be there; null, without a name.
  template <typename Function>
  void optional(Function &function, const char *name) {
    void *address = name ? dlsym(library, name) : nullptr;
    function = reinterpret_cast<Function>(address);
  }

  /// The first that is missing, or null.
  const char *missing = nullptr;

private:
  void *library;
  bool isHip;
};

} // namespace

/// Looks up every function; the name of the first that is missing, or null.
static const char *findFunctions(void *library, GpuDriver &driver) {
  Finder find(library, driver.kind);
  find(driver.Init, "cuInit", "hipInit");
  find(driver.DriverGetVersion, "cuDriverGetVersion", "hipDriverGetVersion");
  find(driver.DeviceGetCount, "cuDeviceGetCount", "hipGetDeviceCount");
  find(driver.DeviceGet, "cuDeviceGet", "hipDeviceGet");
  find(driver.DeviceGetName, "cuDeviceGetName", "hipDeviceGetName");
  find(driver.DeviceGetAttribute, "cuDeviceGetAttribute",
       "hipDeviceGetAttribute");
  find(driver.CtxSynchronize, "cuCtxSynchronize", "hipDeviceSynchronize");
  find(driver.StreamSynchronize, "cuStreamSynchronize", "hipStreamSynchronize");
  find(driver.ModuleLoadDataEx, "cuModuleLoadDataEx", "hipModuleLoadDataEx");
  find(driver.ModuleUnload, "cuModuleUnload", "hipModuleUnload");
  find(driver.ModuleGetFunction, "cuModuleGetFunction", "hipModuleGetFunction");
  find(driver.FuncGetAttribute, "cuFuncGetAttribute", "hipFuncGetAttribute");
  find(driver.OccupancyMaxActiveBlocksPerMultiprocessor,
       "cuOccupancyMaxActiveBlocksPerMultiprocessor",
       "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  find(driver.LaunchKernel, "cuLaunchKernel", "hipModuleLaunchKernel");
  find(driver.PointerGetAttribute, "cuPointerGetAttribute",
       "hipPointerGetAttribute");
  find(driver.MemAlloc, "cuMemAlloc_v2", "hipMalloc");
  find(driver.MemFree, "cuMemFree_v2", "hipFree");
  find(driver.MemcpyHtoD, "cuMemcpyHtoD_v2", "hipMemcpyHtoD");
  find(driver.MemcpyDtoH, "cuMemcpyDtoH_v2", "hipMemcpyDtoH");
  find(driver.MemsetD32Async, "cuMemsetD32Async", "hipMemsetD32Async");
  find(driver.StreamGetCaptureInfo, "cuStreamGetCaptureInfo",
       "hipStreamGetCaptureInfo");
  find(driver.ThreadExchangeStreamCaptureMode,
       "cuThreadExchangeStreamCaptureMode",
       "hipThreadExchangeStreamCaptureMode");
  find(driver.EventCreate, "cuEventCreate", "hipEventCreateWithFlags");
  find(driver.EventDestroy, "cuEventDestroy_v2", "hipEventDestroy");
  find(driver.EventRecord, "cuEventRecord", "hipEventRecord");
  find(driver.EventSynchronize, "cuEventSynchronize", "hipEventSynchronize");
  find(driver.EventElapsedTime, "cuEventElapsedTime", "hipEventElapsedTime");
  find(driver.GetErrorName, "cuGetErrorName", "hipDrvGetErrorName");
  find(driver.GetErrorString, "cuGetErrorString", "hipDrvGetErrorString");
  find(driver.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", nullptr);
  find(driver.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", nullptr);
  find(driver.CtxPushCurrent, "cuCtxPushCurrent_v2", nullptr);
  find(driver.CtxPopCurrent, "cuCtxPopCurrent_v2", nullptr);
  find(driver.FuncSetAttribute, "cuFuncSetAttribute", nullptr);
  find(driver.GetDevice, nullptr, "hipGetDevice");
  find(driver.SetDevice, nullptr, "hipSetDevice");
  // The properties' layout since ROCm 6.0.
  find(driver.GetDeviceProperties, nullptr, "hipGetDevicePropertiesR0600");
  find.optional(driver.TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  find.optional(driver.LaunchKernelEx, "cuLaunchKernelEx");
  return find.missing;
}

/// "12.4", of 12040; "6.3", of 60300000 and more.
static std::string formatVersion(DriverKind kind, int version) {
  int minor = kind == DriverKind::Hip ? 100000 : 10, major = 100 * minor;
  return makeText(version / major, ".", version % major / minor);
}

Result<std::shared_ptr<const GpuDriver>>
GpuDriver::open(DriverKind kind, const std::string &path) {
  const DriverInfo &info = infoOf(kind);
  const char *file = path.empty() ? info.library : path.c_str();
  // NODELETE: drivers keep threads and exit handlers of their own.
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return makeFailure("the ", info.vendor,
                       " driver is not there: ", dlerror());
  auto driver = std::make_shared<GpuDriver>();
  driver->kind = kind;
  if (const char *missing = findFunctions(library, *driver))
    return makeFailure("the ", info.vendor, " driver is too old: ", file,
                       " has no function ", missing);
  if (Failure failure = driver->checkCall(driver->Init(0), "Init"))
    return failure;
  int version = 0;
  if (Failure failure = driver->checkCall(driver->DriverGetVersion(&version),
                                          "DriverGetVersion"))
    return failure;
  if (version < info.oldestVersion)
    return makeFailure("the ", info.vendor,
                       " driver is too old: expected one of ", info.version,
                       " or newer, found one of ",
                       info.version.substr(0, info.version.find(' ') + 1),
                       formatVersion(kind, version));
  return std::shared_ptr<const GpuDriver>(std::move(driver));
}

Failure GpuDriver::explain(Status status, const std::string &what) const {
  const char *name = nullptr, *text = nullptr;
  GetErrorName(status, &name);
  GetErrorString(status, &text);
  return makeFailure(what, ": ", name ? name : "unknown error ", " (", status,
                     ")", text ? ", " : "", text ? text : "");
}
