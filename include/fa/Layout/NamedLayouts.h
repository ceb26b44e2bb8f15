//===- NamedLayouts.h - the layouts that machines have ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors of layouts. Register fragments are those of the PTX ISA,
// "Matrix Fragments for mma.m16n8k16 with floating point type" (section
// 9.7.14.5.8 of version 8.5); lane bits 0 and 1 are its threadID_in_group, bits
// 2 to 4 its groupID. Those of mfma are in the "AMD Instinct MI300 ISA"
// reference, section 7, "Matrix Arithmetic Instructions".
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAYOUT_NAMEDLAYOUTS_H
#define FA_LAYOUT_NAMEDLAYOUTS_H

#include "fa/Layout/LinearLayout.h"

namespace fa {

/// The largest power of two that divides `size`.
int64_t powerOfTwoPart(int64_t size);

/// Bits of the numbers of the registers of a lane that parts of a block
/// exchange at once (tgpu.merge_parts): four, 16 bytes of f32.
inline constexpr unsigned kExchangedBits = 2;

/// f32 accumulators [rows, columns] of mma.sync m16n8, `warps` one below the
/// other: rows >= 16 * warps, columns a multiple of 8. A warp's rows are
/// neighbours. It is the layout of 16-bit A operands [rows, columns] of
/// m16n8k16, too, for columns that are multiples of 16.
TileLayout mmaAccumulator(int64_t rows, int64_t columns, int64_t warps);

/// The same with four neighbours of a row in each thread, columns a multiple of
/// 16: of each 16 columns a thread has those that it has of two instructions
/// with `mmaOperandB8`, 4 t + 2 i + n where c = 2 t + i is the column of
/// instruction n. As the A operand of scores it has as many neighbours along
/// the depth as `mmaOperandB8` has.
TileLayout mmaQuads(int64_t rows, int64_t columns, int64_t warps);

/// B operand of m16n8k16 whose elements have 8 bits in shared memory, where
/// ldmatrix takes two for one of 16: [n, k] if `transposed`, with four
/// neighbours along k, of words 2 apart; else [k, n] with two along n, columns
/// 2 g and 2 g + 1 of column g of two instructions. n or k is a multiple of 16.
TileLayout mmaOperandB8(int64_t rows, int64_t columns, bool transposed,
                        int64_t warps);

/// 16-bit B operand [k, n] of m16n8k16, or [n, k] if `transposed`: every warp
/// holds all of it.
TileLayout mmaOperandB(int64_t rows, int64_t columns, bool transposed,
                       int64_t warps);

/// 32-bit (tf32) A operand [rows, depth] of m16n8k8 (PTX ISA, "Matrix Fragments
/// for mma.m16n8k8"), as ldmatrix brings it: a thread has every fourth column;
/// depth a multiple of 8. Operands that are computed have the layouts of the
/// 16-bit ones: K index t stands for column 2 t, t + 4 for column 2 t + 1, of
/// both operands alike.
TileLayout mmaOperandA32(int64_t rows, int64_t depth, int64_t warps);

/// The B operand of it, [columns, depth]: every warp holds all of it. Of one
/// that is given as [depth, columns] ldmatrix, which transposes elements of 16
/// bits alone, would be no help: it has the layout of the 16-bit one.
TileLayout mmaOperandB32(int64_t columns, int64_t depth, int64_t warps);

/// Left operand [rows, depth] of a dot by multiply-adds whose result has the
/// layout of `mmaAccumulator`: each thread holds all of its rows.
TileLayout fmaOperandA(int64_t rows, int64_t depth, int64_t warps);

/// Right operand [depth, columns] of it, or [columns, depth] if `transposed`:
/// each thread holds all of its columns.
TileLayout fmaOperandB(int64_t rows, int64_t columns, bool transposed,
                       int64_t warps);

/// A tile whose rows are dealt to the lanes of v_mfma_f32_SxSxK, S = `side` 16
/// or 32: lane l has row l % S and, of every `vector` * 64 / S columns, the
/// `vector` that begin at `vector` * (l / S). `warps` one below the other, 64
/// lanes each; rows >= side * warps, columns a multiple of `vector` * 64 / S.
///
/// With `vector` 4 it is the accumulator of a dot that is computed transposed:
/// mfma's matrix A is the dot's right operand, B its left one, and element
/// D[i][j], which is in lane j + S * (i / 4 % (64 / S)), is at row j, column i.
/// It also is the left operand of such a dot: mfma sums over its K in any
/// order, so that K index (l / S, e) may stand for any depth as long as both
/// operands agree. That is why an accumulator of scores is the operand of the
/// next dot for every K, those of gfx950 included.
TileLayout mfmaRows(int64_t rows, int64_t columns, int64_t side, int64_t vector,
                    int64_t warps);

/// The right operand [depth, columns] of it, or [columns, depth] if
/// `transposed`: every warp holds all of it, lane l column l % S.
TileLayout mfmaOperandB(int64_t rows, int64_t columns, bool transposed,
                        int64_t side, int64_t vector, int64_t warps);

/// A tile [rows, columns] in shared memory, elements of `bytes` each, offsets
/// in elements. Lines of 16 bytes are XORed with the row, so that eight lines
/// below each other are in different banks. The last dimension is the one
/// without gaps; of a repeated layout each copy is a block of its own.
TileLayout swizzledShared(int64_t rows, int64_t columns, int64_t bytes);

/// Where a copy of a buffer's layout lies.
struct CopyPlace {
  LinearLayout rows;  ///< of all copies that lie in rows together with it
  int64_t copies = 1; ///< how many these are
  int64_t begin = 0;  ///< elements in front of them
  int64_t column = 0; ///< its first column in them; to XOR with offsets there
};
CopyPlace placeOfCopy(const TileLayout &shared, int64_t copy);

/// The layout of a copy as that of the first columns of `place`'s rows.
LinearLayout inRowsOf(const CopyPlace &place, const LinearLayout &layout);

/// Rows after which its swizzle repeats.
inline constexpr int64_t kSwizzleRows = 8;

/// The same for the 64 banks of gfx950, 256 bytes, XORed with all bits of the
/// row in turn: lanes that read neighbouring rows find different banks.
TileLayout cyclicShared(int64_t rows, int64_t columns, int64_t bytes);

/// The same for its transposing reads (planTurnedRead in Plans.h): each half of
/// a wave reads `across` neighbours, 16 or 32, of each of 128 / `across` rows,
/// 256 bytes. Rows that the banks do not tell apart are XORed with what lies
/// above the neighbours: lines of 16 bytes stay whole.
TileLayout turnedShared(int64_t rows, int64_t columns, int64_t bytes,
                        int64_t across);

/// Who brings what of a tile in the shared layout `shared` when a wave's lanes
/// write one behind the other, `vector` elements each: lanes, then warps, then
/// registers. Where the tile has fewer elements, warps hold copies.
LinearLayout linearLanes(const LinearLayout &shared, int64_t vector,
                         int64_t warps);

/// Lanes side by side along the last dimension, each with `vector` elements of
/// `height` rows, then along rows, then warps, then more registers: for global
/// memory.
TileLayout blocked(int64_t rows, int64_t columns, int64_t vector, int64_t warps,
                   int64_t lanes = 32, int64_t height = 1);
/// Lanes side by side along the last dimension, `vector` elements each, then
/// along rows; warps along rows alone, and then they hold copies: a row is one
/// warp's.
TileLayout blockedRows(int64_t rows, int64_t columns, int64_t warps,
                       int64_t lanes, int64_t vector = 1);

} // namespace fa

#endif // FA_LAYOUT_NAMEDLAYOUTS_H
