//===- FakeState.h - what fake drivers keep ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules, memory and records, the same for each vendor's driver. Every fake
// driver is a library with a state of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FAKESTATE_H
#define FA_TEST_FAKESTATE_H

#include "FakeDriver.h"

#include <cstring>
#include <span>

namespace fake {

/// Values of CUresult; those of hipError_t are the same.
enum Status : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  CaptureUnsupported = 900,
};

FakeDriver &driver();

/// Notes the call; what it returns if it is to fail.
int note(const char *name);

void *toPointer(uint64_t address);

bool isElf(const void *image);
/// Fails while a graph is captured, but in the relaxed mode.
int loadModule(int card, void **module);
int unloadModule(void *module, int card);
void *findFunction(void *module, const char *name);
/// Records a launch of a function on the card where its module is.
int launchKernel(void *function, int card, unsigned grid, unsigned block,
                 unsigned shared, void *stream, void **parameters);

int allocate(uint64_t *address, size_t bytes);
int release(uint64_t address);
/// CUDA's and HIP's capture of one stream by this thread, in the global mode.
int getCaptureInfo(void *stream, int *status, uint64_t *id);
int exchangeCaptureMode(int *mode);
/// Fails for memory that the driver did not allocate.
int getMemoryType(void *value, uint64_t address);

struct Error {
  int status;
  const char *name, *text;
};
/// The name and the text, where they are asked for, of an error.
int describe(std::span<const Error> errors, int status, const char **name,
             const char **text);

} // namespace fake

#define ENTRY(NAME)                                                            \
  if (int failure = note(#NAME))                                               \
  return failure

#endif // FA_TEST_FAKESTATE_H
