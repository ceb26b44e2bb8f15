//===- Races.h - sizes that two plans have in common ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that the shapes of kernels and their schedules on NVIDIA's cards have
// in common, each beside the race that it comes from.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_PLAN_RACES_H
#define FA_LIB_PLAN_RACES_H

#include <cstdint>

namespace fa {

/// Of K and V in a tile of few queries. A block is one warp then, which takes
/// longer for a tile than memory does: on an H200, four blocks a
/// multiprocessor, each with two such tiles under way, were the fastest
/// (bench/results/2026-11-22-h200-decode.md).
inline constexpr int64_t kDecodeTileBytes = 16384;

/// Bytes of shared memory, more than the barriers of all channels take.
inline constexpr int64_t kBarrierBytes = 1024;

/// Blocks that fetch the same tiles together, where that pays or is asked for
/// (bench/results/2026-11-23-h200-clusters.md).
inline constexpr int64_t kClusterBlocks = 2;

/// Columns of a dot's result that the threads of four warpgroups have registers
/// for, 128 with which each begins: a dot of 256 needs 158 (ptxas 13.0.88,
/// C7602).
inline constexpr int64_t kColumnsOfFour = 192;

/// The same of five, which begin with 96 registers and of which three compute
/// with 136: at D 64 1.1 to 1.3 of the rate of two with tiles of 128 keys
/// (bench/results/2026-11-29-h200-fp8.md).
inline constexpr int64_t kColumnsOfFive = 96;

} // namespace fa

#endif // FA_LIB_PLAN_RACES_H
