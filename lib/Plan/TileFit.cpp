//===- TileFit.cpp - tiles that shared memory has room for ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileFit.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa;

/// Tiles are halved no further.
static constexpr int64_t kLeastSide = 16;

/// Of the 232 of a thread of two warpgroups, those that scores, P and the
/// output may have. With 200 (128 keys beside values of 208 columns) ptxas
/// 13.0.88 serializes the products of packed sequences and spills elsewhere,
/// with 208 it serializes all.
static constexpr int64_t kMostRegisters = 192;

TileFit::TileFit(const AttentionFacts &facts, const ForwardRules &rules,
                 bool isSpecialized)
    : facts(facts), rules(rules),
      qkDim(alignTo(facts.headDim, rules.dimMultiple)),
      vDim(facts.sharesTiles ? qkDim
                             : alignTo(facts.valueDim, rules.dimMultiple)),
      isSpecialized(isSpecialized),
      isWidened(isSpecialized && facts.hasNarrowKeys) {}

bool TileFit::isIeee() const {
  return facts.element == AttentionFacts::F32 && !facts.allowsTf32;
}

int64_t TileFit::bytesOf(const KernelShape &shape, int64_t slots, int64_t dim,
                         int64_t dimV) const {
  // P of matrix units goes on in registers, that of multiply-adds through
  // memory.
  int64_t p = isIeee() ? shape.rows * shape.columns : 0;
  int64_t right = shape.columns * (facts.sharesTiles ? dim : dim + dimV);
  // Beside them a line of 128 bytes of each row's output and the barriers have
  // to have room, as tgpu-open-channels asks.
  int64_t ofScores =
      shape.alignedScores
          ? shape.rows * (shape.columns * facts.scoreBytes + 128) + 1024
          : 0;
  if (isWidened)
    return ofScores + widenedBytes(shape, slots, dim, dimV);
  if (rules.leftInRegisters) // there keys are widened on their way
    return ofScores + facts.bytes() * right;
  return ofScores + facts.bytes() * (shape.rows * dim + p) +
         facts.keyBytes() * slots * right;
}

/// `slots` of 16 bits and one of 8 for each tile, whose lines of 128 bytes are
/// whole. Products of 8 bits need less.
int64_t TileFit::widenedBytes(const KernelShape &shape, int64_t slots,
                              int64_t dim, int64_t dimV) const {
  int64_t narrow = alignTo(dim, 128), narrowV = alignTo(dimV, 128);
  int64_t queries = facts.bytes() * dim + (facts.hasNarrowQueries ? narrow : 0);
  return shape.rows * queries +
         shape.columns *
             (slots * facts.bytes() * (dim + dimV) + narrow + narrowV);
}

int64_t TileFit::bytesOf(const KernelShape &shape, int64_t slots) const {
  return bytesOf(shape, slots, qkDim, vDim);
}

int64_t TileFit::countRegisters(const KernelShape &shape) const {
  return shape.columns / 2 + shape.columns / 4 + vDim / 2;
}

bool TileFit::isTooLarge(const KernelShape &shape, int64_t columns) const {
  bool fits = !isSpecialized || countRegisters(shape) <= kMostRegisters;
  return !fits || takesTooMany(shape, columns);
}

bool TileFit::takesTooMany(const KernelShape &shape, int64_t columns) const {
  return rules.tileBytes && bytesOf(shape, /*slots=*/2, alignTo(qkDim, columns),
                                    alignTo(vDim, columns)) > rules.tileBytes;
}

KernelShape TileFit::fitted(KernelShape shape, int64_t columns) const {
  while (shape.columns > kLeastSide && isTooLarge(shape, columns))
    shape.columns /= 2;
  while (shape.rows > kLeastSide && takesTooMany(shape, columns))
    shape.rows /= 2;
  return shape;
}

KernelShape TileFit::lessKeys(KernelShape shape, int64_t most) const {
  // Of keys of 8 bits in pages twice as many in a tile are 0.93 to 1.0 of the
  // rate (bench/results/2026-11-27-h100-decode.md).
  bool countsRows = facts.hasPages || rules.leftInRegisters;
  int64_t bytes = (countsRows ? facts.bytes() : facts.keyBytes()) *
                  (facts.sharesTiles ? qkDim : qkDim + vDim);
  while (most && facts.bytes() <= 2 && shape.columns > kLeastSide &&
         bytes * shape.columns > most)
    shape.columns /= 2;
  return shape;
}

KernelShape TileFit::paired(const KernelShape &shape) const {
  return lessKeys(shape, isWide() ? rules.pairedTileBytes : 0);
}

KernelShape fa::dividing(KernelShape shape, int64_t rows, int64_t columns) {
  auto divide = [](int64_t &size, int64_t block) {
    size = bit_floor(uint64_t(size));
    while (block % size)
      size /= 2;
  };
  divide(shape.rows, rows);
  divide(shape.columns, columns);
  return shape;
}
