//===- WaveMemory.cpp - what only AMD's memory instructions do ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffer loads, to registers and direct to LDS, buffer stores, and reads that
// transpose.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"
#include "GlobalMemory.h"
#include "Mix.h"

#include <array>
#include <cstring>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

namespace {
/// Operands of a buffer access: base, offset, num_records.
struct BufferPlace {
  uint64_t address;
  uint32_t bytes; ///< of those asked for, that are not behind num_records
};
} // namespace

/// CDNA3 ISA, 9.1.5 "Buffer Addressing", "Range Checking": of a raw buffer the
/// words that end behind num_records read as 0 and are not written.
static BufferPlace locate(const Thread &thread, uint32_t bytes) {
  auto base = thread.get<uint64_t>(0);
  uint64_t offset = thread.get<uint32_t>(1), records = thread.get<uint32_t>(2);
  uint64_t left = offset < records ? (records - offset) / 4 * 4 : 0;
  return {base + offset, uint32_t(std::min<uint64_t>(bytes, left))};
}

/// Attribute: bytes.
static void loadBuffer(Thread *thread, int32_t site) {
  uint32_t bytes = thread->block->site(site).attributes[0];
  BufferPlace from = locate(*thread, bytes);
  std::array<char, 16> loaded = {};
  if (from.bytes) {
    thread->note(site, from.address, from.bytes, /*isShared=*/false,
                 /*isRead=*/true);
    thread->block->launched().global->read(*thread, site, from.address,
                                           from.bytes, /*alignment=*/4,
                                           loaded.data());
  }
  std::memcpy(thread->slots.data(), loaded.data(), bytes);
}

/// Operands: the buffer's, the value. Attribute: bytes.
static void storeBuffer(Thread *thread, int32_t site) {
  BufferPlace to = locate(*thread, thread->block->site(site).attributes[0]);
  if (!to.bytes)
    return;
  thread->note(site, to.address, to.bytes, /*isShared=*/false,
               /*isRead=*/false);
  thread->block->launched().global->write(*thread, site, to.address, to.bytes,
                                          /*alignment=*/4, &thread->slots[3]);
}

/// One lane's part of a load direct to LDS, to byte `to`. As of cp.async,
/// nothing says when it is read and written before a wait.
static void beginDirect(Thread &thread, uint32_t to, uint32_t bytes) {
  Block &block = *thread.block;
  int32_t site = thread.waitsAt;
  BufferPlace from = locate(thread, bytes);
  ++block.counter().asyncCopies;
  thread.note(site, to, bytes, /*isShared=*/true, /*isRead=*/false);
  if (from.bytes) {
    thread.note(site, from.address, from.bytes, /*isShared=*/false,
                /*isRead=*/true);
    if (!block.launched().global->checkRead(thread, site, from.address,
                                            from.bytes, /*alignment=*/4))
      from.bytes = 0;
  }
  if (!block.shared().beginCopy(thread, site, to, bytes))
    return;
  AsyncCopy copy;
  copy.offset = to - kEmulatorSharedBase;
  copy.bytes = bytes;
  copy.group = thread.copies.committed++;
  copy.site = site;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  copy.source = reinterpret_cast<const void *>(from.address);
  copy.sourceBytes = from.bytes;
  copy.isEarly = mix(block.launched().seed, thread.index, to) & 1;
  copy.isDirect = true;
  if (copy.isEarly)
    std::memcpy(copy.data.data(), copy.source, from.bytes);
  thread.copies.underWay.push_back(copy);
}

/// CDNA4 ISA, 9.1.9 "Memory Buffer Load to LDS": lane l writes to M0 + l times
/// its bytes, and M0 is a scalar: the first lane's operand. Operands: those of
/// a buffer load, where in LDS. Attribute: bytes of a lane.
static void loadDirect(Block &, Thread *lanes, const EmulatorSite &site) {
  auto to = lanes[0].get<uint32_t>(3);
  uint32_t bytes = site.attributes[0];
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    beginDirect(lanes[lane], to + lane * bytes, bytes);
}

/// CDNA3 ISA, 4.4 "Manually Inserted Wait States", S_WAITCNT: at most N vector
/// memory operations are under way, which end in order. Only loads direct to
/// LDS are followed here: of those, no more are done than on a card. Attribute:
/// N.
static void waitVector(Thread *thread, int32_t site) {
  endCopies(*thread, thread->block->site(site).attributes[0]);
}

/// CDNA4 ISA, 11.4 "MFMA Transpose Load from LDS", DS_READ_B64_TR_B16: of each
/// 16 lanes, lane l gets as element n the element l % 4 of the four that lane
/// l / 4 + 4 n names. Operand: an address.
static void readTurned(Block &block, Thread *lanes, const EmulatorSite &) {
  std::array<uint16_t, 4> named[kWaveSize];
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    Thread &thread = lanes[lane];
    auto address = thread.get<uint32_t>(0);
    thread.note(thread.waitsAt, address, 8, /*isShared=*/true, /*isRead=*/true);
    block.shared().read(thread, thread.waitsAt, address, 8, 8, &named[lane]);
  }
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    std::array<uint16_t, 4> got;
    for (unsigned n = 0; n < 4; ++n)
      got[n] = named[lane / 16 * 16 + lane % 16 / 4 + 4 * n][lane % 4];
    std::memcpy(lanes[lane].slots.data(), got.data(), 8);
  }
}

ArrayRef<EmulatorFunction> fa::emu::waveMemoryFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_load_buffer", loadBuffer},
      {"fa_emu_store_buffer", storeBuffer},
      {"fa_emu_load_direct", meetInWave<loadDirect>},
      {"fa_emu_wait_vector", waitVector},
      {"fa_emu_read_turned", meetInWave<readTurned>}};
  return functions;
}
