//===- WorkspacePool.h - a context's memory for launches --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_WORKSPACEPOOL_H
#define FA_LAUNCH_WORKSPACEPOOL_H

#include "fa/Launch/ChooseLaunch.h"
#include "fa/Launch/GpuDevice.h"

#include <map>
#include <mutex>
#include <thread>

namespace fa {

/// A card's memory as workspace of launches that are given none. Each stream
/// has its own, and so has each stream of each capture, for a graph may run
/// beside what the stream that it was captured from does later. Nothing is
/// freed before the pool is: launches under way and graphs may use it. Safe to
/// use from several threads.
class WorkspacePool {
public:
  /// Takes at most `mostBytes` of the card's memory, and none until it is
  /// asked for.
  WorkspacePool(std::shared_ptr<GpuDevice> card, uint64_t mostBytes)
      : card(std::move(card)), mostBytes(mostBytes) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool &) = delete;
  WorkspacePool &operator=(const WorkspacePool &) = delete;

  /// Workspace of one launch. As long as the object is there, no other thread
  /// has the same: all kernels of the launch are to be enqueued meanwhile, and
  /// the next launch's are behind them in the stream.
  struct Lease {
    Workspace workspace;
    std::unique_lock<std::mutex> launching;
  };

  /// At least `bytes`, below 2^63, for a launch on `stream` (a CUstream or
  /// hipStream_t; null: the default one). Legal while a graph is captured. A
  /// failure says why there is no such memory, and breaks no capture.
  Result<Lease> take(void *stream, size_t bytes);

private:
  /// Whose memory it is: what runs one after the other.
  struct Place {
    void *stream;
    std::thread::id thread; ///< of the stream that each thread has its own of
    std::optional<uint64_t> capture;
    auto operator<=>(const Place &) const = default;
  };
  struct Memory {
    Workspace workspace;  ///< the largest that there is
    std::mutex launching; ///< held by who has a lease of it
  };
  Result<Place> findPlace(void *stream) const;
  Result<Workspace> allocate(size_t bytes);

  std::shared_ptr<GpuDevice> card;
  const uint64_t mostBytes;
  std::mutex mutex; ///< of what follows but for `launching`
  std::map<Place, Memory> memories;
  std::vector<GpuDriver::Pointer> blocks; ///< all that is freed in the end
  uint64_t takenBytes = 0;
};

} // namespace fa

#endif // FA_LAUNCH_WORKSPACEPOOL_H
