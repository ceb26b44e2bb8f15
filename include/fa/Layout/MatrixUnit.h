//===- MatrixUnit.h - the layouts that a target's dots ask for --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAYOUT_MATRIXUNIT_H
#define FA_LAYOUT_MATRIXUNIT_H

#include "fa/Layout/LinearLayout.h"

namespace fa {

/// What the layouts of a dot's operands depend on, but for their sizes.
struct DotForm {
  unsigned bits;           ///< of an element
  bool tf32 = false;       ///< f32 may be rounded to tf32
  bool transposed = false; ///< the right operand is [columns, depth]
  bool fromMemory = false; ///< the left one is read for its dots alone
  /// The right operand was widened from elements of 8 bits in shared memory.
  bool widened = false;
};

/// What computes dots: warps of 32 lanes by mma.sync (f32 that is not tf32 by
/// multiply-adds), or waves of 64 by mfma, all types alike.
struct MatrixUnit {
  enum Kind { Mma, Mfma } kind = Mma;
  /// Rows of one instruction's accumulator: 16, of mfma also 32.
  int64_t side = 16;

  /// That of a kernel whose smallest dot has `rows` and whose dots all have
  /// multiples of `columns` columns.
  static MatrixUnit choose(Kind kind, int64_t rows, int64_t columns);

  int64_t lanes() const { return kind == Mfma ? 64 : 32; }
  /// Of what the columns of a result are multiples.
  int64_t columnStep() const { return kind == Mfma ? side : 8; }

  /// The result of a dot, and what is computed from it. Also the left operand,
  /// where that was computed.
  TileLayout accumulator(int64_t rows, int64_t columns, int64_t warps) const;

  /// The result of a dot with a right operand [depth, columns] that was widened
  /// from 8 bits, and what is computed from it.
  TileLayout widenedAccumulator(int64_t rows, int64_t columns,
                                int64_t warps) const;

  /// The left operand [rows, depth].
  TileLayout left(int64_t rows, int64_t depth, const DotForm &form,
                  int64_t warps) const;

  /// The right operand [depth, columns], or [columns, depth].
  TileLayout right(int64_t rows, int64_t columns, const DotForm &form,
                   int64_t warps) const;

private:
  int64_t vector(int64_t depth, const DotForm &form) const;
};

} // namespace fa

#endif // FA_LAYOUT_MATRIXUNIT_H
