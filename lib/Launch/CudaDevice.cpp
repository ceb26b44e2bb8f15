//===- CudaDevice.cpp - an NVIDIA card ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/CudaDevice.h"

using namespace fa;

Result<std::shared_ptr<CudaDevice>>
CudaDevice::open(int number, const std::string &driver) {
  auto opened = CudaDriver::open(driver);
  if (!opened)
    return opened.takeFailure();
  const CudaDriver &cuda = **opened;
  int count = 0;
  if (Failure failure =
          cuda.check(cuda.DeviceGetCount(&count), "cuDeviceGetCount"))
    return failure;
  if (number < 0 || number >= count)
    return makeFailure("no card ", number, ": found ", count);
  std::shared_ptr<CudaDevice> result(new CudaDevice);
  result->driver = *opened;
  if (Failure failure =
          cuda.check(cuda.DeviceGet(&result->device, number), "cuDeviceGet"))
    return failure;
  if (Failure failure = result->readFacts())
    return failure;
  if (Failure failure = cuda.check(
          cuda.DevicePrimaryCtxRetain(&result->context, result->device),
          "cuDevicePrimaryCtxRetain"))
    return failure;
  return result;
}

Failure CudaDevice::readFacts() {
  char name[256] = {};
  driver->DeviceGetName(name, sizeof(name) - 1, device);
  cardName = name;
  driver->DriverGetVersion(&version);
  int status = 0;
  auto attribute = [&](int which) {
    int value = 0;
    if (int problem = driver->DeviceGetAttribute(&value, which, device))
      status = problem;
    return value;
  };
  capability = attribute(CudaDriver::capabilityMajor) * 10 +
               attribute(CudaDriver::capabilityMinor);
  processors = attribute(CudaDriver::multiprocessorCount);
  sharedBytes = attribute(CudaDriver::maxSharedPerBlockOptin);
  pageable = attribute(CudaDriver::pageableMemoryAccess);
  return driver->check(status, "cuDeviceGetAttribute");
}

CudaDevice::~CudaDevice() {
  if (context)
    driver->DevicePrimaryCtxRelease(device);
}

Failure CudaDevice::synchronize() const {
  Current current(*this);
  if (Failure failure = current.failure())
    return failure;
  return driver->check(driver->CtxSynchronize(), "the kernel failed");
}

Failure CudaDevice::synchronize(void *stream) const {
  Current current(*this);
  if (Failure failure = current.failure())
    return failure;
  return driver->check(driver->StreamSynchronize(stream), "the kernel failed");
}
