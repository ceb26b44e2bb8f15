//===- AsyncCopies.h - copies under way -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_ASYNCCOPIES_H
#define FA_LIB_EMULATOR_ASYNCCOPIES_H

#include <array>
#include <cstdint>
#include <deque>

namespace fa::emu {

/// One cp.async, or what one lane loads direct to LDS.
struct AsyncCopy {
  uint32_t offset; ///< in the block's shared memory
  uint32_t bytes;  ///< written; what is beyond those of `data` is zero
  uint32_t group;  ///< number of the group that it is or will be in
  int32_t site;
  const void *source;
  uint32_t sourceBytes;
  /// Whether `data` was read when the copy began, rather than when it ends.
  bool isEarly;
  bool isDirect = false; ///< to LDS: a group of its own
  std::array<char, 16> data;
};

/// The copies of one thread, in the order in which they began.
struct AsyncCopies {
  std::deque<AsyncCopy> underWay;
  uint32_t committed = 0; ///< groups

  void clear() {
    underWay.clear();
    committed = 0;
  }
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_ASYNCCOPIES_H
