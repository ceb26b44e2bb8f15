//===- MatrixUnit.cpp - the layouts that a target's dots ask for ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/MatrixUnit.h"

#include "fa/Layout/NamedLayouts.h"

#include <algorithm>

using namespace fa;

MatrixUnit MatrixUnit::choose(Kind kind, int64_t rows, int64_t columns) {
  bool isWide = kind == Mfma && rows >= 32 && powerOfTwoPart(columns) >= 32;
  return {kind, isWide ? 32 : 16};
}

/// Neighbours along the depth that a lane of mfma has. Computed operands are
/// where an accumulator is; of others, 16 bytes are one read.
int64_t MatrixUnit::vector(int64_t depth, const DotForm &form) const {
  if (!form.fromMemory)
    return 4;
  int64_t ofLane = powerOfTwoPart(depth) * side / 64;
  return std::min<int64_t>(ofLane, 128 / form.bits);
}

TileLayout MatrixUnit::accumulator(int64_t rows, int64_t columns,
                                   int64_t warps) const {
  return kind == Mfma ? mfmaRows(rows, columns, side, 4, warps)
                      : mmaAccumulator(rows, columns, warps);
}

TileLayout MatrixUnit::widenedAccumulator(int64_t rows, int64_t columns,
                                          int64_t warps) const {
  return kind == Mfma ? accumulator(rows, columns, warps)
                      : mmaQuads(rows, columns, warps);
}

/// Multiply-adds take f32 as it is.
static bool byMultiplyAdds(const DotForm &form) {
  return form.bits == 32 && !form.tf32;
}

/// Whether ldmatrix brings both operands of 32 bits.
static bool byMatrixLoads32(const DotForm &form) {
  return form.bits == 32 && form.transposed && form.fromMemory;
}

TileLayout MatrixUnit::left(int64_t rows, int64_t depth, const DotForm &form,
                            int64_t warps) const {
  if (kind == Mfma)
    return mfmaRows(rows, depth, side, vector(depth, form), warps);
  if (form.widened && form.transposed)
    return mmaQuads(rows, depth, warps);
  if (byMultiplyAdds(form))
    return fmaOperandA(rows, depth, warps);
  return byMatrixLoads32(form) ? mmaOperandA32(rows, depth, warps)
                               : mmaAccumulator(rows, depth, warps);
}

TileLayout MatrixUnit::right(int64_t rows, int64_t columns, const DotForm &form,
                             int64_t warps) const {
  bool transposed = form.transposed;
  if (kind == Mfma)
    return mfmaOperandB(rows, columns, transposed, side,
                        vector(transposed ? columns : rows, form), warps);
  if (form.widened)
    return mmaOperandB8(rows, columns, transposed, warps);
  if (byMultiplyAdds(form))
    return fmaOperandB(rows, columns, transposed, warps);
  return byMatrixLoads32(form) ? mmaOperandB32(rows, columns, warps)
                               : mmaOperandB(rows, columns, transposed, warps);
}
