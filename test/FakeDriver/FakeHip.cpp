//===- FakeHip.cpp - a libamdhip64 that records its calls -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeState.h"

#include <cstdio>

using namespace fake;

/// Of the thread, as HIP has it.
static thread_local int currentCard = 0;

#pragma GCC visibility push(default)
extern "C" {

FakeDriver *fakeHip() { return &driver(); }

int hipInit(unsigned) {
  ENTRY(hipInit);
  return Success;
}

int hipDriverGetVersion(int *version) {
  ENTRY(hipDriverGetVersion);
  *version = driver().hipVersion;
  return Success;
}

int hipGetDeviceCount(int *count) {
  ENTRY(hipGetDeviceCount);
  *count = driver().numCards;
  return *count ? Success : NoDevice;
}

int hipDeviceGet(int *device, int number) {
  ENTRY(hipDeviceGet);
  *device = number;
  return number < driver().numCards ? Success : InvalidDevice;
}

int hipDeviceGetName(char *name, int size, int device) {
  ENTRY(hipDeviceGetName);
  std::snprintf(name, size, "Fake Instinct %d", device);
  return Success;
}

int hipDeviceGetAttribute(int *value, int attribute, int) {
  ENTRY(hipDeviceGetAttribute);
  switch (attribute) {
  case 59:
    *value = driver().memoryBus;
    return *value ? Success : InvalidValue;
  case 60:
    *value = driver().memoryClock;
    return *value ? Success : InvalidValue;
  case 63:
    *value = driver().processors;
    return Success;
  case 65:
    *value = driver().readsHostMemory;
    return Success;
  case 74:
    *value = driver().ldsLimit;
    return Success;
  default:
    return InvalidValue;
  }
}

/// hipDeviceProp_t of ROCm 6.0: 1472 bytes, gcnArchName at 1160.
int hipGetDevicePropertiesR0600(void *properties, int device) {
  ENTRY(hipGetDevicePropertiesR0600);
  std::memset(properties, 0, 1472);
  std::snprintf(static_cast<char *>(properties) + 1160, 256, "%s",
                driver().gcnArch[device]);
  return Success;
}

int hipGetDevice(int *device) {
  ENTRY(hipGetDevice);
  *device = currentCard;
  return Success;
}

int hipSetDevice(int device) {
  ENTRY(hipSetDevice);
  if (device < 0 || device >= driver().numCards)
    return InvalidDevice;
  currentCard = device;
  return Success;
}

int hipDeviceSynchronize() {
  ENTRY(hipDeviceSynchronize);
  return Success;
}

int hipStreamSynchronize(void *) {
  ENTRY(hipStreamSynchronize);
  return Success;
}

int hipModuleLoadDataEx(void **module, const void *image, unsigned, int *,
                        void **) {
  ENTRY(hipModuleLoadDataEx);
  if (!isElf(image))
    return InvalidImage;
  return loadModule(currentCard, module);
}

/// The real one takes a module of any card.
int hipModuleUnload(void *module) {
  ENTRY(hipModuleUnload);
  return unloadModule(module, currentCard);
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  ENTRY(hipModuleGetFunction);
  *function = findFunction(module, name);
  return Success;
}

int hipFuncGetAttribute(int *value, int attribute, void *) {
  ENTRY(hipFuncGetAttribute);
  *value = attribute == 4 ? 256 : 0;
  return Success;
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int,
                                                       size_t) {
  ENTRY(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = 2;
  return Success;
}

/// A kernel's LDS is what its code object says: none is asked for here.
int hipModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                          unsigned block, unsigned, unsigned, unsigned shared,
                          void *stream, void **parameters, void **) {
  ENTRY(hipModuleLaunchKernel);
  if (uint64_t(x) * block >> 32 || shared)
    return InvalidValue;
  return launchKernel(function, currentCard, x * y * z, block, shared, stream,
                      parameters);
}

int hipPointerGetAttribute(void *value, int, uint64_t address) {
  ENTRY(hipPointerGetAttribute);
  return getMemoryType(value, address);
}

int hipMalloc(uint64_t *address, size_t bytes) {
  ENTRY(hipMalloc);
  return allocate(address, bytes);
}

int hipFree(uint64_t address) {
  ENTRY(hipFree);
  return release(address);
}

int hipMemcpyHtoD(uint64_t to, const void *from, size_t bytes) {
  ENTRY(hipMemcpyHtoD);
  std::memcpy(toPointer(to), from, bytes);
  return Success;
}

int hipMemcpyDtoH(void *to, uint64_t from, size_t bytes) {
  ENTRY(hipMemcpyDtoH);
  std::memcpy(to, toPointer(from), bytes);
  return Success;
}

int hipMemsetD32Async(void *to, int word, size_t count, void *stream) {
  ENTRY(hipMemsetD32Async);
  driver().memset = {reinterpret_cast<uintptr_t>(to), unsigned(word), count,
                     stream};
  return Success;
}

int hipStreamGetCaptureInfo(void *stream, int *status, uint64_t *id) {
  ENTRY(hipStreamGetCaptureInfo);
  return getCaptureInfo(stream, status, id);
}

int hipThreadExchangeStreamCaptureMode(int *mode) {
  ENTRY(hipThreadExchangeStreamCaptureMode);
  return exchangeCaptureMode(mode);
}

int hipEventCreateWithFlags(void **event, unsigned) {
  ENTRY(hipEventCreateWithFlags);
  *event = &driver();
  return Success;
}

int hipEventDestroy(void *) {
  ENTRY(hipEventDestroy);
  return Success;
}

int hipEventRecord(void *, void *) {
  ENTRY(hipEventRecord);
  return Success;
}

int hipEventSynchronize(void *) {
  ENTRY(hipEventSynchronize);
  return Success;
}

int hipEventElapsedTime(float *milliseconds, void *, void *) {
  ENTRY(hipEventElapsedTime);
  *milliseconds = 1;
  return Success;
}

/// Names and texts of the HIP Runtime API reference, hipError_t.
static constexpr Error errors[] = {
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {209, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
};

int hipDrvGetErrorName(int status, const char **name) {
  return describe(errors, status, name, nullptr);
}

int hipDrvGetErrorString(int status, const char **text) {
  return describe(errors, status, nullptr, text);
}

} // extern "C"
#pragma GCC visibility pop
