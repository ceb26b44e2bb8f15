//===- SharedMemory.cpp - a block's shared memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Block.h"
#include "ShadowNumbers.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void SharedMemory::reset(size_t size, unsigned blocks) {
  blockBytes = size;
  bytes.assign(size * blocks, char(0xff));
  cells.assign(size * blocks, Cell());
  readTimes.clear();
  knownReadTimes.clear();
  lastReaders = {};
}

uint32_t SharedMemory::offsetOf(uint32_t address) const {
  uint64_t offset = rankOf(address) * uint64_t(blockBytes) +
                    (withoutRank(address) - kEmulatorSharedBase);
  return std::min<uint64_t>(offset, UINT32_MAX);
}

std::string SharedMemory::place(uint32_t offset) const {
  std::string text =
      "byte " + std::to_string(offset % blockBytes) + " of shared memory";
  if (bytes.size() > blockBytes)
    text +=
        " of block " + std::to_string(offset / blockBytes) + " of the cluster";
  return text;
}

bool SharedMemory::locate(Thread &thread, int32_t site, uint32_t address,
                          uint32_t size, uint32_t alignment, uint32_t &offset) {
  uint32_t mapped = thread.block->toCluster(thread, address);
  uint32_t inBlock = withoutRank(mapped) - kEmulatorSharedBase;
  offset = offsetOf(mapped);
  if (offset > bytes.size() || inBlock > blockBytes ||
      blockBytes - inBlock < size) {
    thread.block->report(
        FaultKind::OutOfBounds, thread, site,
        Twine(size) + " bytes at byte " + Twine(int32_t(inBlock)) +
            " of shared memory, the block has " + Twine(blockBytes));
    return false;
  }
  if (address % alignment) {
    thread.block->report(FaultKind::Misaligned, thread, site,
                         Twine(size) + " bytes at " + place(offset) +
                             ", expected a multiple of " + Twine(alignment));
    return false;
  }
  return true;
}

void SharedMemory::read(Thread &thread, int32_t site, uint32_t address,
                        uint32_t size, uint32_t alignment, void *to) {
  uint32_t offset;
  if (!locate(thread, site, address, size, alignment, offset)) {
    std::memset(to, 0xff, size);
    return;
  }
  checkRead({thread, site, numberOf(thread), thread.warp->clock.seen, false},
            offset, size);
  std::memcpy(to, &bytes[offset], size);
}

void SharedMemory::readForWarp(Thread &thread, int32_t site, uint32_t address,
                               uint32_t size, void *to) {
  uint32_t offset;
  if (!locate(thread, site, address, size, size, offset)) {
    std::memset(to, 0xff, size);
    return;
  }
  uint16_t who = kLanes + thread.warp->index;
  checkRead({thread, site, who, thread.warp->clock.seen, false}, offset, size);
  std::memcpy(to, &bytes[offset], size);
}

void SharedMemory::readForProxy(Thread &thread, int32_t site, uint32_t address,
                                const Horizon &seen, void *to) {
  uint32_t offset;
  if (!locate(thread, site, address, 16, 16, offset)) {
    std::memset(to, 0xff, 16);
    return;
  }
  uint16_t who = kLanes + thread.warp->index;
  checkRead({thread, site, who, seen, true}, offset, 16);
  std::memcpy(to, &bytes[offset], 16);
}

void SharedMemory::write(Thread &thread, int32_t site, uint32_t address,
                         uint32_t size, uint32_t alignment, const void *from) {
  uint32_t offset;
  if (!locate(thread, site, address, size, alignment, offset))
    return;
  Accessor self{thread, site, numberOf(thread), thread.warp->clock.seen, false};
  auto *values = static_cast<const char *>(from);
  // As for reads, what was found for one byte holds for the next one, but where
  // it depends on the value.
  Cell before, after;
  bool isForAll = false;
  for (uint32_t n = 0; n < size; ++n) {
    Cell &cell = cells[offset + n];
    if (isForAll && cell == before) {
      cell = after;
      continue;
    }
    before = cell;
    isForAll = !cell.isPending && isOrdered(cell.writer, cell.writeTime, self);
    checkWrite(self, offset + n, &values[n]);
    cell.writer = self.who;
    cell.writeTime = thread.warp->clock.now;
    cell.isWritten = true;
    cell.isPending = cell.isCopied = false;
    cell.site = site;
    after = cell;
  }
  std::memcpy(&bytes[offset], from, size);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

bool SharedMemory::beginCopy(Thread &thread, int32_t site, uint32_t address,
                             uint32_t size) {
  uint32_t offset;
  if (!locate(thread, site, address, size, size, offset))
    return false;
  Accessor self{thread, site, numberOf(thread), thread.warp->clock.seen, false};
  return beginWrite(self, offset, size, self.who, thread.warp->clock.now);
}

void SharedMemory::endCopy(Thread &thread, const AsyncCopy &copy) {
  std::memset(&bytes[copy.offset], 0, copy.bytes);
  std::memcpy(&bytes[copy.offset],
              copy.isEarly ? copy.data.data() : copy.source, copy.sourceBytes);
  for (uint32_t n = copy.offset; n < copy.offset + copy.bytes; ++n) {
    Cell &cell = cells[n];
    cell.writeTime = thread.warp->clock.now;
    cell.isWritten = cell.isCopied = true;
    cell.isPending = false;
  }
}

bool SharedMemory::beginBulk(Thread &thread, const BulkWrite &write) {
  uint32_t offset;
  if (!locate(thread, write.site, write.address, write.bytes, 128, offset))
    return false;
  uint16_t who = kCopies + write.barrier;
  return beginWrite({thread, write.site, who, thread.warp->clock.seen, true},
                    offset, write.bytes, who, write.phase);
}

void SharedMemory::putBulk(uint32_t address, const void *from) {
  uint32_t offset = offsetOf(address);
  // A swizzle stays inside of 1024 bytes, which a box need not.
  if (offset < bytes.size() && bytes.size() - offset >= 16)
    std::memcpy(&bytes[offset], from, 16);
}

void SharedMemory::endBulk(const BulkWrite &write) {
  uint32_t offset = offsetOf(write.address);
  for (uint32_t n = offset; n < offset + write.bytes; ++n) {
    Cell &cell = cells[n];
    cell.isWritten = cell.isCopied = true;
    cell.isPending = false;
  }
}
