//===- Seats.h - a core of its own for each thread that wakes ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux may wake two threads of a launch on one core while another has none,
// and leaves them there for longer than a launch takes, the next time again:
// three cores do the work of four. So a helper sleeps bound to a core that no
// other helper of its pool has, where it wakes therefore, and works unbound:
// from there the system may move it as any thread, and it sleeps where it was.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LAUNCH_SEATS_H
#define FA_LIB_LAUNCH_SEATS_H

#include <sched.h>
#include <thread>
#include <vector>

namespace fa {

/// The cores on which the helpers of a pool wake. Not safe to use from several
/// threads but for `bind` and `unbind`: the pool's lock guards it.
class Seats {
public:
  static constexpr int none = -1;

  explicit Seats(unsigned helpers) : cores(helpers, none) {}

  /// The core on which `helper` is to wait: `current` if it is nobody's, else
  /// the next one of `usable`, the first behind the last, or none.
  int take(unsigned helper, int current, const cpu_set_t &usable);

  /// Gives `helper` another core of `usable`, or its own if none is free.
  int change(unsigned helper, const cpu_set_t &usable);

  /// The core of `helper`, or none.
  int of(unsigned helper) const { return cores[helper]; }

  /// The helper whose core is `core`, or the number of helpers.
  unsigned findHelper(int core) const;

  /// Binds a thread to one core.
  static void bind(pthread_t thread, int core);
  /// Lets this thread go where it might go before it was bound to `core`,
  /// unless somebody else has said meanwhile where it may.
  static void unbind(int core, const cpu_set_t &before);

private:
  /// The first of `usable` behind `core` that is nobody's, or none.
  int findFree(int core, const cpu_set_t &usable) const;

  std::vector<int> cores; ///< by helper
};

} // namespace fa

#endif // FA_LIB_LAUNCH_SEATS_H
