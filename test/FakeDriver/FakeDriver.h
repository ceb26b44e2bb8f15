//===- FakeDriver.h - drivers that record their calls -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared libraries with the entry points of libcuda and of libamdhip64 that
// FlashTile uses. They keep contexts, modules and memory as the real ones do,
// refuse what those would refuse, and run no kernel. Tests link them to set
// what they pretend to be and to read what they were asked; FlashTile opens
// them by their paths.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FAKEDRIVER_H
#define FA_TEST_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>

/// What a driver pretends to be, and what it was asked. In fixed storage: it
/// must not allocate where the test counts allocations.
struct FakeDriver {
  int numCards = 2;
  // Of CUDA.
  int version = 12040; ///< 12.4
  int capability[2] = {80, 90};
  int multiprocessors = 108;
  int sharedLimit = 232448; ///< as much as the larger of the two has
  // Of HIP.
  int hipVersion = 60342134; ///< 6.3
  const char *gcnArch[2] = {"gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-"};
  int ldsLimit = 65536;
  int processors = 304; ///< of a HIP card

  int readsHostMemory = 0;
  /// kHz and bits of the memory; 0: the driver does not say.
  int memoryClock = 0, memoryBus = 0;
  int residentBlocks = 2; ///< of any kernel on a multiprocessor

  /// A function that fails, and its status.
  const char *failing = nullptr;
  int failure = 0;

  /// The stream that a graph is captured from, null: none, and which capture it
  /// is. Ended by what a capture does not allow.
  void *capturing = nullptr;
  uint64_t capture = 0;

  static constexpr size_t maxCalls = 4096;
  const char *calls[maxCalls]; ///< names, in order
  size_t numCalls = 0;

  /// A launch.
  struct Launch {
    char kernel[128];
    unsigned grid, block, shared;
    bool isEarly; ///< may begin before the one before it has ended
    int card;
    void *stream;
    int64_t words[64];
    uint64_t maps[8][16];
  };
  Launch launch = {};     ///< the last one
  Launch lastLaunch = {}; ///< the one before it
  size_t numLaunches = 0;
  const char *kernels[maxCalls]; ///< of the launches, in order
  /// How many words a launch copies to `launch.words`.
  size_t numWords = 3;
  /// How many tensor maps it copies to `launch.maps`.
  size_t numMaps = 0;

  /// The last words that a stream was to set.
  struct Memset {
    uint64_t address;
    unsigned word;
    size_t count;
    void *stream;
  } memset = {};

  int retained[2] = {}; ///< primary contexts of CUDA
  int numModules = 0, maxModules = 0;
  int numBlocks = 0; ///< of memory that was allocated and not freed
};

extern "C" {
/// The one driver of CUDA, and of HIP.
FakeDriver *fakeDriver();
FakeDriver *fakeHip();
/// Makes a context of the host program's own current.
void *fakePushOwnContext();
/// The current context of this thread.
void *fakeCurrentContext();
// For tests in other languages.
/// How often the driver's function of this name was called.
size_t fakeCountCalls(const char *name);
/// The kernel of launch `number`, from 0; empty: there was none.
const char *fakeLaunched(size_t number);
/// Begins a capture of `stream`; null: ends the one that there is.
void fakeCapture(void *stream);
}

#endif // FA_TEST_FAKEDRIVER_H
