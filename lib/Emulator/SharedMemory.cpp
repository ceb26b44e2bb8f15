//===- SharedMemory.cpp - a block's shared memory and its shadow ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Block.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// Who and when
//===----------------------------------------------------------------------===//

static constexpr uint16_t kNobody = 0;
/// Several lanes of warp w are kLanes + w; times are the warp's.
static constexpr uint16_t kLanes = 1025;
/// Threads of several warps; times count the block's barriers.
static constexpr uint16_t kWarps = 2048;

static uint16_t numberOf(const Thread &thread) { return thread.index + 1; }

static unsigned warpOf(uint16_t who) {
  return who >= kLanes ? who - kLanes : (who - 1) / kWarpSize;
}

static uint32_t timeOf(const Warp &warp, uint16_t who) {
  return who == kWarps ? warp.block->barriers() : warp.clock.now;
}

/// Whether what `who` did at `time` comes before what `self`, of `warp`, does
/// now.
static bool isOrdered(uint16_t who, uint32_t time, const Warp &warp,
                      uint16_t self) {
  if (who == kNobody || (who == self && who < kLanes))
    return true;
  if (who == kWarps)
    return time < warp.block->barriers();
  if (warpOf(who) == warp.index)
    return time < warp.clock.now;
  return time <
         warp.block->thread(warpOf(who) * kWarpSize).warp->clock.lastBarrier;
}

static std::string describe(uint16_t who) {
  if (who == kWarps)
    return "threads of several warps";
  if (who >= kLanes)
    return "warp " + std::to_string(warpOf(who));
  return "thread " + std::to_string(who - 1);
}

void SharedMemory::noteRead(Cell &cell, const Warp &warp, uint16_t reader) {
  if (cell.reader != reader &&
      !isOrdered(cell.reader, cell.readTime, warp, reader))
    reader = cell.reader != kWarps && warpOf(cell.reader) == warp.index
                 ? kLanes + warp.index
                 : kWarps;
  cell.reader = reader;
  cell.readTime = timeOf(warp, reader);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Says which copy has not arrived, and why it was not waited for.
void SharedMemory::reportPending(Thread &thread, int32_t site,
                                 uint32_t offset) {
  Block &block = *thread.block;
  if (block.hasFault(FaultKind::MissingWait))
    return;
  const Cell &cell = cells[offset];
  Thread &copier = block.thread(cell.writer - 1);
  auto copy = find_if(copier.copies.underWay, [&](const AsyncCopy &copy) {
    return offset - copy.offset < copy.bytes;
  });
  bool isCommitted = copy != copier.copies.underWay.end() &&
                     copy->group < copier.copies.committed;
  block.report(
      FaultKind::MissingWait, thread, site,
      "byte " + Twine(offset) + " of shared memory: the copy that thread " +
          Twine(copier.index) + " began at " + block.site(cell.site).location +
          " is under way" +
          (isCommitted ? "; no cp.async.wait_group has waited for its group"
                       : "; it is in no group, a cp.async.commit_group is "
                         "missing"));
}

void SharedMemory::reportRace(Thread &thread, int32_t site, uint32_t offset,
                              const char *what, uint16_t who) {
  Block &block = *thread.block;
  if (block.hasFault(FaultKind::Race))
    return;
  const Cell &cell = cells[offset];
  std::string how = what;
  if (who == cell.writer && who != kNobody && how != "read")
    how += std::string(cell.isCopied ? " asynchronously" : "") + " (" +
           block.site(cell.site).location + ")";
  block.report(FaultKind::Race, thread, site,
               "byte " + Twine(offset) + " of shared memory was " + how +
                   " by " + describe(who) + ", no barrier lies between");
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void SharedMemory::reset(size_t size) {
  bytes.assign(size, char(0xff));
  cells.assign(size, Cell());
}

bool SharedMemory::locate(Thread &thread, int32_t site, uint32_t address,
                          uint32_t size, uint32_t alignment, uint32_t &offset) {
  offset = address - kEmulatorSharedBase;
  if (offset > bytes.size() || bytes.size() - offset < size) {
    thread.block->report(
        FaultKind::OutOfBounds, thread, site,
        Twine(size) + " bytes at byte " + Twine(int32_t(offset)) +
            " of shared memory, the block has " + Twine(bytes.size()));
    return false;
  }
  if (address % alignment) {
    thread.block->report(FaultKind::Misaligned, thread, site,
                         Twine(size) + " bytes at byte " + Twine(offset) +
                             " of shared memory, expected a multiple of " +
                             Twine(alignment));
    return false;
  }
  return true;
}

void SharedMemory::checkCell(Thread &thread, int32_t site, uint32_t offset,
                             uint16_t reader) {
  Cell &cell = cells[offset];
  if (cell.isPending)
    reportPending(thread, site, offset);
  else if (!cell.isWritten)
    thread.block->report(FaultKind::UninitialisedRead, thread, site,
                         "byte " + Twine(offset) +
                             " of shared memory was never written");
  else if (!isOrdered(cell.writer, cell.writeTime, *thread.warp, reader))
    reportRace(thread, site, offset, "written", cell.writer);
}

void SharedMemory::checkRead(Thread &thread, int32_t site, uint32_t offset,
                             uint32_t size, uint16_t reader) {
  // The bytes of an element have one history, most often: what was found for
  // one holds for the next.
  Cell before, after;
  for (uint32_t n = offset; n < offset + size; ++n) {
    Cell &cell = cells[n];
    if (n > offset && cell == before) {
      cell = after;
      continue;
    }
    before = after = cell;
    checkCell(thread, site, n, reader);
    noteRead(after, *thread.warp, reader);
    cell = after;
  }
}

void SharedMemory::read(Thread &thread, int32_t site, uint32_t address,
                        uint32_t size, uint32_t alignment, void *to) {
  uint32_t offset;
  if (!locate(thread, site, address, size, alignment, offset)) {
    std::memset(to, 0xff, size);
    return;
  }
  checkRead(thread, site, offset, size, numberOf(thread));
  std::memcpy(to, &bytes[offset], size);
}

void SharedMemory::readForWarp(Thread &thread, int32_t site, uint32_t address,
                               uint32_t size, void *to) {
  uint32_t offset;
  if (!locate(thread, site, address, size, size, offset)) {
    std::memset(to, 0xff, size);
    return;
  }
  checkRead(thread, site, offset, size, kLanes + thread.warp->index);
  std::memcpy(to, &bytes[offset], size);
}

/// `value` is what is written; null: it is not known yet. Threads that write
/// the same do not harm each other.
bool SharedMemory::checkWrite(Thread &thread, int32_t site, uint32_t offset,
                              const char *value) {
  Cell &cell = cells[offset];
  const Warp &warp = *thread.warp;
  uint16_t self = numberOf(thread);
  if (cell.isPending) {
    reportPending(thread, site, offset);
    return false;
  }
  if (!isOrdered(cell.writer, cell.writeTime, warp, self) &&
      !(value && *value == bytes[offset]))
    reportRace(thread, site, offset, "written", cell.writer);
  if (!isOrdered(cell.reader, cell.readTime, warp, self))
    reportRace(thread, site, offset, "read", cell.reader);
  return true;
}

void SharedMemory::write(Thread &thread, int32_t site, uint32_t address,
                         uint32_t size, uint32_t alignment, const void *from) {
  uint32_t offset;
  if (!locate(thread, site, address, size, alignment, offset))
    return;
  auto *values = static_cast<const char *>(from);
  for (uint32_t n = 0; n < size; ++n) {
    checkWrite(thread, site, offset + n, &values[n]);
    Cell &cell = cells[offset + n];
    cell.writer = numberOf(thread);
    cell.writeTime = thread.warp->clock.now;
    cell.isWritten = true;
    cell.isPending = cell.isCopied = false;
    cell.site = site;
  }
  std::memcpy(&bytes[offset], from, size);
}

bool SharedMemory::beginCopy(Thread &thread, int32_t site, uint32_t address,
                             uint32_t size) {
  uint32_t offset;
  if (!locate(thread, site, address, size, size, offset))
    return false;
  Cell before, after;
  for (uint32_t n = offset; n < offset + size; ++n) {
    Cell &cell = cells[n];
    if (n > offset && cell == before) {
      cell = after;
      continue;
    }
    before = cell;
    if (!checkWrite(thread, site, n, nullptr))
      return false;
    cell.writer = numberOf(thread);
    cell.isPending = true;
    cell.isWritten = false;
    cell.site = site;
    after = cell;
  }
  return true;
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
