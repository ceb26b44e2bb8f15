//===- SignalHandlers.h - what a host program has set -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_RUNTIME_SIGNALHANDLERS_H
#define FA_TEST_UNIT_RUNTIME_SIGNALHANDLERS_H

#include <csignal>
#include <vector>

/// The handlers of the signals that a library might want for itself.
inline std::vector<void (*)(int)> signalHandlers() {
  std::vector<void (*)(int)> found;
  for (int number : {SIGINT, SIGTERM, SIGSEGV, SIGPIPE, SIGALRM, SIGCHLD}) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    found.push_back(action.sa_handler);
  }
  return found;
}

#endif // FA_TEST_UNIT_RUNTIME_SIGNALHANDLERS_H
