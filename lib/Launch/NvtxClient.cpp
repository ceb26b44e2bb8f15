//===- NvtxClient.cpp - the side of NVTX that has ranges to give ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvtxClient.h"

#include <cstddef>
#include <map>
#include <mutex>

using namespace fa;
using namespace fa::nvtx;

namespace {

// Of the enumerations in nvtxTypes.h.
constexpr uint32_t kCallbacksTable = 1, kVersionTable = 3;
constexpr int kCoreModule = 1, kNumModules = 7; ///< module 0 is none
constexpr unsigned kRangePush = 9, kRangePop = 11;
/// Functions of the largest module and of every module here: a tool may write
/// to any of them without asking how many there are.
constexpr unsigned kNumFunctions = 16;

/// The tables as a tool sees them. NVTX gives its functions no pointer of the
/// user's, so that there is one client in a process.
class Client {
public:
  static Client &get() {
    static Client client;
    return client;
  }

  Functions attach(Initialize initialize) {
    std::lock_guard lock(mutex);
    auto [known, isNew] = tools.try_emplace(initialize);
    if (!isNew)
      return known->second;
    for (auto &module : functions)
      for (Function &function : module)
        function = nullptr;
    if (initialize(&exportTable))
      known->second = {functions[kCoreModule][kRangePush],
                       functions[kCoreModule][kRangePop]};
    return known->second;
  }

private:
  Client() {
    for (int module = 0; module < kNumModules; ++module)
      for (unsigned n = 0; n < kNumFunctions; ++n)
        places[module][n] = &functions[module][n];
  }

  /// NvtxExportTableCallbacks::GetModuleFunctionTable.
  static int moduleTable(int module, Function ***table, unsigned *size) {
    if (module < 1 || module >= kNumModules)
      return 0;
    if (size)
      *size = kNumFunctions;
    if (table)
      *table = get().places[module];
    return 1;
  }

  static const void *exportTable(uint32_t id) {
    static const struct {
      size_t size;
      int (*moduleTable)(int, Function ***, unsigned *);
    } callbacks = {sizeof callbacks, &moduleTable};
    static const struct {
      size_t size;
      uint32_t version, reserved;
      void (*setToolVersion)(uint32_t);
    } version = {sizeof version, 3, 0, [](uint32_t) {}};
    if (id == kCallbacksTable)
      return &callbacks;
    return id == kVersionTable ? &version : nullptr;
  }

  std::mutex mutex;
  std::map<Initialize, Functions> tools;
  Function functions[kNumModules][kNumFunctions] = {};
  Function *places[kNumModules][kNumFunctions + 1] = {}; ///< ends with null
};

} // namespace

Functions nvtx::attach(Initialize initialize) {
  return Client::get().attach(initialize);
}
