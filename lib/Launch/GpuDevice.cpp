//===- GpuDevice.cpp - an NVIDIA or AMD card ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/GpuDevice.h"

#include <cstring>

using namespace fa;

Result<std::shared_ptr<GpuDevice>> GpuDevice::open(DriverKind kind, int number,
                                                   const std::string &path) {
  auto opened = GpuDriver::open(kind, path);
  if (!opened)
    return opened.takeFailure();
  const GpuDriver &driver = **opened;
  int count = 0;
  if (Failure failure =
          driver.check(driver.DeviceGetCount(&count), "cannot count the cards"))
    return failure;
  if (number < 0 || number >= count)
    return makeFailure("no card ", number, ": found ", count);
  std::shared_ptr<GpuDevice> result(new GpuDevice);
  result->opened = *opened;
  if (Failure failure = driver.checkCall(
          driver.DeviceGet(&result->device, number), "DeviceGet"))
    return failure;
  if (Failure failure = result->readFacts())
    return failure;
  if (result->isHip())
    return result;
  if (Failure failure = driver.checkCall(
          driver.DevicePrimaryCtxRetain(&result->context, result->device),
          "DevicePrimaryCtxRetain"))
    return failure;
  return result;
}

Failure GpuDevice::readFacts() {
  const DriverInfo &info = opened->info();
  char name[256] = {};
  opened->DeviceGetName(name, sizeof(name) - 1, device);
  cardName = name;
  opened->DriverGetVersion(&version);
  int status = 0;
  auto attribute = [&](int which) {
    int value = 0;
    if (int problem = opened->DeviceGetAttribute(&value, which, device))
      status = problem;
    return value;
  };
  processors = attribute(info.multiprocessorCount);
  sharedBytes = attribute(info.maxSharedPerBlock);
  pageable = attribute(info.pageableMemoryAccess);
  if (!isHip()) {
    // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    capability = attribute(75) * 10;
    capability += attribute(76);
  }
  if (Failure failure = opened->checkCall(status, "DeviceGetAttribute"))
    return failure;
  // Plans do without these.
  int64_t kilohertz = attribute(info.memoryClockRate),
          bits = attribute(info.memoryBusWidth);
  memoryBandwidth = 2 * kilohertz * (bits / 8) / 1000;
  return isHip() ? readArchitecture() : Failure();
}

/// The architecture is the card's name for compilers without the features that
/// follow it, as in gfx942:sramecc+:xnack-: code that names none runs with
/// each.
Failure GpuDevice::readArchitecture() {
  // hipDeviceProp_t as of ROCm 6.0: 1472 bytes, gcnArchName at 1160. Newer ones
  // have another function.
  struct Properties {
    alignas(8) char before[1160];
    char gcnArchName[256];
    char behind[4096 - 1160 - 256];
  } properties = {};
  if (Failure failure =
          opened->checkCall(opened->GetDeviceProperties(&properties, device),
                            "GetDeviceProperties"))
    return failure;
  const char *name = properties.gcnArchName;
  architecture.assign(name, strnlen(name, sizeof properties.gcnArchName));
  architecture.resize(std::min(architecture.find(':'), architecture.size()));
  return {};
}

GpuDevice::~GpuDevice() {
  if (context)
    opened->DevicePrimaryCtxRelease(device);
}

//===----------------------------------------------------------------------===//
// What is current
//===----------------------------------------------------------------------===//

GpuDevice::Current::Current(const GpuDevice &device) : device(device) {
  const GpuDriver &driver = device.driver();
  if (!device.isHip()) {
    status = driver.CtxPushCurrent(device.context);
    return;
  }
  status = driver.GetDevice(&before);
  if (status == 0)
    status = driver.SetDevice(device.device);
}

GpuDevice::Current::~Current() {
  if (status != 0)
    return;
  if (device.isHip()) {
    device.driver().SetDevice(before);
    return;
  }
  void *popped;
  device.driver().CtxPopCurrent(&popped);
}

Failure GpuDevice::Current::failure() const {
  return device.driver().checkCall(status, device.isHip() ? "SetDevice"
                                                          : "CtxPushCurrent");
}

GpuDevice::RelaxedCapture::RelaxedCapture(const GpuDevice &device)
    : device(device),
      status(device.driver().ThreadExchangeStreamCaptureMode(&mode)) {}

GpuDevice::RelaxedCapture::~RelaxedCapture() {
  if (status == 0)
    device.driver().ThreadExchangeStreamCaptureMode(&mode);
}

Failure GpuDevice::RelaxedCapture::failure() const {
  return device.driver().checkCall(status, "ThreadExchangeStreamCaptureMode");
}

Failure GpuDevice::synchronize() const {
  Current current(*this);
  if (Failure failure = current.failure())
    return failure;
  return opened->check(opened->CtxSynchronize(), "the kernel failed");
}

Failure GpuDevice::synchronize(void *stream) const {
  Current current(*this);
  if (Failure failure = current.failure())
    return failure;
  return opened->check(opened->StreamSynchronize(stream), "the kernel failed");
}
