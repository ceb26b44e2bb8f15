//===- SharedShadow.cpp - who did what to shared memory, and when ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Block.h"
#include "ShadowNumbers.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// Who and when
//===----------------------------------------------------------------------===//

/// Whether what `who` did at `time` comes before what `self` does.
bool SharedMemory::isOrdered(uint16_t who, uint32_t time,
                             const Accessor &self) const {
  if (who == kNobody || (who == self.who && who < kLanes))
    return true;
  if (who != kWarps)
    return time < self.seen.all[partyOf(who)];
  for (unsigned warp = 0; warp < kFirstBarrierParty; ++warp)
    if (uint32_t last = readTimes[time][warp]; last >= self.seen.all[warp])
      if (last)
        return false;
  return true;
}

static std::string describe(const Block &block, uint16_t who) {
  if (isCopy(who))
    return "a copy for the " + block.describeBarrier(who - kCopies);
  if (who == kWarps)
    return "threads of several warps";
  if (who >= kLanes)
    return "warp " + std::to_string(who - kLanes);
  return "thread " + std::to_string(who - 1);
}

/// The number of the list of times of `cell`'s readers and of `self`.
uint32_t SharedMemory::addReader(const Cell &cell, const Accessor &self) {
  const WarpClock &clock = self.thread.warp->clock;
  ReadersKey key = {cell.reader, cell.readTime, clock.index, clock.now};
  // Neighbours have the same readers, most often.
  if (lastReaders.first == key)
    return lastReaders.second;
  auto [known, isNew] = knownReadTimes.try_emplace(key, readTimes.size());
  if (isNew) {
    VectorClock times;
    if (cell.reader == kWarps)
      times = readTimes[cell.readTime];
    else
      times.raise(partyOf(cell.reader), cell.readTime);
    times.raise(clock.index, clock.now);
    readTimes.push_back(std::move(times));
  }
  lastReaders = *known;
  return known->second;
}

void SharedMemory::noteRead(Cell &cell, const Accessor &self) {
  const WarpClock &clock = self.thread.warp->clock;
  uint16_t reader = self.who;
  uint32_t time = clock.now;
  if (cell.reader != reader && !isOrdered(cell.reader, cell.readTime, self)) {
    bool sameWarp =
        cell.reader != kWarps && partyOf(cell.reader) == clock.index;
    reader = sameWarp ? kLanes + clock.index : kWarps;
    if (!sameWarp)
      time = addReader(cell, self);
  }
  cell.reader = reader;
  cell.readTime = time;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Says which copy has not arrived, and why it was not waited for.
void SharedMemory::reportPending(const Accessor &self, uint32_t offset) {
  Block &block = *self.thread.block;
  if (block.hasFault(FaultKind::MissingWait))
    return;
  const Cell &cell = cells[offset];
  std::string who, why;
  if (isCopy(cell.writer)) {
    who = "a copy";
    why = ("; phase " + Twine(cell.writeTime) + " of the " +
           block.describeBarrier(cell.writer - kCopies) + " was not waited for")
              .str();
  } else {
    Thread &copier = block.thread(cell.writer - 1);
    who = "the copy that thread " + std::to_string(copier.index) + " began";
    auto copy = find_if(copier.copies.underWay, [&](const AsyncCopy &copy) {
      return offset - copy.offset < copy.bytes;
    });
    bool isCommitted = copy != copier.copies.underWay.end() &&
                       copy->group < copier.copies.committed;
    why = !isCommitted ? "; it is in no group, a cp.async.commit_group is "
                         "missing"
          : copy->isDirect
              ? "; no s_waitcnt vmcnt has waited for it"
              : "; no cp.async.wait_group has waited for its group";
  }
  block.report(FaultKind::MissingWait, self.thread, self.site,
               place(offset) + ": " + who + " at " +
                   block.site(cell.site).location + " is under way" + why);
}

void SharedMemory::reportRace(const Accessor &self, uint32_t offset,
                              const char *what, uint16_t who) {
  Block &block = *self.thread.block;
  const Cell &cell = cells[offset];
  bool isWrite = who == cell.writer && StringRef(what) != "read";
  // A copy that was not waited for, and has arrived by chance.
  FaultKind kind =
      isWrite && isCopy(who) ? FaultKind::MissingWait : FaultKind::Race;
  if (block.hasFault(kind))
    return;
  std::string how = what;
  if (isWrite)
    how += std::string(cell.isCopied ? " asynchronously" : "") + " (" +
           block.site(cell.site).location + ")";
  std::string between = kind == FaultKind::Race
                            ? ", no barrier lies between"
                            : ", phase " + std::to_string(cell.writeTime) +
                                  " of which was not waited for";
  block.report(kind, self.thread, self.site,
               place(offset) + " was " + how + " by " + describe(block, who) +
                   between);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// PTX ISA, "Async proxy": what was written in the generic proxy is seen in the
/// asynchronous one after a fence.proxy.async.
void SharedMemory::checkProxy(const Accessor &self, uint32_t offset) {
  const Cell &cell = cells[offset];
  if (!self.isAsync || cell.writer == kNobody || isCopy(cell.writer) ||
      cell.writeTime < self.seen.async[partyOf(cell.writer)])
    return;
  Block &block = *self.thread.block;
  block.report(FaultKind::MissingFence, self.thread, self.site,
               place(offset) + " was written in the generic proxy (" +
                   block.site(cell.site).location + ") by " +
                   describe(block, cell.writer) +
                   ", no fence.proxy.async lies between");
}

void SharedMemory::checkCell(const Accessor &self, uint32_t offset) {
  Cell &cell = cells[offset];
  if (cell.isPending)
    reportPending(self, offset);
  else if (!cell.isWritten)
    self.thread.block->report(FaultKind::UninitialisedRead, self.thread,
                              self.site, place(offset) + " was never written");
  else if (!isOrdered(cell.writer, cell.writeTime, self))
    reportRace(self, offset, "written", cell.writer);
  else
    checkProxy(self, offset);
}

void SharedMemory::checkRead(const Accessor &self, uint32_t offset,
                             uint32_t size) {
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
    checkCell(self, n);
    noteRead(after, self);
    cell = after;
  }
}

/// `value` is what is written; null: it is not known yet. Threads that write
/// the same do not harm each other.
bool SharedMemory::checkWrite(const Accessor &self, uint32_t offset,
                              const char *value) {
  Cell &cell = cells[offset];
  if (cell.isPending) {
    reportPending(self, offset);
    return false;
  }
  if (!isOrdered(cell.writer, cell.writeTime, self)) {
    if (!value || *value != bytes[offset])
      reportRace(self, offset, "written", cell.writer);
  } else {
    checkProxy(self, offset);
  }
  if (!isOrdered(cell.reader, cell.readTime, self))
    reportRace(self, offset, "read", cell.reader);
  return true;
}

/// Marks the bytes as on their way, by `writer` at `time`.
bool SharedMemory::beginWrite(const Accessor &self, uint32_t offset,
                              uint32_t size, uint16_t writer, uint32_t time) {
  Cell before, after;
  for (uint32_t n = offset; n < offset + size; ++n) {
    Cell &cell = cells[n];
    if (n > offset && cell == before) {
      cell = after;
      continue;
    }
    before = cell;
    if (!checkWrite(self, n, nullptr))
      return false;
    cell.writer = writer;
    cell.writeTime = time;
    cell.isPending = true;
    cell.isWritten = false;
    cell.site = self.site;
    after = cell;
  }
  return true;
}
