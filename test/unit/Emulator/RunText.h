//===- RunText.h - a GPU program as text, run in the emulator ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_EMULATOR_RUNTEXT_H
#define FA_TEST_UNIT_EMULATOR_RUNTEXT_H

#include "fa/Emulator/Counters.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace fa::test {

/// Sizes of a run; the kernel's arguments are two tensors of floats.
struct RunSizes {
  unsigned threads = 32;
  int64_t sharedBytes = 256, blocks = 1, cluster = 1;
  unsigned hostThreads = 1;
  uint64_t seed = 0;
  bool gaps = false; ///< the input is 8 rows of 4 floats, 8 apart
  /// The input is 2 rows of 32 floats, and %map one of boxes of so many rows.
  int64_t boxRows = 0;
  bool readsOut = false;    ///< the output is an input, too
  int64_t maxRegisters = 0; ///< of a thread; 0: the kernel does not say
};

struct RunResult {
  std::string faults; ///< "": none
  EmulatorCounters counters;
  std::vector<uint32_t> out; ///< bits of the output
};

/// Runs a kernel of S8 whose body is `body`. Known there: %tid, %bid (i32);
/// %shared (ptr<3>), %in and %out (ptr<1>) of 64 and 128 floats, the first with
/// element n = n; %own (ptr<3>), the word of the thread's number in shared
/// memory, and %outOwn (ptr<1>) in the output; %other, the word of the lane
/// whose number differs in bit 0, %across, in bit 5; %base (i32), the address
/// of %shared; %map, a tensor map; %c0, %c1, %c16, %c32, %all (i32, -1).
RunResult runText(llvm::StringRef body, const RunSizes &sizes = {});

/// Begins a body: %bar, a barrier of `count` arrivals behind 512 bytes, and
/// `fence` behind its initialisation; all threads behind it in ^go, %first
/// where it is the first.
std::string barrier(int count, llvm::StringRef fence);

} // namespace fa::test

#endif // FA_TEST_UNIT_EMULATOR_RUNTEXT_H
