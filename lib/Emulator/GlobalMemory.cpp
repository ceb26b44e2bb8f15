//===- GlobalMemory.cpp - the tensors of a launch -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalMemory.h"

#include "Block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <sys/mman.h>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// SparseWords
//===----------------------------------------------------------------------===//

SparseWords::SparseWords(SparseWords &&other) noexcept
    : words(std::exchange(other.words, nullptr)), bytes(other.bytes) {}

SparseWords::~SparseWords() {
  if (words)
    munmap(words, bytes);
}

bool SparseWords::allocate(size_t count) {
  bytes = count * sizeof(uint64_t);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  words = static_cast<std::atomic<uint64_t> *>(memory);
  return true;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Dimensions of one element and steps of 0 reach nothing; neighbours without a
/// gap are one.
static SmallVector<std::pair<int64_t, int64_t>, 4>
collapse(const LaunchArgument &tensor) {
  SmallVector<std::pair<int64_t, int64_t>, 4> dims, merged;
  for (auto [size, stride] : zip(tensor.sizes, tensor.strides))
    if (size > 1 && stride)
      dims.push_back({size, stride});
  llvm::sort(dims, [](auto x, auto y) { return x.second > y.second; });
  for (auto [size, stride] : dims) {
    if (!merged.empty() && merged.back().second == size * stride)
      merged.back() = {merged.back().first * size, stride};
    else
      merged.push_back({size, stride});
  }
  return merged;
}

Expected<GlobalMemory>
GlobalMemory::create(const KernelInfo &kernel,
                     ArrayRef<LaunchArgument> arguments) {
  GlobalMemory memory;
  for (auto [n, tensor] : enumerate(arguments)) {
    if (!tensor.isTensor || is_contained(tensor.sizes, 0))
      continue;
    Region region;
    region.argument = n;
    region.elementBytes = byteSize(tensor.type);
    region.access = kernel.args[n].access;
    region.dims = collapse(tensor);
    int64_t last = 0;
    for (auto [dim, entry] : enumerate(region.dims)) {
      last += (entry.first - 1) * entry.second;
      if (dim + 1 < region.dims.size()) {
        auto inner = region.dims[dim + 1];
        region.isExact &= entry.second >= inner.first * inner.second;
      }
    }
    region.begin = reinterpret_cast<uintptr_t>(tensor.data);
    region.end = region.begin + (last + 1) * region.elementBytes;
    bool hasRoom =
        region.access == Access::In || region.writers.allocate(last + 1);
    if (region.access == Access::InOut)
      hasRoom &=
          region.readers.allocate(last + 1) && region.adders.allocate(last + 1);
    if (!hasRoom)
      return createStringError("argument " + Twine(n) +
                               ": no room for the shadow of " +
                               Twine(last + 1) + " elements");
    memory.regions.push_back(std::move(region));
  }
  return memory;
}

/// Whether `count` neighbours from `offset` on are elements.
bool GlobalMemory::Region::containsElement(int64_t offset,
                                           int64_t count) const {
  for (auto [size, stride] : dims) {
    int64_t at = offset / stride;
    if (at >= size)
      return false;
    offset -= at * stride;
    if (stride == 1)
      return at + count <= size;
  }
  return offset == 0 && count == 1;
}

bool GlobalMemory::Region::contains(uint64_t address, uint32_t bytes) const {
  if (address < begin || address + bytes > end)
    return false;
  if (!isExact)
    return true;
  int64_t offset = (address - begin) / elementBytes;
  int64_t last = (address - begin + bytes - 1) / elementBytes;
  int64_t count = last - offset + 1;
  if (count == 1 || (!dims.empty() && dims.back().second == 1))
    return containsElement(offset, count);
  return all_of(seq(offset, last + 1),
                [&](int64_t n) { return containsElement(n, 1); });
}

GlobalMemory::Region *GlobalMemory::find(uint64_t address, uint32_t bytes) {
  for (Region &region : regions)
    if (region.contains(address, bytes))
      return &region;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Names the tensor that the address is nearest to.
void GlobalMemory::reportOutside(Thread &thread, int32_t site, uint64_t address,
                                 uint32_t bytes) {
  if (thread.block->hasFault(FaultKind::OutOfBounds))
    return;
  const Region *nearest = nullptr;
  auto distance = [&](const Region &region) -> uint64_t {
    if (address < region.begin)
      return region.begin - address;
    return address >= region.end ? address - region.end : 0;
  };
  for (const Region &region : regions)
    if (!nearest || distance(region) < distance(*nearest))
      nearest = &region;
  std::string where = "there is no tensor";
  if (nearest)
    where = ("argument " + Twine(nearest->argument) + ", which has " +
             Twine(nearest->end - nearest->begin) + " bytes" +
             (distance(*nearest) ? "" : " with gaps between its rows"))
                .str();
  thread.block->report(
      FaultKind::OutOfBounds, thread, site,
      Twine(bytes) + " bytes of global memory at byte " +
          Twine(nearest ? int64_t(address - nearest->begin) : 0) + " of " +
          where);
}

GlobalMemory::Region *GlobalMemory::locate(Thread &thread, int32_t site,
                                           uint64_t address, uint32_t bytes,
                                           uint32_t alignment) {
  if (!thread.block->requireKernelBefore(thread, site))
    return nullptr;
  Region *region = find(address, bytes);
  if (!region) {
    reportOutside(thread, site, address, bytes);
    return nullptr;
  }
  if (address % alignment) {
    thread.block->report(
        FaultKind::Misaligned, thread, site,
        Twine(bytes) + " bytes at byte " + Twine(address - region->begin) +
            " of argument " + Twine(region->argument) +
            ", expected an address that is a multiple of " + Twine(alignment));
    return nullptr;
  }
  return region;
}

/// Who wrote, or read: block, barriers that the block had passed, thread; never
/// 0.
static uint64_t stampOf(const Thread &thread) {
  return uint64_t(thread.block->indexFor(thread) + 1) << 32 |
         uint64_t(thread.block->member(thread).barriers & 0x3fffff) << 10 |
         thread.index;
}

static bool isOrdered(uint64_t stamp, const Thread &thread) {
  uint64_t own = stampOf(thread);
  if (stamp >> 32 != own >> 32)
    return false; // nothing orders blocks
  return (stamp & 1023) == (own & 1023) ||
         (stamp >> 10 & 0x3fffff) < (own >> 10 & 0x3fffff);
}

/// Of a reader's stamp: another block has read, too; other threads of the block
/// have, and no barrier lay between.
static constexpr uint64_t kOtherBlocks = uint64_t(1) << 63,
                          kOtherThreads = uint64_t(1) << 62,
                          kReader = ~(kOtherBlocks | kOtherThreads);

/// `before` and a reader behind it.
static uint64_t addReader(uint64_t before, uint64_t reader) {
  uint64_t last = before & kReader;
  if (!last || last == reader)
    return before | reader;
  if (last >> 32 != reader >> 32)
    return kOtherBlocks | reader;
  bool isSameTime = last >> 10 == reader >> 10;
  return (before & kOtherBlocks) | (isSameTime ? kOtherThreads : 0) | reader;
}

static std::string describe(uint64_t stamp) {
  return ("thread " + Twine(stamp & 1023) + " of block " +
          Twine((stamp >> 32) - 1))
      .str();
}

/// Who of the readers a write of `thread` races with; empty: nobody.
static std::string findRace(uint64_t readers, const Thread &thread) {
  uint64_t last = readers & kReader, own = stampOf(thread);
  if (!last)
    return "";
  if (!isOrdered(last, thread))
    return describe(last);
  if (readers & kOtherBlocks)
    return "another block";
  if ((readers & kOtherThreads) && last >> 10 == own >> 10)
    return "other threads of its block";
  return "";
}

void GlobalMemory::checkWritten(Thread &thread, int32_t site, Region &region,
                                int64_t element) {
  uint64_t writer = region.writers[element].load(std::memory_order_relaxed);
  if (!writer && region.access == Access::Out)
    thread.block->report(FaultKind::UninitialisedRead, thread, site,
                         "element " + Twine(element) + " of argument " +
                             Twine(region.argument) +
                             ", an output, was not written");
  if (writer && !isOrdered(writer, thread))
    thread.block->report(FaultKind::Race, thread, site,
                         "element " + Twine(element) + " of argument " +
                             Twine(region.argument) + " was written by " +
                             describe(writer) + ", no barrier lies between");
}

/// Adds `thread` to who has read an element, or added to it.
static void note(SparseWords &words, int64_t element, const Thread &thread) {
  std::atomic<uint64_t> &word = words[element];
  uint64_t before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, addReader(before, stampOf(thread)),
                                     std::memory_order_relaxed))
    ;
}

/// Reports a race with one of `others`, who `did` something to the element.
void GlobalMemory::checkAgainst(Thread &thread, int32_t site,
                                const Region &region, SparseWords &others,
                                int64_t element, StringRef did) {
  std::string who =
      findRace(others[element].load(std::memory_order_relaxed), thread);
  if (!who.empty())
    thread.block->report(FaultKind::Race, thread, site,
                         "element " + Twine(element) + " of argument " +
                             Twine(region.argument) + " was " + did + " by " +
                             who + ", no barrier lies between");
}

void GlobalMemory::noteWrite(Thread &thread, int32_t site, Region &region,
                             int64_t element) {
  uint64_t before = region.writers[element].exchange(stampOf(thread),
                                                     std::memory_order_relaxed);
  if (before && !isOrdered(before, thread))
    thread.block->report(FaultKind::Race, thread, site,
                         "element " + Twine(element) + " of argument " +
                             Twine(region.argument) + " was written by " +
                             describe(before) + ", too");
  if (region.access != Access::InOut)
    return;
  checkAgainst(thread, site, region, region.readers, element, "read");
  checkAgainst(thread, site, region, region.adders, element, "added to");
}

bool GlobalMemory::checkRead(Thread &thread, int32_t site, uint64_t address,
                             uint32_t bytes, uint32_t alignment) {
  Region *region = locate(thread, site, address, bytes, alignment);
  if (!region)
    return false;
  if (region->access == Access::In)
    return true;
  for (uint64_t at = address; at < address + bytes;
       at += region->elementBytes) {
    int64_t element = (at - region->begin) / region->elementBytes;
    // In this order: who writes looks for others behind that.
    if (region->access == Access::InOut)
      note(region->readers, element, thread);
    checkWritten(thread, site, *region, element);
    if (region->access == Access::InOut)
      checkAgainst(thread, site, *region, region->adders, element, "added to");
  }
  return true;
}

void GlobalMemory::read(Thread &thread, int32_t site, uint64_t address,
                        uint32_t bytes, uint32_t alignment, void *to) {
  if (!checkRead(thread, site, address, bytes, alignment))
    std::memset(to, 0xff, bytes);
  else // NOLINTNEXTLINE(performance-no-int-to-ptr)
    std::memcpy(to, reinterpret_cast<const void *>(address), bytes);
}

void GlobalMemory::write(Thread &thread, int32_t site, uint64_t address,
                         uint32_t bytes, uint32_t alignment, const void *from) {
  Region *region = locate(thread, site, address, bytes, alignment);
  if (!region)
    return;
  if (region->access == Access::In) {
    thread.block->report(FaultKind::OutOfBounds, thread, site,
                         "argument " + Twine(region->argument) +
                             " is an input, expected no store to it");
    return;
  }
  for (uint64_t at = address; at < address + bytes; at += region->elementBytes)
    noteWrite(thread, site, *region,
              (at - region->begin) / region->elementBytes);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  std::memcpy(reinterpret_cast<void *>(address), from, bytes);
}

void *GlobalMemory::openSum(Thread &thread, int32_t site, uint64_t address,
                            uint32_t bytes) {
  Region *region = locate(thread, site, address, bytes, bytes);
  if (!region)
    return nullptr;
  if (region->access != Access::InOut) {
    thread.block->report(FaultKind::OutOfBounds, thread, site,
                         "argument " + Twine(region->argument) +
                             " is not read and written, expected no sum in it");
    return nullptr;
  }
  int64_t element = (address - region->begin) / region->elementBytes;
  note(region->adders, element, thread);
  checkWritten(thread, site, *region, element);
  checkAgainst(thread, site, *region, region->readers, element, "read");
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void *>(address);
}
