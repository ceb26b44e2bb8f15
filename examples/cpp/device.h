//===- device.h - memory where kernels run --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the CPU the process's own; on a card of NVIDIA's that of its primary
// context, by the driver's own functions, so that nothing is linked for it.
//
//===----------------------------------------------------------------------===//

#ifndef EXAMPLES_CPP_DEVICE_H
#define EXAMPLES_CPP_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <vector>

class Device {
public:
  /// "cpu" or "cuda" (card 0).
  explicit Device(const std::string &target) {
    if (target == "cpu")
      return;
    if (target != "cuda")
      throw std::runtime_error("expected the target cpu or cuda, found " +
                               target);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
      throw std::runtime_error("the NVIDIA driver is not there");
    int device = 0;
    void *context = nullptr;
    call<int (*)(unsigned)>("cuInit", 0u);
    call<int (*)(int *, int)>("cuDeviceGet", &device, 0);
    call<int (*)(void **, int)>("cuDevicePrimaryCtxRetain", &context, device);
    call<int (*)(void *)>("cuCtxSetCurrent", context);
  }

  /// Lives as long as the process.
  void *allocate(size_t bytes) {
    if (!driver)
      return std::calloc(bytes ? bytes : 1, 1);
    uint64_t address = 0;
    call<int (*)(uint64_t *, size_t)>("cuMemAlloc_v2", &address,
                                      bytes ? bytes : size_t(1));
    return reinterpret_cast<void *>(address);
  }
  template <typename T> void write(void *to, const std::vector<T> &from) {
    size_t bytes = from.size() * sizeof(T);
    if (!driver)
      std::memcpy(to, from.data(), bytes);
    else if (bytes)
      call<int (*)(uint64_t, const void *, size_t)>(
          "cuMemcpyHtoD_v2", reinterpret_cast<uint64_t>(to),
          static_cast<const void *>(from.data()), bytes);
  }
  template <typename T> void read(std::vector<T> &to, const void *from) {
    size_t bytes = to.size() * sizeof(T);
    if (!driver)
      std::memcpy(to.data(), from, bytes);
    else if (bytes)
      call<int (*)(void *, uint64_t, size_t)>(
          "cuMemcpyDtoH_v2", static_cast<void *>(to.data()),
          reinterpret_cast<uint64_t>(from), bytes);
  }

private:
  template <typename Function, typename... Arguments>
  void call(const char *name, Arguments... arguments) {
    auto function = reinterpret_cast<Function>(dlsym(driver, name));
    if (int status = function ? function(arguments...) : -1)
      throw std::runtime_error(std::string(name) + " gave " +
                               std::to_string(status));
  }

  void *driver = nullptr; ///< null: the CPU
};

#endif // EXAMPLES_CPP_DEVICE_H
