//===- Fiber.h - a stack of its own -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_FIBER_H
#define FA_LIB_EMULATOR_FIBER_H

#include <csetjmp>
#include <cstddef>

namespace fa::emu {

/// A point of execution that can be left and taken up again by the system
/// thread that owns it. A default-constructed fiber stands for the caller's own
/// stack and is filled in when it is left.
///
/// A stack is made with makecontext; from then on _setjmp and _longjmp switch,
/// which, unlike swapcontext, make no system call.
class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  ~Fiber();

  /// Bytes of a stack; pages that are not touched cost nothing.
  static constexpr size_t stackBytes = 1024 * 1024;

  /// Lets the fiber begin with `entry(argument)`, which must not return, when
  /// it is switched to next. What ran on its stack before is forgotten. Returns
  /// false if there is no memory for a stack.
  bool restart(void (*entry)(void *), void *argument);

  /// Leaves this fiber, which must be running, for `next`.
  void switchTo(Fiber &next);

private:
  friend void beginFiber(unsigned high, unsigned low);
  void begin();
  void announceSwitch(Fiber &next);
  void finishSwitch();

  std::jmp_buf state;
  char *stack = nullptr;
  // For the address sanitizer, which must know on which stack it is.
  Fiber *cameFrom = nullptr;
  const void *bottom = nullptr;
  size_t size = 0;
  void *fakeStack = nullptr;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
  bool begun = true;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_FIBER_H
