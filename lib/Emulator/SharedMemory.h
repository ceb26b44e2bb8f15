//===- SharedMemory.h - a block's shared memory and its shadow --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shadow says of every byte whether it was written, by whom and when, and
// who read it. Two accesses of different threads are in order if a barrier lies
// between them (bar, mbarrier or, in one warp, bar.warp.sync); nothing else
// orders memory (PTX ISA, "Memory Consistency Model"): neither shuffles nor
// ldmatrix nor mma.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_SHAREDMEMORY_H
#define FA_LIB_EMULATOR_SHAREDMEMORY_H

#include "AsyncCopies.h"
#include "Clock.h"
#include "Faults.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace fa::emu {

class Block;
struct Thread;
struct Warp;

class SharedMemory {
public:
  /// `bytes` of NaN that nobody wrote, for each block of a cluster.
  void reset(size_t bytes, unsigned blocks);

  /// An access of `bytes` at a 32-bit address by one thread, of its block or
  /// mapped to another of the cluster. What cannot be done is reported; then
  /// the bytes read are NaN.
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

  /// What the tensor memory accelerator writes, and what completes it: `phase`
  /// of the mbarrier with this number. The bytes are nobody's until the end.
  struct BulkWrite {
    uint32_t address, bytes;
    uint16_t barrier;
    uint32_t phase;
    int32_t site;
  };
  /// The address of `write` is mapped.
  bool beginBulk(Thread &thread, const BulkWrite &write);
  /// 16 of its bytes arrive.
  void putBulk(uint32_t address, const void *from);
  void endBulk(const BulkWrite &write);
  /// A read of 16 bytes in the asynchronous proxy, by a product of a warpgroup
  /// or a store, that began when `seen` was known.
  void readForProxy(Thread &thread, int32_t site, uint32_t address,
                    const Horizon &seen, void *to);

private:
  /// Who and when, of one byte. Numbers are those of threads, and beyond those
  /// of groups: `several`.
  struct Cell {
    uint32_t writeTime, readTime;
    uint16_t writer, reader;
    uint32_t isWritten : 1, isPending : 1, isCopied : 1, site : 29;

    /// One comparison of 16 bytes: field by field takes longer than the rest
    /// of a check.
    bool operator==(const Cell &other) const {
      return std::memcmp(this, &other, sizeof(Cell)) == 0;
    }
  };
  static_assert(std::has_unique_object_representations_v<Cell>);

  /// Who accesses, and what comes before that.
  struct Accessor {
    Thread &thread;
    int32_t site;
    uint16_t who;
    const Horizon &seen;
    bool isAsync; ///< of the asynchronous proxy
  };

  bool locate(Thread &thread, int32_t site, uint32_t address, uint32_t bytes,
              uint32_t alignment, uint32_t &offset);
  bool isOrdered(uint16_t who, uint32_t time, const Accessor &self) const;
  void checkRead(const Accessor &self, uint32_t offset, uint32_t bytes);
  void checkCell(const Accessor &self, uint32_t offset);
  void checkProxy(const Accessor &self, uint32_t offset);
  void noteRead(Cell &cell, const Accessor &self);
  void reportPending(const Accessor &self, uint32_t offset);
  void reportRace(const Accessor &self, uint32_t offset, const char *what,
                  uint16_t who);
  bool checkWrite(const Accessor &self, uint32_t offset, const char *value);
  bool beginWrite(const Accessor &self, uint32_t offset, uint32_t bytes,
                  uint16_t writer, uint32_t time);

  /// Readers of a byte and one more: reader, time, warp, its time.
  using ReadersKey = std::tuple<uint16_t, uint32_t, unsigned, uint32_t>;
  uint32_t addReader(const Cell &cell, const Accessor &self);

  /// Of a mapped address; behind all of them for one that is in no block.
  uint32_t offsetOf(uint32_t address) const;
  /// "byte 64 of shared memory".
  std::string place(uint32_t offset) const;

  size_t blockBytes = 0;
  std::vector<char> bytes;
  std::vector<Cell> cells;
  /// When each warp read last, of bytes that several warps read.
  std::vector<VectorClock> readTimes;
  std::map<ReadersKey, uint32_t> knownReadTimes;
  std::pair<ReadersKey, uint32_t> lastReaders;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_SHAREDMEMORY_H
