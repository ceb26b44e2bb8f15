//===- GpuMemory.cpp - memory and time of a card --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/GpuMemory.h"

#include "fa/Runtime/ToError.h"

using namespace llvm;
using namespace fa;

/// Calls `call` with the device current; a failure says `what`.
static Error run(const GpuDevice &device, StringRef what,
                 function_ref<int(const GpuDriver &)> call) {
  GpuDevice::Current current(device);
  if (Failure failure = current.failure())
    return toError(failure);
  return toError(device.driver().check(call(device.driver()), what.str()));
}

//===----------------------------------------------------------------------===//
// GpuBuffer
//===----------------------------------------------------------------------===//

Expected<GpuBuffer> GpuBuffer::create(const GpuDevice &device, size_t bytes,
                                      size_t offset) {
  GpuDriver::Pointer address = 0;
  if (Error error = run(device,
                        "cannot allocate " + std::to_string(bytes) +
                            " bytes on " + device.name(),
                        [&](const GpuDriver &driver) {
                          return driver.MemAlloc(
                              &address, std::max<size_t>(bytes + offset, 1));
                        }))
    return error;
  return GpuBuffer(device, address, bytes, offset);
}

GpuBuffer::GpuBuffer(GpuBuffer &&other) noexcept
    : device(other.device), address(other.address), bytes(other.bytes),
      offset(other.offset) {
  other.address = 0;
}

GpuBuffer::~GpuBuffer() {
  if (!address)
    return;
  GpuDevice::Current current(device);
  device.driver().MemFree(address);
}

Error GpuBuffer::copyFromHost(const void *source) {
  return run(device, "cannot copy to the card", [&](const GpuDriver &driver) {
    return driver.MemcpyHtoD(address + offset, source, bytes);
  });
}

Error GpuBuffer::copyToHost(void *destination) const {
  return run(device, "cannot copy from the card", [&](const GpuDriver &driver) {
    return driver.MemcpyDtoH(destination, address + offset, bytes);
  });
}

//===----------------------------------------------------------------------===//
// GpuTimer
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<GpuTimer>> GpuTimer::create(const GpuDevice &device) {
  std::unique_ptr<GpuTimer> timer(new GpuTimer(device));
  for (void *&event : timer->events)
    if (Error error =
            run(device, "cannot create an event", [&](const GpuDriver &driver) {
              return driver.EventCreate(&event, 0);
            }))
      return error;
  return timer;
}

GpuTimer::~GpuTimer() {
  GpuDevice::Current current(device);
  for (void *event : events)
    if (event)
      device.driver().EventDestroy(event);
}

Error GpuTimer::start() {
  return run(device, "cannot record an event", [&](const GpuDriver &driver) {
    return driver.EventRecord(events[0], nullptr);
  });
}

Expected<double> GpuTimer::stop() {
  float milliseconds = 0;
  if (Error error =
          run(device, "cannot record an event", [&](const GpuDriver &driver) {
            return driver.EventRecord(events[1], nullptr);
          }))
    return error;
  if (Error error =
          run(device, "the kernel failed", [&](const GpuDriver &driver) {
            return driver.EventSynchronize(events[1]);
          }))
    return error;
  if (Error error =
          run(device, "cannot measure a time", [&](const GpuDriver &driver) {
            return driver.EventElapsedTime(&milliseconds, events[0], events[1]);
          }))
    return error;
  return milliseconds;
}
