//===- WorkspacePool.cpp - a context's memory for launches ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/WorkspacePool.h"

#include <algorithm>
#include <bit>

using namespace fa;

namespace {

/// Lets this thread allocate and free while any thread captures a graph. A
/// driver refuses both in the other modes, and breaks the capture, since they
/// may wait for the card; neither becomes part of the graph (CUDA Driver API,
/// cuThreadExchangeStreamCaptureMode).
class RelaxedCapture {
public:
  explicit RelaxedCapture(const GpuDriver &driver) : driver(driver) {
    driver.ThreadExchangeStreamCaptureMode(&mode);
  }
  ~RelaxedCapture() { driver.ThreadExchangeStreamCaptureMode(&mode); }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const GpuDriver &driver;
  int mode = GpuDriver::captureModeRelaxed; ///< then the mode before
};

} // namespace

WorkspacePool::~WorkspacePool() {
  if (blocks.empty())
    return;
  GpuDevice::Current current(*card);
  RelaxedCapture relaxed(card->driver());
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
  RelaxedCapture relaxed(card->driver());
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
