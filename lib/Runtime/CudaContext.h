//===- CudaContext.h - a device's context, for a while ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_CUDACONTEXT_H
#define FA_LIB_RUNTIME_CUDACONTEXT_H

#include "CudaDriver.h"
#include "fa/Runtime/CudaDevice.h"

namespace fa {

/// Makes the device's context current as long as it is there.
class CudaDevice::Current {
public:
  explicit Current(const CudaDevice &device) : driver(*device.driver) {
    driver.CtxPushCurrent(device.context);
  }
  ~Current() {
    void *popped;
    driver.CtxPopCurrent(&popped);
  }

private:
  const CudaDriver &driver;
};

} // namespace fa

#endif // FA_LIB_RUNTIME_CUDACONTEXT_H
