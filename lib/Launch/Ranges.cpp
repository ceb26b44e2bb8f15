//===- Ranges.cpp - what a profiler shows of this library -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/Ranges.h"

#include "NvtxClient.h"

#include <dlfcn.h>

using namespace fa;

Result<std::shared_ptr<const Ranges>> Ranges::open(const std::string &library) {
  // NODELETE: the profiler's threads live in it.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle)
    return makeFailure("ranges: ", dlerror());
  auto find = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  Push push = nullptr;
  Pop pop = nullptr;
  if (nvtx::Initialize initialize;
      find(initialize, "InitializeInjectionNvtx2")) {
    nvtx::Functions functions = nvtx::attach(initialize);
    push = reinterpret_cast<Push>(functions.rangePush);
    pop = reinterpret_cast<Pop>(functions.rangePop);
    if (!push || !pop)
      return makeFailure("ranges: the tool of ", library, " takes none");
  } else if (!find(push, "roctxRangePushA") || !find(pop, "roctxRangePop")) {
    return makeFailure("ranges: expected InitializeInjectionNvtx2 or "
                       "roctxRangePushA in ",
                       library, ", found neither");
  }
  return std::shared_ptr<const Ranges>(new Ranges(push, pop));
}
