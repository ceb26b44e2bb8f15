//===- CudaDevice.cpp - an NVIDIA card ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CudaDevice.h"

#include "CudaContext.h"

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// CudaDevice
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<CudaDevice>> CudaDevice::open(int number) {
  auto driver = CudaDriver::get();
  if (!driver)
    return driver.takeError();
  const CudaDriver &cuda = **driver;
  int count = 0;
  if (Error error = cuda.check(cuda.DeviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  if (number < 0 || number >= count)
    return createStringError("no card " + Twine(number) + ": found " +
                             Twine(count));
  std::shared_ptr<CudaDevice> device(new CudaDevice);
  device->driver = &cuda;
  if (Error error =
          cuda.check(cuda.DeviceGet(&device->device, number), "cuDeviceGet"))
    return error;
  char name[256] = {};
  cuda.DeviceGetName(name, sizeof(name) - 1, device->device);
  device->cardName = name;
  cuda.DriverGetVersion(&device->version);
  auto attribute = [&](int which) {
    int value = 0;
    cuda.DeviceGetAttribute(&value, which, device->device);
    return value;
  };
  device->capability = attribute(CudaDriver::capabilityMajor) * 10 +
                       attribute(CudaDriver::capabilityMinor);
  device->processors = attribute(CudaDriver::multiprocessorCount);
  device->sharedBytes = attribute(CudaDriver::maxSharedPerBlockOptin);
  if (Error error = cuda.check(
          cuda.DevicePrimaryCtxRetain(&device->context, device->device),
          "cuDevicePrimaryCtxRetain"))
    return error;
  return device;
}

CudaDevice::~CudaDevice() {
  if (context)
    driver->DevicePrimaryCtxRelease(device);
}

Expected<CudaBuffer> CudaDevice::allocate(size_t bytes) const {
  Current current(*this);
  CudaDriver::Pointer address = 0;
  if (Error error = driver->check(
          driver->MemAlloc(&address, std::max<size_t>(bytes, 1)),
          "cannot allocate " + Twine(bytes) + " bytes on " + cardName))
    return error;
  return CudaBuffer(*this, address, bytes);
}

Error CudaDevice::synchronize() const {
  Current current(*this);
  return driver->check(driver->CtxSynchronize(), "the kernel failed");
}

//===----------------------------------------------------------------------===//
// CudaBuffer
//===----------------------------------------------------------------------===//

CudaBuffer::CudaBuffer(CudaBuffer &&other) noexcept
    : device(other.device), address(other.address), bytes(other.bytes) {
  other.address = 0;
}

CudaBuffer::~CudaBuffer() {
  if (!address)
    return;
  CudaDevice::Current current(device);
  device.driver->MemFree(address);
}

Error CudaBuffer::copyFromHost(const void *source) {
  CudaDevice::Current current(device);
  return device.driver->check(device.driver->MemcpyHtoD(address, source, bytes),
                              "cuMemcpyHtoD");
}

Error CudaBuffer::copyToHost(void *destination) const {
  CudaDevice::Current current(device);
  return device.driver->check(
      device.driver->MemcpyDtoH(destination, address, bytes), "cuMemcpyDtoH");
}

//===----------------------------------------------------------------------===//
// CudaTimer
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CudaTimer>>
CudaTimer::create(const CudaDevice &device) {
  CudaDevice::Current current(device);
  std::unique_ptr<CudaTimer> timer(new CudaTimer(device));
  for (void *&event : timer->events)
    if (Error error = device.driver->check(
            device.driver->EventCreate(&event, 0), "cuEventCreate"))
      return error;
  return timer;
}

CudaTimer::~CudaTimer() {
  CudaDevice::Current current(device);
  for (void *event : events)
    if (event)
      device.driver->EventDestroy(event);
}

Error CudaTimer::start() {
  CudaDevice::Current current(device);
  return device.driver->check(device.driver->EventRecord(events[0], nullptr),
                              "cuEventRecord");
}

Expected<double> CudaTimer::stop() {
  CudaDevice::Current current(device);
  const CudaDriver &cuda = *device.driver;
  float milliseconds = 0;
  if (Error error =
          cuda.check(cuda.EventRecord(events[1], nullptr), "cuEventRecord"))
    return error;
  if (Error error =
          cuda.check(cuda.EventSynchronize(events[1]), "the kernel failed"))
    return error;
  if (Error error =
          cuda.check(cuda.EventElapsedTime(&milliseconds, events[0], events[1]),
                     "cuEventElapsedTime"))
    return error;
  return milliseconds;
}
