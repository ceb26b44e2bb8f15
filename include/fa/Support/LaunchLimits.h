//===- LaunchLimits.h - what launches and plans have in common --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_LAUNCHLIMITS_H
#define FA_SUPPORT_LAUNCHLIMITS_H

#include <cstdint>

namespace fa {

/// The most splits of the keys.
inline constexpr int64_t kMaxSplits = 1024;

/// The most columns of one row that a program of a merge of splits has, which
/// costs of merges are counted by.
inline constexpr int64_t kMergeColumns = 128;

/// The most blocks of a cluster: 8 run on every card (PTX ISA, "Cluster of
/// Cooperative Thread Arrays").
inline constexpr int64_t kMaxCluster = 8;

/// Whether rows of so many bytes in memory are several boxes, of 128 bytes,
/// that need not begin where one of the card's sectors of 32 bytes does.
constexpr bool isUnevenRow(int64_t bytes) { return bytes > 128 && bytes % 32; }

} // namespace fa

#endif // FA_SUPPORT_LAUNCHLIMITS_H
