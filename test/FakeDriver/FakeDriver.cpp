//===- FakeDriver.cpp - a libcuda that records its calls ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <set>

// Values of CUresult.
enum : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidImage = 200,
  InvalidContext = 201,
  InvalidHandle = 400,
};

namespace {

struct Context {
  int card;
};
struct Module;
struct Function {
  Module *module;
  char name[128];
};
struct Module {
  Context *context;
  std::list<Function> functions;
};

FakeDriver driver;
Context primary[2] = {{0}, {1}};
Context own = {0};
thread_local Context *stack[64];
thread_local size_t depth = 0;
std::mutex mutex;
std::set<uintptr_t> memory;

/// Notes the call; what it returns if it is to fail.
int note(const char *name) {
  std::lock_guard lock(mutex);
  if (driver.numCalls < FakeDriver::maxCalls)
    driver.calls[driver.numCalls++] = name;
  return driver.failing && !std::strcmp(driver.failing, name) ? driver.failure
                                                              : Success;
}

void *toPointer(uint64_t address) {
  // The driver's interface has addresses as integers.
  return reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
}

Context *current() { return depth ? stack[depth - 1] : nullptr; }

} // namespace

#define ENTRY(NAME)                                                            \
  if (int failure = note(#NAME))                                               \
  return failure

extern "C" {

FakeDriver *fakeDriver() { return &driver; }
void *fakePushOwnContext() { return stack[depth++] = &own; }
void *fakeCurrentContext() { return current(); }

int cuInit(unsigned) {
  ENTRY(cuInit);
  return Success;
}

int cuDriverGetVersion(int *version) {
  ENTRY(cuDriverGetVersion);
  *version = driver.version;
  return Success;
}

int cuDeviceGetCount(int *count) {
  ENTRY(cuDeviceGetCount);
  *count = driver.numCards;
  return Success;
}

int cuDeviceGet(int *device, int number) {
  ENTRY(cuDeviceGet);
  *device = number;
  return number < driver.numCards ? Success : 101;
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
    *value = 108;
    return Success;
  case 75:
    *value = driver.capability[device] / 10;
    return Success;
  case 76:
    *value = driver.capability[device] % 10;
    return Success;
  case 88:
    *value = driver.readsHostMemory;
    return Success;
  case 97:
    *value = driver.sharedLimit;
    return Success;
  default:
    return InvalidValue;
  }
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTRY(cuDevicePrimaryCtxRetain);
  ++driver.retained[device];
  *context = &primary[device];
  return Success;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTRY(cuDevicePrimaryCtxRelease_v2);
  return driver.retained[device]-- > 0 ? Success : InvalidContext;
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
  if (std::memcmp(image, "\177ELF", 4) != 0 &&
      !std::strstr(static_cast<const char *>(image), ".version")) {
    for (unsigned n = 0; n < numOptions; ++n)
      if (options[n] == 5)
        std::strcpy(static_cast<char *>(values[n]), "no header of an image");
    return InvalidImage;
  }
  *module = new Module{current(), {}};
  driver.maxModules = std::max(driver.maxModules, ++driver.numModules);
  return Success;
}

int cuModuleUnload(void *module) {
  ENTRY(cuModuleUnload);
  if (current() != static_cast<Module *>(module)->context)
    return InvalidContext;
  --driver.numModules;
  delete static_cast<Module *>(module);
  return Success;
}

int cuModuleGetFunction(void **function, void *handle, const char *name) {
  ENTRY(cuModuleGetFunction);
  auto *module = static_cast<Module *>(handle);
  Function &result = module->functions.emplace_back(Function{module, {}});
  std::snprintf(result.name, sizeof result.name, "%s", name);
  *function = &result;
  return Success;
}

int cuFuncSetAttribute(void *, int, int value) {
  ENTRY(cuFuncSetAttribute);
  return value <= driver.sharedLimit ? Success : InvalidValue;
}

int cuFuncGetAttribute(int *value, int attribute, void *) {
  ENTRY(cuFuncGetAttribute);
  *value = attribute == 4 ? 123 : 0;
  return Success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int,
                                                size_t) {
  ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = driver.residentBlocks;
  return Success;
}

#ifndef FAKE_DRIVER_WITHOUT_LAUNCH
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                   unsigned block, unsigned, unsigned, unsigned shared,
                   void *stream, void **parameters, void **) {
  ENTRY(cuLaunchKernel);
  auto *kernel = static_cast<Function *>(function);
  if (current() != kernel->module->context)
    return InvalidContext;
  if (!x || !y || !z || !block)
    return InvalidValue;
  auto &launch = driver.launch;
  ++driver.numLaunches;
  driver.lastLaunch = launch;
  std::memcpy(launch.kernel, kernel->name, sizeof launch.kernel);
  launch.grid = x * y * z;
  launch.block = block;
  launch.shared = shared;
  launch.card = current()->card;
  launch.stream = stream;
  std::memcpy(launch.words, parameters[0], 8 * driver.numWords);
  for (size_t n = 0; n < driver.numMaps; ++n)
    std::memcpy(launch.maps[n], parameters[1 + n], sizeof launch.maps[n]);
  return Success;
}
#endif

int cuPointerGetAttribute(void *value, int, uint64_t address) {
  ENTRY(cuPointerGetAttribute);
  std::lock_guard lock(mutex);
  if (!memory.count(address))
    return InvalidValue;
  *static_cast<unsigned *>(value) = 2; // memory of a card
  return Success;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTRY(cuMemAlloc_v2);
  // As aligned as the real driver's.
  void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!block)
    return OutOfMemory;
  *address = reinterpret_cast<uintptr_t>(block);
  std::lock_guard lock(mutex);
  memory.insert(*address);
  return Success;
}

int cuMemFree_v2(uint64_t address) {
  ENTRY(cuMemFree_v2);
  std::lock_guard lock(mutex);
  if (!memory.erase(address))
    return InvalidValue;
  std::free(toPointer(address));
  return Success;
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

/// A map of 128 bytes that begins with the address that it describes.
int cuTensorMapEncodeTiled(void *map, int, unsigned rank, void *address,
                           const uint64_t *, const uint64_t *,
                           const uint32_t *box, const uint32_t *, int, int, int,
                           int) {
  ENTRY(cuTensorMapEncodeTiled);
  if (!current())
    return InvalidContext;
  uint64_t words[16] = {reinterpret_cast<uintptr_t>(address), rank, box[0],
                        box[1]};
  std::memcpy(map, words, sizeof words);
  return Success;
}

int cuEventCreate(void **event, unsigned) {
  ENTRY(cuEventCreate);
  *event = &driver;
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
static const struct {
  int status;
  const char *name, *text;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

int cuGetErrorName(int status, const char **name) {
  for (const auto &error : errors)
    if (error.status == status) {
      *name = error.name;
      return Success;
    }
  return InvalidValue;
}

int cuGetErrorString(int status, const char **text) {
  for (const auto &error : errors)
    if (error.status == status) {
      *text = error.text;
      return Success;
    }
  return InvalidValue;
}

} // extern "C"
