//===- FakeNvtx.cpp - a tool that NVTX injects ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeRanges.h"

#include <cstddef>
#include <cstdint>

namespace {

FakeRanges noted;

int push(const char *name) {
  noted.names.emplace_back(name);
  return noted.depth++;
}

int pop() { return --noted.depth; }

using Function = void (*)();

/// NvtxExportTableCallbacks of NVTX 3 (nvtxTypes.h).
struct Callbacks {
  size_t size;
  int (*moduleTable)(int module, Function ***table, unsigned *size);
};

} // namespace

extern "C" {

FakeRanges *fakeNvtx() { return &noted; }

/// Attaches as Nsight Systems does: it wants ranges of the core module, and
/// takes what a table of another module has for granted.
int InitializeInjectionNvtx2(const void *(*getTable)(uint32_t)) {
  ++noted.attached;
  auto *callbacks = static_cast<const Callbacks *>(getTable(1));
  if (!callbacks || callbacks->size < sizeof(Callbacks) || getTable(2))
    return 0;
  Function **core = nullptr, **other = nullptr;
  unsigned size = 0;
  if (!callbacks->moduleTable(1, &core, &size) || size < 12 ||
      callbacks->moduleTable(0, &other, nullptr) ||
      !callbacks->moduleTable(2, &other, nullptr))
    return 0;
  *core[9] = reinterpret_cast<Function>(&push);
  *core[11] = reinterpret_cast<Function>(&pop);
  *other[1] = nullptr;
  return 1;
}
}
