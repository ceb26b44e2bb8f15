//===- BulkCopies.cpp - boxes of tensors on their way ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BulkCopies.h"

#include "Block.h"
#include "Functions.h"
#include "GlobalMemory.h"
#include "Mix.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

uint32_t BoxMap::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (size_t d = 0; d < shape.rank; ++d)
    bytes *= shape.box[d];
  return bytes;
}

void BulkCopies::clear() {
  underWay.clear();
  stores.clear();
  begun = unfinished = 0;
}

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

/// PTX ISA, "Swizzling Modes", 128B: of an address, bits 4 to 6 are exchanged
/// with those of the row of 128 bytes.
static uint32_t swizzle128(uint32_t address) {
  return address ^ (address >> 7 & 7) << 4;
}

/// Where what the map has at `address` lies.
static uint32_t placeOf(const BoxMap &map, uint32_t address) {
  return map.swizzled ? swizzle128(address) : address;
}

namespace {

/// What of a line of a box lies in the tensor.
struct LinePart {
  const char *data = nullptr; ///< its first element
  uint32_t first = 0;         ///< its first byte in the line
  uint32_t bytes = 0;
};

} // namespace

static LinePart findLine(const BoxMap &map,
                         const BulkCopies::Coordinates &start, uint32_t line) {
  const TensorMapShape &shape = map.shape;
  const char *row = map.data;
  for (size_t d = 1; d < shape.rank; ++d) {
    int64_t at = int64_t(start[d]) + line % shape.box[d];
    line /= shape.box[d];
    if (at < 0 || at >= int64_t(shape.sizes[d]))
      return {};
    row += at * shape.strides[d];
  }
  int64_t first = std::max<int64_t>(0, -int64_t(start[0]));
  int64_t last =
      std::min<int64_t>(shape.box[0], int64_t(shape.sizes[0]) - start[0]);
  if (first >= last)
    return {};
  return {row + (start[0] + first) * map.elementBytes,
          uint32_t(first * map.elementBytes),
          uint32_t((last - first) * map.elementBytes)};
}

/// Elements of line `line` of the box, those outside of the tensor 0 (CUDA
/// Driver API, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE).
static void readLine(const BoxMap &map, const BulkCopies::Coordinates &start,
                     uint32_t line, std::vector<char> &bytes) {
  std::fill(bytes.begin(), bytes.end(), 0);
  LinePart part = findLine(map, start, line);
  if (part.bytes)
    std::memcpy(&bytes[part.first], part.data, part.bytes);
}

void BulkCopies::end(const Copy &copy) {
  const BoxMap &map = block.launched().maps[copy.map];
  uint32_t lineBytes = map.shape.box[0] * map.elementBytes;
  std::vector<char> line(lineBytes);
  for (uint32_t n = 0; n < copy.write.bytes / lineBytes; ++n) {
    readLine(map, copy.start, n, line);
    for (uint32_t at = 0; at + 16 <= lineBytes; at += 16)
      block.shared().putBulk(
          placeOf(map, copy.write.address + n * lineBytes + at), &line[at]);
  }
  block.shared().endBulk(copy.write);
  block.phases().endCopy(*copy.thread, copy.write.site,
                         block.phases()[copy.write.barrier], copy.write.bytes);
}

bool BulkCopies::endOne() {
  if (underWay.empty())
    return endOneStore();
  size_t n =
      mix(block.launched().seed, begun, underWay.size()) % underWay.size();
  Copy copy = underWay[n];
  underWay.erase(underWay.begin() + n);
  // The threads whose memory it is have ended: nobody waits for it.
  if (block.hasEnded(rankOf(copy.write.address))) {
    ++unfinished;
    last = copy;
  }
  end(copy);
  return true;
}

void BulkCopies::checkEnd() {
  if (unfinished)
    block.report(FaultKind::MissingWait, *last.thread, last.write.site,
                 "the block ended while " + Twine(unfinished) +
                     " copies were under way; phase " +
                     Twine(last.write.phase) + " of the " +
                     block.describeBarrier(last.write.barrier) +
                     " was not waited for");
  // Those that have been waited for are no longer there.
  if (!stores.empty())
    block.report(
        FaultKind::MissingWait, *stores.front().thread, stores.front().site,
        "the block ended before a cp.async.bulk.wait_group for " +
            Twine(stores.size()) + " stores that read its shared memory");
}

//===----------------------------------------------------------------------===//
// What leaves
//===----------------------------------------------------------------------===//

void BulkCopies::read(Store &store) {
  store.hasRead = true;
  const BoxMap &map = block.launched().maps[store.map];
  uint32_t lineBytes = map.shape.box[0] * map.elementBytes;
  std::vector<char> line(lineBytes);
  for (uint32_t n = 0; n < map.boxBytes() / lineBytes; ++n) {
    LinePart part = findLine(map, store.start, n);
    uint32_t last = part.first + part.bytes;
    for (uint32_t at = part.first & ~15u; at < last; at += 16)
      block.shared().readForProxy(*store.thread, store.site,
                                  placeOf(map, store.from + n * lineBytes + at),
                                  store.seen, &line[at]);
    for (uint32_t at = 0; at < part.bytes; at += map.elementBytes)
      block.launched().global->write(
          *store.thread, store.site, reinterpret_cast<uint64_t>(part.data + at),
          map.elementBytes, map.elementBytes, &line[part.first + at]);
  }
}

bool BulkCopies::endOneStore() {
  for (Store &store : stores)
    if (!store.hasRead) {
      read(store);
      return true;
    }
  return false;
}

bool BulkCopies::check(Thread &thread, int32_t site, uint32_t map,
                       const Coordinates &start) {
  ArrayRef<BoxMap> maps = block.launched().maps;
  if (map >= maps.size()) {
    block.report(FaultKind::OutOfBounds, thread, site,
                 "expected a tensor map of the kernel's parameters");
    return false;
  }
  // Triton's tutorial of TMA in Gluon says so; an H200 reports an illegal
  // instruction for boxes that begin between.
  int64_t first = int64_t(start[0]) * maps[map].elementBytes;
  if (first % 16) {
    block.report(FaultKind::Misaligned, thread, site,
                 "a box begins at byte " + Twine(first) +
                     " of its rows, expected a multiple of 16");
    return false;
  }
  return true;
}

void BulkCopies::beginStore(Thread &thread, int32_t site, uint32_t map,
                            uint32_t from, const Coordinates &start) {
  if (!check(thread, site, map, start))
    return;
  // CUDA Programming Guide, "Using TMA to transfer multi-dimensional arrays":
  // what is written may end behind the tensor, but not begin before it.
  for (int32_t at : start)
    if (at < 0) {
      block.report(FaultKind::OutOfBounds, thread, site,
                   "a stored box begins at " + Twine(at) +
                       ", where 0 or more is expected");
      return;
    }
  stores.push_back({&thread, site, map, from, start, thread.warp->clock.seen});
  if (mix(block.launched().seed, ++begun, from) % 4 == 0)
    read(stores.back());
}

void BulkCopies::commitStores(Thread &thread) {
  ++thread.storeGroups;
  for (Store &store : stores)
    if (store.thread == &thread && !store.group)
      store.group = thread.storeGroups;
}

void BulkCopies::waitForStores(Thread &thread, uint32_t pending) {
  erase_if(stores, [&](Store &store) {
    if (store.thread != &thread || !store.group ||
        store.group + pending > thread.storeGroups)
      return false;
    if (!store.hasRead)
      read(store);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// What begins
//===----------------------------------------------------------------------===//

void BulkCopies::begin(Thread &thread, int32_t site, uint32_t map, uint32_t to,
                       uint32_t barrier, const Coordinates &start,
                       uint32_t ranks) {
  if (!check(thread, site, map, start))
    return;
  block.requireKernelBefore(thread, site);
  uint32_t bytes = block.launched().maps[map].boxBytes();
  ++block.counter().boxes;
  block.counter().boxBytes += bytes;
  for (unsigned rank = 0; rank < block.launched().cluster; ++rank)
    if (ranks >> rank & 1)
      beginFor(
          thread, block.toRank(barrier, rank),
          {{block.toRank(to, rank), bytes, 0, 0, site}, map, start, &thread});
}

void BulkCopies::beginFor(Thread &thread, uint32_t barrier, Copy copy) {
  int32_t site = copy.write.site;
  PhaseBarrier *completes = block.phases().openCopy(thread, site, barrier);
  if (!completes)
    return;
  copy.write.barrier = completes->number;
  copy.write.phase = completes->phase;
  if (!block.shared().beginBulk(thread, copy.write)) {
    block.phases().endCopy(thread, site, *completes, copy.write.bytes);
    return;
  }
  if (mix(block.launched().seed, ++begun, copy.write.address) % 4 == 0)
    end(copy);
  else
    underWay.push_back(copy);
}

/// PTX ISA 9.7.9.25.5.2, "cp.async.bulk.tensor", .tile from .global to
/// .shared::cluster, completed by .mbarrier::complete_tx::bytes: one box, from
/// the tensor map, the coordinates innermost first. The destination is a
/// multiple of 128 bytes. With .multicast::cluster a mask says which blocks of
/// the cluster get it; without, this one does.
/// Operands: destination, map, coordinates, barrier, mask. Attributes: how many
/// coordinates, whether there is a mask.
static void copyBox(Thread *thread, int32_t site) {
  auto [rank, isForSeveral, a, b] = thread->block->site(site).attributes;
  BulkCopies::Coordinates start = {};
  for (uint32_t d = 0; d < uint32_t(rank) && d < start.size(); ++d)
    start[d] = thread->get<int32_t>(2 + d);
  uint32_t ranks =
      isForSeveral ? thread->get<uint16_t>(3 + rank) : 1u << thread->rank;
  thread->block->bulkCopies().begin(
      *thread, site, thread->get<uint32_t>(1), thread->get<uint32_t>(0),
      thread->get<uint32_t>(2 + rank), start, ranks);
}

/// The same from .shared::cta to .global, by .bulk_group.
/// Operands: source, map, whether this thread stores, coordinates. Attributes:
/// how many coordinates.
static void storeBox(Thread *thread, int32_t site) {
  if (!thread->get<bool>(2))
    return;
  uint32_t rank = thread->block->site(site).attributes[0];
  BulkCopies::Coordinates start = {};
  for (uint32_t d = 0; d < rank && d < start.size(); ++d)
    start[d] = thread->get<int32_t>(3 + d);
  thread->block->bulkCopies().beginStore(
      *thread, site, thread->get<uint32_t>(1), thread->get<uint32_t>(0), start);
}

/// PTX ISA 9.7.9.25.3, "cp.async.bulk.commit_group".
static void commitStores(Thread *thread, int32_t) {
  thread->block->bulkCopies().commitStores(*thread);
}

/// "cp.async.bulk.wait_group". Attributes: how many groups may be pending.
static void waitForStores(Thread *thread, int32_t site) {
  thread->block->bulkCopies().waitForStores(
      *thread, thread->block->site(site).attributes[0]);
}

ArrayRef<EmulatorFunction> fa::emu::bulkCopyFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_copy_box", copyBox},
      {"fa_emu_store_box", storeBox},
      {"fa_emu_commit_stores", commitStores},
      {"fa_emu_wait_stores", waitForStores}};
  return functions;
}
