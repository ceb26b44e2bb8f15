//===- FewKeysPrice.h - what launches of few keys take ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where keys are few, what a program has besides them decides which kernel is
// the fastest, and how full its last wave and its last tiles are. A plan
// predicts it for each kernel (lib/Plan/FewKeys.cpp), `tile.price` says it, and
// a launch compares (include/fa/Launch/Splits.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_FEWKEYSPRICE_H
#define FA_SUPPORT_FEWKEYSPRICE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fa {

/// Keys that are few, at most: launches of more are decided by the rule for
/// splits and by how many programs there are.
inline constexpr int64_t kFewKeys = 512;

/// Times in nanoseconds of an H200, of which ratios alone count.
struct FewKeysPrice {
  static constexpr size_t kNumbers = 6;
  static constexpr int64_t kMostTime = 1 << 20;

  int64_t launch = 0;   ///< of a launch, whatever its programs
  int64_t program = 0;  ///< of a program besides its tiles of keys
  int64_t tile = 0;     ///< of a whole tile of keys
  int64_t lastTile = 0; ///< of a tile that is not full
  int64_t blocks = 1;   ///< that share a processor
  /// Of its time, what a program takes that has a processor alone.
  int64_t alonePercent = 100;

  bool operator==(const FewKeysPrice &) const = default;

  /// The members in their order, as a bundle has them.
  std::array<int64_t, kNumbers> numbers() const {
    return {launch, program, tile, lastTile, blocks, alonePercent};
  }
  /// `numbers` has kNumbers.
  static FewKeysPrice of(std::span<const int64_t> numbers) {
    return {numbers[0], numbers[1], numbers[2],
            numbers[3], numbers[4], numbers[5]};
  }
  /// What each of them may be, so that no sum of the rule overflows.
  struct Range {
    const char *name;
    int64_t least, most;
  };
  static constexpr Range kRanges[kNumbers] = {
      {"launch", 0, kMostTime},    {"program", 0, kMostTime},
      {"tile", 0, kMostTime},      {"last tile", 0, kMostTime},
      {"number of blocks", 1, 64}, {"percent", 1, 1000}};
};

} // namespace fa

#endif // FA_SUPPORT_FEWKEYSPRICE_H
