//===- Counters.h - what a launch asked of the memory -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EMULATOR_COUNTERS_H
#define FA_EMULATOR_COUNTERS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fa {

/// Sums over all blocks of a launch. A request is one instruction of one warp.
struct EmulatorCounters {
  int64_t sharedRequests = 0;
  /// Passes through the 32 banks of 4 bytes beyond those that the bytes asked
  /// for need.
  int64_t bankConflicts = 0;
  /// Of these, by the place in the user's program that asks (EmulatorSite's).
  llvm::StringMap<int64_t> conflictsAt;
  int64_t globalRequests = 0;
  int64_t globalSectors = 0; ///< of 32 bytes
  int64_t mma = 0;           ///< m16n8k16, of a warp
  int64_t mmaTf32 = 0;       ///< m16n8k8, of a warp
  int64_t mfma = 0;          ///< of a wave, any shape
  int64_t matrixLoads = 0;   ///< ldmatrix, of a warp
  int64_t asyncCopies = 0;   ///< cp.async, of a thread
  /// Of a warp's: lines of 128 bytes, each once for each line of shared memory
  /// that it goes to.
  int64_t copiedLines = 0;
  int64_t barriers = 0; ///< of a block
  int64_t shuffles = 0; ///< shfl.sync, of a warp
  /// wgmma.mma_async of a warpgroup, by its columns / 8.
  std::array<int64_t, 33> products = {};
  int64_t boxes = 0;    ///< cp.async.bulk.tensor
  int64_t boxBytes = 0; ///< that they bring

  EmulatorCounters &operator+=(const EmulatorCounters &other) {
    sharedRequests += other.sharedRequests;
    bankConflicts += other.bankConflicts;
    for (const auto &entry : other.conflictsAt)
      conflictsAt[entry.first()] += entry.second;
    globalRequests += other.globalRequests;
    globalSectors += other.globalSectors;
    mma += other.mma;
    mmaTf32 += other.mmaTf32;
    mfma += other.mfma;
    matrixLoads += other.matrixLoads;
    asyncCopies += other.asyncCopies;
    copiedLines += other.copiedLines;
    barriers += other.barriers;
    shuffles += other.shuffles;
    for (size_t n = 0; n < products.size(); ++n)
      products[n] += other.products[n];
    boxes += other.boxes;
    boxBytes += other.boxBytes;
    return *this;
  }
};

/// By the names of docs/emulator.md, "Counters".
llvm::json::Object toJson(const EmulatorCounters &counters);

} // namespace fa

#endif // FA_EMULATOR_COUNTERS_H
