//===- FakeState.cpp - what fake drivers keep -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeState.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <thread>

using namespace fake;

namespace {

struct Module;
struct Function {
  Module *module;
  char name[128];
};
struct Module {
  int card;
  std::list<Function> functions;
};

FakeDriver state;
std::mutex mutex;
std::set<uintptr_t> memory;

} // namespace

FakeDriver &fake::driver() { return state; }

int fake::note(const char *name) {
  std::lock_guard lock(mutex);
  if (state.numCalls < FakeDriver::maxCalls)
    state.calls[state.numCalls++] = name;
  return state.failing && !std::strcmp(state.failing, name) ? state.failure
                                                            : Success;
}

void *fake::toPointer(uint64_t address) {
  // The driver's interface has addresses as integers.
  return reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

bool fake::isElf(const void *image) {
  return std::memcmp(image, "\177ELF", 4) == 0;
}

static thread_local int captureMode = 0; // global

int fake::exchangeCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return Success;
}

/// What may wait for the card ends a capture, but in the relaxed mode.
static int checkCapture() {
  if (!state.capturing || captureMode == 2)
    return Success;
  state.capturing = nullptr;
  return CaptureUnsupported;
}

int fake::loadModule(int card, void **module) {
  if (int failure = checkCapture())
    return failure;
  std::lock_guard lock(mutex);
  state.maxModules = std::max(state.maxModules, ++state.numModules);
  *module = new Module{card, {}};
  return Success;
}

int fake::unloadModule(void *handle, int card) {
  auto *module = static_cast<Module *>(handle);
  if (module->card != card)
    return InvalidContext;
  std::lock_guard lock(mutex);
  --state.numModules;
  delete module;
  return Success;
}

void *fake::findFunction(void *handle, const char *name) {
  auto *module = static_cast<Module *>(handle);
  Function &result = module->functions.emplace_back(Function{module, {}});
  std::snprintf(result.name, sizeof result.name, "%s", name);
  return &result;
}

int fake::launchKernel(void *function, int card, unsigned grid, unsigned block,
                       unsigned shared, void *stream, void **parameters) {
  auto *kernel = static_cast<Function *>(function);
  if (card != kernel->module->card)
    return InvalidContext;
  if (!grid || !block)
    return InvalidValue;
  // A driver takes its time, in which another thread may be first.
  std::this_thread::yield();
  std::lock_guard lock(mutex);
  auto &launch = state.launch;
  if (state.numLaunches < FakeDriver::maxCalls)
    state.kernels[state.numLaunches] = kernel->name;
  ++state.numLaunches;
  state.lastLaunch = launch;
  std::memcpy(launch.kernel, kernel->name, sizeof launch.kernel);
  launch.grid = grid;
  launch.block = block;
  launch.shared = shared;
  launch.isEarly = false;
  launch.card = card;
  launch.stream = stream;
  std::memcpy(launch.words, parameters[0], 8 * state.numWords);
  for (size_t n = 0; n < state.numMaps; ++n)
    std::memcpy(launch.maps[n], parameters[1 + n], sizeof launch.maps[n]);
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int fake::getCaptureInfo(void *stream, int *status, uint64_t *id) {
  *status = state.capturing && stream == state.capturing;
  *id = state.capture;
  return Success;
}

int fake::allocate(uint64_t *address, size_t bytes) {
  if (int failure = checkCapture())
    return failure;
  // As aligned as the real drivers'.
  void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!block)
    return OutOfMemory;
  *address = reinterpret_cast<uintptr_t>(block);
  {
    std::lock_guard lock(mutex);
    memory.insert(*address);
    ++state.numBlocks;
  }
  std::this_thread::yield(); // as in launchKernel
  return Success;
}

int fake::release(uint64_t address) {
  if (int failure = checkCapture())
    return failure;
  std::lock_guard lock(mutex);
  if (!memory.erase(address))
    return InvalidValue;
  --state.numBlocks;
  std::free(toPointer(address));
  return Success;
}

int fake::getMemoryType(void *value, uint64_t address) {
  std::lock_guard lock(mutex);
  if (!memory.count(address))
    return InvalidValue;
  *static_cast<unsigned *>(value) = 2; // memory of a card
  return Success;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

int fake::describe(std::span<const Error> errors, int status, const char **name,
                   const char **text) {
  for (const Error &error : errors)
    if (error.status == status) {
      if (name)
        *name = error.name;
      if (text)
        *text = error.text;
      return Success;
    }
  return InvalidValue;
}
