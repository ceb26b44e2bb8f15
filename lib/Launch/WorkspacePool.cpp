//===- WorkspacePool.cpp - a context's memory for launches ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/WorkspacePool.h"

#include <algorithm>
#include <bit>

using namespace fa;

WorkspacePool::~WorkspacePool() {
  if (blocks.empty())
    return;
  GpuDevice::Current current(*card);
  GpuDevice::RelaxedCapture relaxed(*card);
  for (GpuDriver::Pointer block : blocks)
    card->driver().MemFree(block);
}

Result<WorkspacePool::Place> WorkspacePool::findPlace(void *stream) const {
  const GpuDriver &driver = card->driver();
  int status = 0;
  uint64_t capture = 0;
  if (Failure failure = driver.checkCall(
          driver.StreamGetCaptureInfo(stream, &status, &capture),
          "StreamGetCaptureInfo"))
    return failure;
  Place place = {stream, {}, std::nullopt};
  if (reinterpret_cast<uintptr_t>(stream) == GpuDriver::streamPerThread)
    place.thread = std::this_thread::get_id();
  if (status == GpuDriver::captureActive)
    place.capture = capture;
  return place;
}

/// At least twice of what a smaller launch took, so that what is kept of
/// launches that grow is no more than what the largest has.
Result<Workspace> WorkspacePool::allocate(size_t bytes) {
  constexpr size_t leastBytes = 64 * 1024;
  uint64_t left = mostBytes - takenBytes;
  if (bytes > left)
    return makeFailure("the context's pool has ", left, " of ", mostBytes,
                       " bytes left");
  size_t rounded =
      std::min<uint64_t>(std::bit_ceil(std::max(bytes, leastBytes)), left);
  GpuDriver::Pointer address = 0;
  GpuDevice::RelaxedCapture relaxed(*card);
  if (Failure failure = card->driver().check(
          card->driver().MemAlloc(&address, rounded), "cannot allocate ",
          rounded, " bytes on ", card->name()))
    return failure;
  blocks.push_back(address);
  takenBytes += rounded;
  // The driver gives addresses as integers.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return Workspace{reinterpret_cast<void *>(address), rounded};
}

Result<WorkspacePool::Lease> WorkspacePool::take(void *stream, size_t bytes) {
  GpuDevice::Current current(*card);
  if (Failure failure = current.failure())
    return failure;
  auto place = findPlace(stream);
  if (!place)
    return place.takeFailure();
  std::unique_lock lock(mutex);
  auto found = memories.find(*place);
  if (found == memories.end() || found->second.workspace.bytes < bytes) {
    auto grown = allocate(bytes);
    if (!grown)
      return grown.takeFailure();
    found = memories.try_emplace(*place).first;
    found->second.workspace = *grown;
  }
  Lease lease = {found->second.workspace, {}};
  lock.unlock();
  lease.launching = std::unique_lock(found->second.launching);
  return lease;
}
