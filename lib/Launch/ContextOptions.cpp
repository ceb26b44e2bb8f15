//===- ContextOptions.cpp - what a context is created with ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ContextOptions.h"

#include "fa/Launch/SizedStruct.h"

using namespace fa;

Result<faContextOptions>
fa::readContextOptions(const faContextOptions *options) {
  faContextOptions result{};
  result.size = sizeof result;
  if (!options)
    return result;
  auto given =
      readSized("faContextOptions", *options, kFirstContextOptionsSize);
  if (!given)
    return given;
  result = *given;
  if (result.cacheMode < FA_CACHE_READ_WRITE ||
      result.cacheMode > FA_CACHE_ONLY)
    return makeFailure("faContextOptions: expected cacheMode between 0 and 2, "
                       "found ",
                       static_cast<int>(result.cacheMode));
  if (result.compile < FA_COMPILE_EAGER ||
      result.compile > FA_COMPILE_BACKGROUND)
    return makeFailure("faContextOptions: expected compile between 0 and 2, "
                       "found ",
                       static_cast<int>(result.compile));
  if (!result.allocate != !result.deallocate)
    return makeFailure("faContextOptions: expected both of allocate and "
                       "deallocate or neither, found one");
  if (result.threads > 4096)
    return makeFailure("faContextOptions: expected at most 4096 threads, "
                       "found ",
                       result.threads);
  return result;
}

/// The caller's memory as the device wants it.
static HostDevice::Allocator wrapAllocator(const faContextOptions &options) {
  if (!options.allocate)
    return {};
  void *user = options.user;
  return {[=, allocate = options.allocate](size_t bytes, size_t alignment) {
            return allocate(user, bytes, alignment);
          },
          [=, deallocate = options.deallocate](void *memory, size_t bytes) {
            deallocate(user, memory, bytes);
          }};
}

/// The caller's pool as the device wants it.
static HostDevice::Parallel wrapPool(const faContextOptions &options) {
  if (!options.parallel)
    return nullptr;
  auto *parallel = options.parallel;
  void *pool = options.pool;
  return [=](unsigned n, const std::function<void(unsigned)> &body) {
    parallel(
        pool, n,
        [](void *argument, uint32_t worker) {
          (*static_cast<const std::function<void(unsigned)> *>(argument))(
              worker);
        },
        const_cast<std::function<void(unsigned)> *>(&body));
  };
}

std::shared_ptr<HostDevice>
fa::createHostDevice(const faContextOptions &options) {
  return std::make_shared<HostDevice>(options.threads, wrapPool(options),
                                      wrapAllocator(options));
}
