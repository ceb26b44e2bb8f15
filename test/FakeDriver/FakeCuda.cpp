//===- FakeCuda.cpp - a libcuda that records its calls --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeState.h"

#include "fa/Launch/GpuDriver.h"

#include <algorithm>
#include <cstdio>

using namespace fake;

namespace {

struct Context {
  int card;
};

Context primary[2] = {{0}, {1}};
Context own = {0};
thread_local Context *stack[64];
thread_local size_t depth = 0;

Context *current() { return depth ? stack[depth - 1] : nullptr; }

} // namespace

#pragma GCC visibility push(default)
extern "C" {

FakeDriver *fakeDriver() { return &driver(); }
void *fakePushOwnContext() { return stack[depth++] = &own; }
void *fakeCurrentContext() { return current(); }
size_t fakeCountCalls(const char *name) {
  return std::count_if(
      driver().calls, driver().calls + driver().numCalls,
      [&](const char *call) { return !std::strcmp(call, name); });
}
const char *fakeLaunched(size_t number) {
  return number < driver().numLaunches ? driver().kernels[number] : "";
}
void fakeCapture(void *stream) {
  driver().capturing = stream;
  ++driver().capture;
}

int cuInit(unsigned) {
  ENTRY(cuInit);
  return Success;
}

int cuDriverGetVersion(int *version) {
  ENTRY(cuDriverGetVersion);
  *version = driver().version;
  return Success;
}

int cuDeviceGetCount(int *count) {
  ENTRY(cuDeviceGetCount);
  *count = driver().numCards;
  return Success;
}

int cuDeviceGet(int *device, int number) {
  ENTRY(cuDeviceGet);
  *device = number;
  return number < driver().numCards ? Success : 101;
}

int cuDeviceGetName(char *name, int size, int device) {
  ENTRY(cuDeviceGetName);
  std::snprintf(name, size, "Fake GPU %d", device);
  return Success;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTRY(cuDeviceGetAttribute);
  switch (attribute) {
  case 16:
    *value = driver().multiprocessors;
    return Success;
  case 36:
    *value = driver().memoryClock;
    return *value ? Success : InvalidValue;
  case 37:
    *value = driver().memoryBus;
    return *value ? Success : InvalidValue;
  case 75:
    *value = driver().capability[device] / 10;
    return Success;
  case 76:
    *value = driver().capability[device] % 10;
    return Success;
  case 88:
    *value = driver().readsHostMemory;
    return Success;
  case 97:
    *value = driver().sharedLimit;
    return Success;
  default:
    return InvalidValue;
  }
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTRY(cuDevicePrimaryCtxRetain);
  ++driver().retained[device];
  *context = &primary[device];
  return Success;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTRY(cuDevicePrimaryCtxRelease_v2);
  return driver().retained[device]-- > 0 ? Success : InvalidContext;
}

int cuCtxPushCurrent_v2(void *context) {
  ENTRY(cuCtxPushCurrent_v2);
  if (!context || depth == 64)
    return InvalidContext;
  stack[depth++] = static_cast<Context *>(context);
  return Success;
}

int cuCtxPopCurrent_v2(void **context) {
  ENTRY(cuCtxPopCurrent_v2);
  if (!depth)
    return InvalidContext;
  *context = stack[--depth];
  return Success;
}

int cuCtxSynchronize() {
  ENTRY(cuCtxSynchronize);
  return current() ? Success : InvalidContext;
}

int cuStreamSynchronize(void *) {
  ENTRY(cuStreamSynchronize);
  return current() ? Success : InvalidContext;
}

/// Takes an ELF file or PTX; writes to the log why not.
int cuModuleLoadDataEx(void **module, const void *image, unsigned numOptions,
                       int *options, void **values) {
  ENTRY(cuModuleLoadDataEx);
  if (!current())
    return InvalidContext;
  if (!isElf(image) &&
      !std::strstr(static_cast<const char *>(image), ".version")) {
    for (unsigned n = 0; n < numOptions; ++n)
      if (options[n] == 5)
        std::strcpy(static_cast<char *>(values[n]), "no header of an image");
    return InvalidImage;
  }
  return loadModule(current()->card, module);
}

int cuModuleUnload(void *module) {
  ENTRY(cuModuleUnload);
  return current() ? unloadModule(module, current()->card) : InvalidContext;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTRY(cuModuleGetFunction);
  *function = findFunction(module, name);
  return Success;
}

int cuFuncSetAttribute(void *, int, int value) {
  ENTRY(cuFuncSetAttribute);
  return value <= driver().sharedLimit ? Success : InvalidValue;
}

int cuFuncGetAttribute(int *value, int attribute, void *) {
  ENTRY(cuFuncGetAttribute);
  *value = attribute == 4 ? 123 : 0;
  return Success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int,
                                                size_t) {
  ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = driver().residentBlocks;
  return Success;
}

#ifndef FAKE_DRIVER_WITHOUT_LAUNCH
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                   unsigned block, unsigned, unsigned, unsigned shared,
                   void *stream, void **parameters, void **) {
  ENTRY(cuLaunchKernel);
  return current() ? launchKernel(function, current()->card, x * y * z, block,
                                  shared, stream, parameters)
                   : InvalidContext;
}

/// Knows one attribute: programmatic stream serialization.
int cuLaunchKernelEx(const fa::LaunchConfig *config, void *function,
                     void **parameters, void **) {
  ENTRY(cuLaunchKernelEx);
  if (!current() || driver().capability[current()->card] < 90)
    return InvalidContext;
  if (config->numAttributes != 1 || config->attributes->name != 6)
    return InvalidValue;
  const unsigned *grid = config->grid;
  int status = launchKernel(function, current()->card,
                            grid[0] * grid[1] * grid[2], config->block[0],
                            config->sharedBytes, config->stream, parameters);
  driver().launch.isEarly = config->attributes->value;
  return status;
}
#endif

int cuPointerGetAttribute(void *value, int, uint64_t address) {
  ENTRY(cuPointerGetAttribute);
  return getMemoryType(value, address);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTRY(cuMemAlloc_v2);
  return allocate(address, bytes);
}

int cuMemFree_v2(uint64_t address) {
  ENTRY(cuMemFree_v2);
  return release(address);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  ENTRY(cuMemcpyHtoD_v2);
  std::memcpy(toPointer(to), from, bytes);
  return Success;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  ENTRY(cuMemcpyDtoH_v2);
  std::memcpy(to, toPointer(from), bytes);
  return Success;
}

int cuMemsetD32Async(uint64_t to, unsigned word, size_t count, void *stream) {
  ENTRY(cuMemsetD32Async);
  if (!current())
    return InvalidContext;
  driver().memset = {to, word, count, stream};
  return Success;
}

/// A map of 128 bytes that begins with the address that it describes. Rows of
/// boxes that are swizzled in 128 bytes (3) are not longer.
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                           const uint64_t *, const uint64_t *,
                           const uint32_t *box, const uint32_t *, int,
                           int swizzle, int, int) {
  ENTRY(cuTensorMapEncodeTiled);
  if (!current())
    return InvalidContext;
  constexpr int bytesOf[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if (swizzle == 3 && box[0] * bytesOf[type] > 128)
    return InvalidValue;
  uint64_t words[16] = {reinterpret_cast<uintptr_t>(address), rank, box[0],
                        box[1]};
  std::memcpy(map, words, sizeof words);
  return Success;
}

int cuStreamGetCaptureInfo(void *stream, int *status, uint64_t *id) {
  ENTRY(cuStreamGetCaptureInfo);
  return getCaptureInfo(stream, status, id);
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTRY(cuThreadExchangeStreamCaptureMode);
  return exchangeCaptureMode(mode);
}

int cuEventCreate(void **event, unsigned) {
  ENTRY(cuEventCreate);
  *event = &driver();
  return Success;
}

int cuEventDestroy_v2(void *) {
  ENTRY(cuEventDestroy_v2);
  return Success;
}

int cuEventRecord(void *, void *) {
  ENTRY(cuEventRecord);
  return Success;
}

int cuEventSynchronize(void *) {
  ENTRY(cuEventSynchronize);
  return Success;
}

int cuEventElapsedTime(float *milliseconds, void *, void *) {
  ENTRY(cuEventElapsedTime);
  *milliseconds = 1;
  return Success;
}

/// The names and texts of the CUDA Driver API reference, CUresult.
static constexpr Error errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

int cuGetErrorName(int status, const char **name) {
  return describe(errors, status, name, nullptr);
}

int cuGetErrorString(int status, const char **text) {
  return describe(errors, status, nullptr, text);
}

} // extern "C"
#pragma GCC visibility pop
