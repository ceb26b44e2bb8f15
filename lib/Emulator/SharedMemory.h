//===- SharedMemory.h - a block's shared memory and its shadow --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shadow says of every byte whether it was written, by whom and when, and
// who read it. Two accesses of different threads are in order if a barrier of
// the block lies between them or, in one warp, a bar.warp.sync; nothing else
// orders memory (PTX ISA, "Memory Consistency Model"): neither shuffles nor
// ldmatrix nor mma.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_SHAREDMEMORY_H
#define FA_LIB_EMULATOR_SHAREDMEMORY_H

#include "AsyncCopies.h"
#include "Faults.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa::emu {

class Block;
struct Thread;
struct Warp;

/// Time in a warp: it passes at every barrier.
struct WarpClock {
  uint32_t now = 1;
  /// When the warp passed the last barrier of the block.
  uint32_t lastBarrier = 0;

  void passWarpBarrier() { ++now; }
  void passBarrier() { lastBarrier = ++now; }
};

class SharedMemory {
public:
  /// `bytes` of NaN that nobody wrote.
  void reset(size_t bytes);

  /// An access of `bytes` at a 32-bit address by one thread. What cannot be
  /// done is reported; then the bytes read are NaN.
  void read(Thread &thread, int32_t site, uint32_t address, uint32_t bytes,
            uint32_t alignment, void *to);
  void write(Thread &thread, int32_t site, uint32_t address, uint32_t bytes,
             uint32_t alignment, const void *from);
  /// A read of which all lanes of the warp get a part; `thread` gave the
  /// address.
  void readForWarp(Thread &thread, int32_t site, uint32_t address,
                   uint32_t bytes, void *to);

  /// Whether a copy may begin; if so, the bytes that it writes are nobody's
  /// until it ends.
  bool beginCopy(Thread &thread, int32_t site, uint32_t address,
                 uint32_t bytes);
  /// The bytes of `copy` arrive; after that its thread sees them, the others
  /// after a barrier.
  void endCopy(Thread &thread, const AsyncCopy &copy);

private:
  /// Who and when, of one byte. Numbers are those of threads, and beyond those
  /// of groups: `several`.
  struct Cell {
    uint32_t writeTime, readTime;
    uint16_t writer, reader;
    uint32_t isWritten : 1, isPending : 1, isCopied : 1, site : 29;

    bool operator==(const Cell &) const = default;
  };

  bool locate(Thread &thread, int32_t site, uint32_t address, uint32_t bytes,
              uint32_t alignment, uint32_t &offset);
  void checkRead(Thread &thread, int32_t site, uint32_t offset, uint32_t bytes,
                 uint16_t reader);
  void checkCell(Thread &thread, int32_t site, uint32_t offset,
                 uint16_t reader);
  void noteRead(Cell &cell, const Warp &warp, uint16_t reader);
  void reportPending(Thread &thread, int32_t site, uint32_t offset);
  void reportRace(Thread &thread, int32_t site, uint32_t offset,
                  const char *what, uint16_t who);
  bool checkWrite(Thread &thread, int32_t site, uint32_t offset,
                  const char *value);

  std::vector<char> bytes;
  std::vector<Cell> cells;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_SHAREDMEMORY_H
