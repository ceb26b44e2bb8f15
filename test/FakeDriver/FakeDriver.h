//===- FakeDriver.h - a libcuda that records its calls ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the entry points of libcuda that FlashTile uses. It
// keeps contexts, modules and memory as the real one does, refuses what that
// would refuse, and runs no kernel. Tests link it to set what it pretends to be
// and to read what it was asked; FlashTile opens it by its path.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FAKEDRIVER_H
#define FA_TEST_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>

/// What the driver pretends to be, and what it was asked. In fixed storage: it
/// must not allocate where the test counts allocations.
struct FakeDriver {
  int version = 12040; ///< 12.4
  int numCards = 2;
  int capability[2] = {80, 90};
  int sharedLimit = 166912;
  int readsHostMemory = 0;
  int residentBlocks = 2; ///< of any kernel on a multiprocessor

  /// A function that fails, and its CUresult.
  const char *failing = nullptr;
  int failure = 0;

  static constexpr size_t maxCalls = 4096;
  const char *calls[maxCalls]; ///< names, in order
  size_t numCalls = 0;

  /// A launch.
  struct Launch {
    char kernel[128];
    unsigned grid, block, shared;
    int card;
    void *stream;
    int64_t words[64];
    uint64_t maps[8][16];
  };
  Launch launch = {};     ///< the last one
  Launch lastLaunch = {}; ///< the one before it
  size_t numLaunches = 0;
  /// How many words a launch copies to `launch.words`.
  size_t numWords = 3;
  /// How many tensor maps it copies to `launch.maps`.
  size_t numMaps = 0;

  int retained[2] = {}; ///< primary contexts
  int numModules = 0, maxModules = 0;
};

extern "C" {
/// The one driver.
FakeDriver *fakeDriver();
/// Makes a context of the host program's own current.
void *fakePushOwnContext();
/// The current context of this thread.
void *fakeCurrentContext();
}

#endif // FA_TEST_FAKEDRIVER_H
