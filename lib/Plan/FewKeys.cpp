//===- FewKeys.cpp - what launches of few keys will take ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FewKeys.h"

#include "fa/Support/LaunchLimits.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa;

namespace {

/// Of a tile of so many queries in blocks of which so many share a processor.
struct MeasuredTile {
  int64_t rows, blocks;
  int64_t launch;      ///< nanoseconds
  int64_t ofScore;     ///< picoseconds of a score of a whole tile of keys,
  int64_t ofLastScore; ///< and of one that is not full
  int64_t ofRowByte; ///< picoseconds of a byte of a row of Q and of the output
  int64_t alonePercent;
  int64_t unevenPercent; ///< of tiles of K and V with isUnevenRow
};

} // namespace

/// Fitted to random shapes of 64 to 512 keys on an H200, D 64 to 256, full and
/// causal, so that the cheapest is the fastest
/// (bench/results/2026-11-30-h200-few-keys.md).
static constexpr MeasuredTile kMeasuredTiles[] = {
    {64, 2, 1500, 216, 190, 126, 84, 169},
    {64, 1, 1700, 139, 165, 94, 100, 136},
    {128, 1, 3400, 84, 87, 55, 100, 102},
    {192, 1, 3400, 54, 49, 58, 100, 114},
};

/// A byte of a row whose place is divided for: rows of several heads.
static constexpr int64_t kPackedRowPercent = 210;

std::optional<FewKeysPrice> fa::predictFewKeys(const KernelShape &shape,
                                               const AttentionFacts &facts,
                                               const TileFit &fit) {
  int64_t blocks = shape.maxKeys ? 2 : 1;
  const auto *tile = find_if(kMeasuredTiles, [&](const MeasuredTile &each) {
    return each.rows == shape.rows && each.blocks == blocks;
  });
  if (tile == std::end(kMeasuredTiles))
    return std::nullopt;
  bool hasUnevenRows = isUnevenRow(facts.bytes() * facts.headDim) ||
                       isUnevenRow(facts.bytes() * facts.valueDim);
  auto nanoseconds = [](int64_t picoseconds, int64_t percent) {
    return picoseconds * percent / (1000 * 100);
  };
  int64_t scores = shape.rows * shape.columns,
          rowBytes = facts.bytes() * (fit.dim() + fit.dimV()) / 2,
          ofRows = shape.pack == KernelShape::Queries ? kPackedRowPercent : 100,
          ofTile = hasUnevenRows ? tile->unevenPercent : 100;
  return FewKeysPrice{
      .launch = tile->launch,
      .program = nanoseconds(shape.rows * rowBytes * tile->ofRowByte, ofRows),
      .tile = nanoseconds(scores * tile->ofScore, ofTile),
      .lastTile = nanoseconds(scores * tile->ofLastScore, ofTile),
      .blocks = blocks,
      .alonePercent = tile->alonePercent};
}
