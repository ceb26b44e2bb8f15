//===- BulkCopies.h - boxes of tensors on their way -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_BULKCOPIES_H
#define FA_LIB_EMULATOR_BULKCOPIES_H

#include "SharedMemory.h"

#include "fa/Launch/TensorMap.h"

#include <array>

namespace fa::emu {

class Block;
struct Thread;

/// A tensor map in plain words: what the driver would make 128 opaque bytes of.
struct BoxMap {
  TensorMapShape shape;
  const char *data;
  uint32_t elementBytes;
  bool swizzled; ///< rows, in 128 bytes

  uint32_t boxBytes() const;
};

/// cp.async.bulk.tensor: what the tensor memory accelerator is asked for. Its
/// bytes arrive when no thread can go on without them, or at once, as the seed
/// says; in any order.
class BulkCopies {
public:
  using Coordinates = std::array<int32_t, TensorMapShape::maxRank>;

  explicit BulkCopies(Block &block) : block(block) {}

  void clear();
  /// For the blocks of the cluster that `ranks` has a bit of, each at the same
  /// place of its shared memory.
  void begin(Thread &thread, int32_t site, uint32_t map, uint32_t to,
             uint32_t barrier, const Coordinates &start, uint32_t ranks);
  /// A store of the box at `from`; it reads when its thread waits for it, or
  /// before.
  void beginStore(Thread &thread, int32_t site, uint32_t map, uint32_t from,
                  const Coordinates &start);
  /// The stores that the thread has begun since the last time are a group.
  void commitStores(Thread &thread);
  /// All but the last `pending` groups of the thread have read.
  void waitForStores(Thread &thread, uint32_t pending);
  /// Lets one copy or store end; false if none is under way.
  bool endOne();
  /// Reports what the block has not waited for.
  void checkEnd();

private:
  struct Copy {
    SharedMemory::BulkWrite write;
    uint32_t map;
    Coordinates start;
    Thread *thread;
  };

  struct Store {
    Thread *thread;
    int32_t site;
    uint32_t map, from;
    Coordinates start;
    Horizon seen;       ///< what came before it
    uint32_t group = 0; ///< of its thread, from 1 on; 0: none yet
    bool hasRead = false;
  };

  /// Whether there is such a map and a box may begin there; reports it if not.
  bool check(Thread &thread, int32_t site, uint32_t map,
             const Coordinates &start);
  void beginFor(Thread &thread, uint32_t barrier, Copy copy);
  void end(const Copy &copy);
  void read(Store &store);
  bool endOneStore();

  Block &block;
  std::vector<Copy> underWay;
  std::vector<Store> stores;
  uint64_t begun = 0, unfinished = 0;
  Copy last = {};
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_BULKCOPIES_H
