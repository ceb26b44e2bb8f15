//===- Ranges.h - what a profiler shows of this library ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profiler shows named ranges of time beside the kernels of a card. NVIDIA's
// takes them by NVTX, whose version 3 has no library: who has ranges to give
// hands its table of functions to the profiler's. AMD's takes them by the
// functions of roctx.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_RANGES_H
#define FA_LAUNCH_RANGES_H

#include "fa/Launch/Text.h"

namespace fa {

/// Where ranges go. Safe to use from several threads; ranges nest by thread.
class Ranges {
public:
  /// Opens a profiler's library, which stays in the process: one with
  /// InitializeInjectionNvtx2 (NVTX) or roctxRangePushA. A failure says what it
  /// lacks.
  static Result<std::shared_ptr<const Ranges>> open(const std::string &library);

  /// One range, as long as the object is there. Null ranges: nothing.
  class Range {
  public:
    Range(const Ranges *ranges, const char *name) : ranges(ranges) {
      if (ranges)
        ranges->push(name);
    }
    ~Range() {
      if (ranges)
        ranges->pop();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    const Ranges *ranges;
  };

private:
  /// nvtxRangePushA and nvtxRangePop, or roctx's of the same form: the level of
  /// the range comes back, which nobody wants here.
  using Push = int (*)(const char *name);
  using Pop = int (*)();
  Ranges(Push push, Pop pop) : push(push), pop(pop) {}

  Push push;
  Pop pop;
};

} // namespace fa

#endif // FA_LAUNCH_RANGES_H
