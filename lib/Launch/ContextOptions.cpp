//===- ContextOptions.cpp - what a context is created with ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ContextOptions.h"

#include <cstring>

using namespace fa;

Result<faContextOptions>
fa::readContextOptions(const faContextOptions *options) {
  faContextOptions result{};
  result.size = sizeof result;
  if (!options)
    return result;
  if (options->size != sizeof result &&
      options->size != kFirstContextOptionsSize)
    return makeFailure("faContextOptions: expected size ", sizeof result,
                       ", found ", options->size);
  std::memcpy(&result, options, options->size);
  if (result.threads > 4096)
    return makeFailure("faContextOptions: expected at most 4096 threads, "
                       "found ",
                       result.threads);
  return result;
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
  return std::make_shared<HostDevice>(options.threads, wrapPool(options));
}
