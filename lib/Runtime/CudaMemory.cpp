//===- CudaMemory.cpp - memory and time of an NVIDIA card -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CudaMemory.h"

#include "fa/Runtime/ToError.h"

using namespace llvm;
using namespace fa;

/// Calls `call` with the device's context current; a failure says `what`.
static Error run(const CudaDevice &device, StringRef what,
                 function_ref<int(const CudaDriver &)> call) {
  CudaDevice::Current current(device);
  if (Failure failure = current.failure())
    return toError(failure);
  return toError(device.cuda().check(call(device.cuda()), what.str()));
}

//===----------------------------------------------------------------------===//
// CudaBuffer
//===----------------------------------------------------------------------===//

Expected<CudaBuffer> CudaBuffer::create(const CudaDevice &device,
                                        size_t bytes) {
  CudaDriver::Pointer address = 0;
  if (Error error = run(device,
                        "cannot allocate " + std::to_string(bytes) +
                            " bytes on " + device.name(),
                        [&](const CudaDriver &cuda) {
                          return cuda.MemAlloc(&address,
                                               std::max<size_t>(bytes, 1));
                        }))
    return error;
  return CudaBuffer(device, address, bytes);
}

CudaBuffer::CudaBuffer(CudaBuffer &&other) noexcept
    : device(other.device), address(other.address), bytes(other.bytes) {
  other.address = 0;
}

CudaBuffer::~CudaBuffer() {
  if (!address)
    return;
  CudaDevice::Current current(device);
  device.cuda().MemFree(address);
}

Error CudaBuffer::copyFromHost(const void *source) {
  return run(device, "cuMemcpyHtoD", [&](const CudaDriver &cuda) {
    return cuda.MemcpyHtoD(address, source, bytes);
  });
}

Error CudaBuffer::copyToHost(void *destination) const {
  return run(device, "cuMemcpyDtoH", [&](const CudaDriver &cuda) {
    return cuda.MemcpyDtoH(destination, address, bytes);
  });
}

//===----------------------------------------------------------------------===//
// CudaTimer
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CudaTimer>>
CudaTimer::create(const CudaDevice &device) {
  std::unique_ptr<CudaTimer> timer(new CudaTimer(device));
  for (void *&event : timer->events)
    if (Error error = run(device, "cuEventCreate", [&](const CudaDriver &cuda) {
          return cuda.EventCreate(&event, 0);
        }))
      return error;
  return timer;
}

CudaTimer::~CudaTimer() {
  CudaDevice::Current current(device);
  for (void *event : events)
    if (event)
      device.cuda().EventDestroy(event);
}

Error CudaTimer::start() {
  return run(device, "cuEventRecord", [&](const CudaDriver &cuda) {
    return cuda.EventRecord(events[0], nullptr);
  });
}

Expected<double> CudaTimer::stop() {
  float milliseconds = 0;
  if (Error error = run(device, "cuEventRecord", [&](const CudaDriver &cuda) {
        return cuda.EventRecord(events[1], nullptr);
      }))
    return error;
  if (Error error =
          run(device, "the kernel failed", [&](const CudaDriver &cuda) {
            return cuda.EventSynchronize(events[1]);
          }))
    return error;
  if (Error error =
          run(device, "cuEventElapsedTime", [&](const CudaDriver &cuda) {
            return cuda.EventElapsedTime(&milliseconds, events[0], events[1]);
          }))
    return error;
  return milliseconds;
}
