//===- CudaPlan.cpp - an artifact, loaded on a card -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CudaPlan.h"

#include "CudaContext.h"
#include "Launch.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;

/// Loads the code of `artifact`; the driver's log explains a failure.
static Error loadModule(const CudaDriver &cuda, const Artifact &artifact,
                        void **module) {
  const std::string &image =
      artifact.object.empty() ? artifact.ptx : artifact.object;
  // CU_JIT_ERROR_LOG_BUFFER and its size, which travels as a pointer.
  char log[4096] = {};
  int options[] = {5, 6};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  int result = cuda.ModuleLoadDataEx(module, image.c_str(), 2, options, values);
  return cuda.check(result, "cannot load the kernels for " + artifact.arch +
                                (log[0] ? ": " + Twine(log) : Twine()));
}

Expected<std::unique_ptr<CudaPlan>>
CudaPlan::load(Artifact artifact, std::shared_ptr<CudaDevice> device) {
  CudaDevice::Current current(*device);
  const CudaDriver &cuda = *device->driver;
  std::unique_ptr<CudaPlan> loaded(new CudaPlan);
  loaded->plan = std::move(artifact);
  loaded->device = device;
  if (Error error = loadModule(cuda, loaded->plan, &loaded->module))
    return error;
  for (KernelInfo &kernel : loaded->plan.kernels) {
    if (kernel.sharedBytes > device->sharedLimit())
      return sharedMemoryError(kernel, device->name(), device->sharedLimit());
    void *&function = loaded->functions[kernel.symbol];
    if (Error error =
            cuda.check(cuda.ModuleGetFunction(&function, loaded->module,
                                              kernel.symbol.c_str()),
                       "cannot find @" + kernel.symbol))
      return error;
    if (Error error =
            cuda.check(cuda.FuncSetAttribute(
                           function, CudaDriver::functionMaxDynamicShared,
                           kernel.sharedBytes),
                       "@" + kernel.symbol + ": cuFuncSetAttribute"))
      return error;
    int value = 0;
    if (!cuda.FuncGetAttribute(&value, CudaDriver::functionNumRegs, function))
      kernel.registers = value;
    if (!cuda.FuncGetAttribute(&value, CudaDriver::functionLocalBytes,
                               function))
      kernel.stackBytes = value;
  }
  return loaded;
}

CudaPlan::~CudaPlan() {
  if (!module)
    return;
  CudaDevice::Current current(*device);
  device->driver->ModuleUnload(module);
}

Expected<const KernelInfo *>
CudaPlan::select(ArrayRef<LaunchArgument> arguments) const {
  return selectKernel(plan, arguments);
}

Error CudaPlan::launch(ArrayRef<LaunchArgument> arguments, void *stream) const {
  Expected<const KernelInfo *> kernel = select(arguments);
  if (!kernel)
    return kernel.takeError();
  int64_t extents[3];
  Expected<int64_t> count = evaluateLinearGrid(**kernel, arguments, extents);
  if (!count)
    return count.takeError();
  if (*count == 0)
    return Error::success();
  auto words = packWords(arguments, extents);
  void *parameters[] = {words.data()};
  CudaDevice::Current current(*device);
  const CudaDriver &cuda = *device->driver;
  return cuda.check(cuda.LaunchKernel(functions.lookup((*kernel)->symbol),
                                      *count, 1, 1, (*kernel)->threads, 1, 1,
                                      (*kernel)->sharedBytes, stream,
                                      parameters, nullptr),
                    "cannot launch @" + (*kernel)->symbol);
}

//===----------------------------------------------------------------------===//
// On host memory
//===----------------------------------------------------------------------===//

/// Bytes from element 0 to the end of the last one.
static size_t extentOf(const LaunchArgument &argument) {
  int64_t last = 0;
  for (auto [size, stride] : zip(argument.sizes, argument.strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return (last + 1) * byteSize(argument.type);
}

Expected<SmallVector<LaunchArgument>>
CudaPlan::copyToDevice(ArrayRef<LaunchArgument> arguments,
                       std::vector<CudaBuffer> &buffers) const {
  // What does not fit the kernel may not have the extent that it says.
  auto kernel = select(arguments);
  if (!kernel)
    return kernel.takeError();
  SmallVector<LaunchArgument> copies(arguments);
  for (LaunchArgument &argument : copies) {
    if (!argument.isTensor)
      continue;
    auto buffer = device->allocate(extentOf(argument));
    if (!buffer)
      return buffer.takeError();
    if (extentOf(argument))
      if (Error error = buffer->copyFromHost(argument.data))
        return error;
    argument.data = buffer->data();
    buffers.push_back(std::move(*buffer));
  }
  return copies;
}

Error CudaPlan::copyToHost(ArrayRef<LaunchArgument> arguments,
                           const std::vector<CudaBuffer> &buffers) const {
  size_t next = 0;
  for (auto [argument, info] : zip(arguments, plan.kernels.back().args)) {
    if (!argument.isTensor)
      continue;
    const CudaBuffer &buffer = buffers[next++];
    if (info.access != Access::In && extentOf(argument))
      if (Error error = buffer.copyToHost(argument.data))
        return error;
  }
  return Error::success();
}

Error CudaPlan::launchOnHostMemory(ArrayRef<LaunchArgument> arguments) const {
  std::vector<CudaBuffer> buffers;
  auto copies = copyToDevice(arguments, buffers);
  if (!copies)
    return copies.takeError();
  if (Error error = launch(*copies))
    return error;
  if (Error error = device->synchronize())
    return error;
  return copyToHost(arguments, buffers);
}
