//===- Memory.cpp - loads and stores of one thread ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"
#include "GlobalMemory.h"

#include <atomic>
#include <cstring>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

// PTX ISA, "Data Movement and Conversion Instructions: ld", "st": the address
// must be a multiple of the bytes that are accessed.
// Operands: the address; of a store, the value. Attributes: bytes, alignment.

static void loadShared(Thread *thread, int32_t site) {
  const auto &[bytes, alignment, a, b] = thread->block->site(site).attributes;
  auto address = thread->get<uint32_t>(0);
  thread->note(site, address, bytes, /*isShared=*/true, /*isRead=*/true);
  thread->block->shared().read(*thread, site, address, bytes, alignment,
                               thread->slots.data());
}

static void storeShared(Thread *thread, int32_t site) {
  const auto &[bytes, alignment, a, b] = thread->block->site(site).attributes;
  auto address = thread->get<uint32_t>(0);
  thread->note(site, address, bytes, /*isShared=*/true, /*isRead=*/false);
  thread->block->shared().write(*thread, site, address, bytes, alignment,
                                &thread->slots[1]);
}

static void loadGlobal(Thread *thread, int32_t site) {
  const auto &[bytes, alignment, a, b] = thread->block->site(site).attributes;
  auto address = thread->get<uint64_t>(0);
  thread->note(site, address, bytes, /*isShared=*/false, /*isRead=*/true);
  thread->block->launched().global->read(*thread, site, address, bytes,
                                         alignment, thread->slots.data());
}

static void storeGlobal(Thread *thread, int32_t site) {
  const auto &[bytes, alignment, a, b] = thread->block->site(site).attributes;
  auto address = thread->get<uint64_t>(0);
  thread->note(site, address, bytes, /*isShared=*/false, /*isRead=*/false);
  thread->block->launched().global->write(*thread, site, address, bytes,
                                          alignment, &thread->slots[1]);
}

/// PTX ISA, "Generic Addressing": shared memory is a window. Here it is at the
/// numbers that no host pointer is.
static bool isSharedWindow(const Thread &thread) {
  return thread.get<uint64_t>(0) <=
         kEmulatorSharedBase + thread.block->launched().sharedBytes;
}

static void loadGeneric(Thread *thread, int32_t site) {
  isSharedWindow(*thread) ? loadShared(thread, site) : loadGlobal(thread, site);
}

static void storeGeneric(Thread *thread, int32_t site) {
  isSharedWindow(*thread) ? storeShared(thread, site)
                          : storeGlobal(thread, site);
}

/// Operands: an entry of a table of pages, the last page that there is.
static void checkPage(Thread *thread, int32_t site) {
  auto entry = thread->get<uint32_t>(0), last = thread->get<uint32_t>(1);
  if (entry > last)
    thread->block->report(FaultKind::OutOfBounds, *thread, site,
                          "a table names page " + Twine(int32_t(entry)) +
                              ", expected one of 0 to " + Twine(last));
}

/// Operands: the number behind a slot of a cache, how many slots there are.
static void checkSlot(Thread *thread, int32_t site) {
  auto next = thread->get<uint64_t>(0), count = thread->get<uint64_t>(1);
  if (next > count)
    thread->block->report(FaultKind::OutOfBounds, *thread, site,
                          "a token has slot " + Twine(int64_t(next - 1)) +
                              ", expected -1 or one of " + Twine(count));
}

/// Operands: what is to hold. Attributes: whether it was promised.
static void checkAssertion(Thread *thread, int32_t site) {
  if (thread->get<uint32_t>(0))
    return;
  bool isPromise = thread->block->site(site).attributes[0];
  thread->block->report(isPromise ? FaultKind::BrokenPromise
                                  : FaultKind::FailedAssertion,
                        *thread, site, "it does not hold");
}

/// Operands: the address, the summand. Attributes: bytes, whether it is of
/// floating point.
static void addGlobal(Thread *thread, int32_t site) {
  const auto &[bytes, isFloat, a, b] = thread->block->site(site).attributes;
  auto address = thread->get<uint64_t>(0);
  thread->note(site, address, bytes, /*isShared=*/false, /*isRead=*/false);
  void *place =
      thread->block->launched().global->openSum(*thread, site, address, bytes);
  auto add = [&]<typename T>(T summand) {
    if (place)
      std::atomic_ref(*static_cast<T *>(place))
          .fetch_add(summand, std::memory_order_relaxed);
  };
  if (isFloat)
    add(thread->get<float>(1));
  else if (bytes == 4)
    add(thread->get<uint32_t>(1));
  else
    add(thread->get<uint64_t>(1));
}

/// Operands: the address of a counter, to which 1 is added. The result: what it
/// was before.
static void takeNumber(Thread *thread, int32_t site) {
  auto address = thread->get<uint64_t>(0);
  thread->note(site, address, sizeof(uint32_t), /*isShared=*/false,
               /*isRead=*/false);
  void *place = thread->block->launched().global->openSum(
      *thread, site, address, sizeof(uint32_t));
  uint32_t first = place ? *static_cast<uint32_t *>(place) : 0;
  thread->set<uint32_t>(0, first + thread->block->takeNumber(*thread, address));
}

// PTX ISA, "Special Registers": %tid, %ctaid, %nctaid.

static void threadId(Thread *thread, int32_t) {
  thread->set<uint32_t>(0, thread->index);
}

static void blockId(Thread *thread, int32_t) {
  thread->set<uint32_t>(0, thread->block->indexFor(*thread));
}

static void numBlocks(Thread *thread, int32_t) {
  thread->set<uint32_t>(0, thread->block->launched().blocks);
}

llvm::ArrayRef<EmulatorFunction> fa::emu::memoryFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_load_shared", loadShared},
      {"fa_emu_store_shared", storeShared},
      {"fa_emu_load_global", loadGlobal},
      {"fa_emu_store_global", storeGlobal},
      {"fa_emu_atomic_add", addGlobal},
      {"fa_emu_take_number", takeNumber},
      {"fa_emu_assert", checkAssertion},
      {"fa_emu_check_page", checkPage},
      {"fa_emu_check_slot", checkSlot},
      {"fa_emu_load_generic", loadGeneric},
      {"fa_emu_store_generic", storeGeneric},
      {"fa_emu_thread_id", threadId},
      {"fa_emu_block_id", blockId},
      {"fa_emu_num_blocks", numBlocks}};
  return functions;
}
