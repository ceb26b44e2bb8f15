//===- FakeCpu.cpp - this machine as one with a lesser CPU ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded before LLVM's library (LD_PRELOAD), this says in its place what CPU
// the machine has: the one that FAKE_CPU names, with those of its features that
// are there. Every program of the suite, and what embeds the library, then
// behaves as it would on such a machine: it compiles for that CPU and refuses
// code for a better one.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

static StringRef fakeCpu() {
  const char *name = std::getenv("FAKE_CPU");
  if (!name) {
    std::fputs("fake-cpu: expected the name of a CPU in FAKE_CPU\n", stderr);
    std::abort();
  }
  return name;
}

/// LLVM's own function of the same name.
template <typename Function> static Function *next(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  if (!found) {
    std::fprintf(stderr, "fake-cpu: expected LLVM's %s, found none\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function *>(found);
}

namespace llvm::sys {

__attribute__((visibility("default"))) StringRef getHostCPUName() {
  return fakeCpu();
}

__attribute__((visibility("default"))) StringMap<bool> getHostCPUFeatures() {
  StringMap<bool> features =
      next<StringMap<bool>()>("_ZN4llvm3sys18getHostCPUFeaturesEv")();
  SmallVector<StringRef, 64> named;
  X86::getFeaturesForCPU(fakeCpu(), named);
  // Those of all 64-bit CPUs are in no CPU's list.
  StringMap<bool> has = {{"64bit", true}, {"cx8", true}, {"x87", true}};
  for (StringRef feature : named) {
    has[feature] = true;
    X86::updateImpliedFeatures(feature, /*Enabled=*/true, has);
  }
  for (auto &feature : features)
    feature.second = feature.second && has.lookup(feature.first());
  return features;
}

} // namespace llvm::sys
