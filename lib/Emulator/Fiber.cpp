//===- Fiber.cpp - a stack of its own -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A jump to another stack is what longjmp's checks take for a mistake.
#undef _FORTIFY_SOURCE

#include "Fiber.h"

#include <cstdint>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

using namespace fa::emu;

namespace fa::emu {

/// makecontext passes ints: a pointer travels as two.
void beginFiber(unsigned high, unsigned low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto *fiber = reinterpret_cast<Fiber *>(uint64_t(high) << 32 | low);
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
  entry = function;
  argument = with;
  begun = false;
  return true;
}

void Fiber::begin() {
  begun = true;
  ucontext_t context;
  getcontext(&context);
  size_t guard = getpagesize();
  context.uc_stack.ss_sp = stack + guard;
  context.uc_stack.ss_size = stackBytes - guard;
  context.uc_link = nullptr;
  auto bits = reinterpret_cast<uint64_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&beginFiber), 2,
              unsigned(bits >> 32), unsigned(bits));
  setcontext(&context);
}

void Fiber::switchTo(Fiber &next) {
  if (!_setjmp(state)) {
    if (next.begun)
      _longjmp(next.state, 1);
    next.begin();
  }
}
