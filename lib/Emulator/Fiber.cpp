//===- Fiber.cpp - a stack of its own -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A jump to another stack is what longjmp's checks take for a mistake.
#undef _FORTIFY_SOURCE

#include "Fiber.h"

#include "llvm/Support/Compiler.h"

#include <cstdint>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FA_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#endif

using namespace fa::emu;

//===----------------------------------------------------------------------===//
// What the address sanitizer is told
//===----------------------------------------------------------------------===//

void Fiber::announceSwitch(Fiber &next) {
  next.cameFrom = this;
#ifdef FA_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&fakeStack, next.bottom, next.size);
#endif
}

/// On the stack that was switched to; the one left is known from here on.
void Fiber::finishSwitch() {
#ifdef FA_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fakeStack, &cameFrom->bottom,
                                  &cameFrom->size);
#endif
}

static void forgetFrames([[maybe_unused]] const void *bottom,
                         [[maybe_unused]] size_t size) {
#ifdef FA_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(bottom, size);
#endif
}

//===----------------------------------------------------------------------===//
// Fiber
//===----------------------------------------------------------------------===//

namespace fa::emu {

/// makecontext passes ints: a pointer travels as two.
void beginFiber(unsigned high, unsigned low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto *fiber = reinterpret_cast<Fiber *>(uint64_t(high) << 32 | low);
  fiber->finishSwitch();
  fiber->entry(fiber->argument);
  __builtin_unreachable();
}

} // namespace fa::emu

Fiber::~Fiber() {
  if (stack)
    munmap(stack, stackBytes);
}

bool Fiber::restart(void (*function)(void *), void *with) {
  if (!stack) {
    void *memory = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    stack = static_cast<char *>(memory);
    // A stack that grows too far meets this page.
    mprotect(stack, getpagesize(), PROT_NONE);
  }
  bottom = stack + getpagesize();
  size = stackBytes - getpagesize();
  fakeStack = nullptr;
  forgetFrames(bottom, size);
  entry = function;
  argument = with;
  begun = false;
  return true;
}

/// Its frame is left for good, which the sanitizer could not know.
LLVM_NO_SANITIZE("address") void Fiber::begin() {
  begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack + (stackBytes - size);
  context.uc_stack.ss_size = size;
  context.uc_link = nullptr;
  auto bits = reinterpret_cast<uint64_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&beginFiber), 2,
              unsigned(bits >> 32), unsigned(bits));
  setcontext(&context);
}

void Fiber::switchTo(Fiber &next) {
  announceSwitch(next);
  if (!_setjmp(state)) {
    if (next.begun)
      _longjmp(next.state, 1);
    next.begin();
  }
  finishSwitch();
}
