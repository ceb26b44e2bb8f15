//===- Copies.cpp - asynchronous copies to shared memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"
#include "GlobalMemory.h"
#include "Mix.h"

using namespace fa;
using namespace fa::emu;

/// PTX ISA, "Data Movement and Conversion Instructions: cp.async": copies
/// cp-size bytes, the last of which are zeros where src-size is smaller; both
/// addresses are multiples of cp-size. Nothing orders the read of the source
/// with what follows, and nothing says before a wait when the bytes arrive:
/// here they arrive as late as they can, read at the beginning or at the end.
/// Operands: destination, source, src-size. Attributes: cp-size, whether there
/// is a src-size.
static void asyncCopy(Thread *thread, int32_t site) {
  Block &block = *thread->block;
  const auto &[size, isPartial, a, b] = block.site(site).attributes;
  auto to = thread->get<uint32_t>(0);
  auto from = thread->get<uint64_t>(1);
  uint32_t bytes = isPartial ? thread->get<uint32_t>(2) : size;
  if (bytes > uint32_t(size)) {
    block.report(FaultKind::OutOfBounds, *thread, site,
                 "src-size is " + llvm::Twine(bytes) + ", expected at most " +
                     llvm::Twine(size));
    bytes = size;
  }
  ++block.counter().asyncCopies;
  thread->note(site, to, size, /*isShared=*/true, /*isRead=*/false);
  if (bytes)
    thread->note(site, from, bytes, /*isShared=*/false, /*isRead=*/true,
                 /*line=*/to / kCopyLine + 1);
  if (bytes &&
      !block.launched().global->checkRead(*thread, site, from, bytes, size))
    bytes = 0;
  if (!block.shared().beginCopy(*thread, site, to, size))
    return;
  AsyncCopy copy;
  copy.offset = to - kEmulatorSharedBase;
  copy.bytes = size;
  copy.group = thread->copies.committed;
  copy.site = site;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  copy.source = reinterpret_cast<const void *>(from);
  copy.sourceBytes = bytes;
  copy.isEarly = mix(block.launched().seed, thread->index, to) & 1;
  if (copy.isEarly)
    std::memcpy(copy.data.data(), copy.source, bytes);
  thread->copies.underWay.push_back(copy);
}

/// PTX ISA, "cp.async.commit_group": what this thread began since the last one
/// is a group, maybe an empty one.
static void asyncCommit(Thread *thread, int32_t) { ++thread->copies.committed; }

void fa::emu::endCopies(Thread &thread, uint32_t pending) {
  AsyncCopies &copies = thread.copies;
  while (!copies.underWay.empty() &&
         copies.underWay.front().group + pending < copies.committed) {
    thread.block->shared().endCopy(thread, copies.underWay.front());
    copies.underWay.pop_front();
  }
}

/// PTX ISA, "cp.async.wait_group": at most N of the last groups are still under
/// way. Attributes: N.
static void asyncWait(Thread *thread, int32_t site) {
  endCopies(*thread, thread->block->site(site).attributes[0]);
}

llvm::ArrayRef<EmulatorFunction> fa::emu::copyFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_async_copy", asyncCopy},
      {"fa_emu_async_commit", asyncCommit},
      {"fa_emu_async_wait", asyncWait}};
  return functions;
}
