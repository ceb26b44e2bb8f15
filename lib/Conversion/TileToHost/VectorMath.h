//===- VectorMath.h - what kernels compute on vectors -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_VECTORMATH_H
#define FA_LIB_CONVERSION_TILETOHOST_VECTORMATH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// exp of an f32 vector, 0 where that is 2^-126 or less, NaN for NaN.
mlir::Value emitExp(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// The same by instructions of AVX512DQ, of 16 floats, with a relative error of
/// 1.8e-7 near 0 and 4e-6 near 2^-126; if `narrow`, where what is made of it
/// is rounded to 15 bits or fewer, of 3.5e-6 and 7.2e-6.
mlir::Value emitShortExp(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                         bool narrow);

/// 2^x of an f32 vector, of any x: infinity from 128 on, 0 below -126, NaN for
/// NaN, else with a relative error of 1.8e-7.
mlir::Value emitExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// The same by instructions of AVX512DQ, of 16 floats, and 0 at -126, too; if
/// `narrow`, with an error of 3.5e-6.
mlir::Value emitShortExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                          bool narrow);

/// Transposes a square: as many vectors as each has lanes, a power of two.
void emitTranspose(mlir::ImplicitLocOpBuilder &b,
                   mlir::MutableArrayRef<mlir::Value> rows);

/// One vector of all elements in order; the number of `vectors`, all of one
/// length, is a power of two.
mlir::Value emitConcat(mlir::ImplicitLocOpBuilder &b,
                       mlir::ArrayRef<mlir::Value> vectors);

/// The even or odd parts of `unit` lanes of `x`, then those of `y`.
mlir::Value emitParts(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      mlir::Value y, int64_t unit, bool odd);

/// The elements of `x`, each followed by that of `y`: in one vector those of
/// the first halves of all parts of 128 bits, in another those of the last
/// halves.
std::pair<mlir::Value, mlir::Value>
emitInterleaved(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);

/// Transposes squares side by side: each group of as many elements as there are
/// vectors, a power of two.
void emitTransposeGroups(mlir::ImplicitLocOpBuilder &b,
                         mlir::MutableArrayRef<mlir::Value> rows);

/// The sums of the lanes of `vectors`, lane i that of vector i; there are as
/// many vectors as each has lanes, a power of two.
mlir::Value emitSumsOfLanes(mlir::ImplicitLocOpBuilder &b,
                            mlir::ArrayRef<mlir::Value> vectors);

/// All lanes of `x` combined pairwise, the halves first.
mlir::Value emitLaneReduction(
    mlir::ImplicitLocOpBuilder &b, mlir::Value x,
    llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// `count` elements of `memory` at `indices`, zeros up to `lanes`.
mlir::Value loadFirst(mlir::ImplicitLocOpBuilder &b, mlir::Value memory,
                      mlir::ValueRange indices, int64_t lanes, int64_t count);

/// The first `count` elements of `value` to `memory` at `indices`.
void storeFirst(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                mlir::Value memory, mlir::ValueRange indices, int64_t count);

/// `x > y ? x : y`, one instruction everywhere; a NaN in x gives y.
mlir::Value emitMax(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                    mlir::Value y);

/// Vectors of the bits of f32 as one of pairs of bf16: their upper halves.
mlir::Value emitUpperPairs(mlir::ImplicitLocOpBuilder &b, mlir::Value even,
                           mlir::Value odd);

/// Vectors of f32 in [0, 1], or NaN, as one of pairs of bf16: the nearest ones,
/// of two as near the larger. A NaN may become anything.
mlir::Value emitNearestPairs(mlir::ImplicitLocOpBuilder &b, mlir::Value even,
                             mlir::Value odd);

/// An f32 value rounded to a narrower float type and back.
mlir::Value emitRound(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      mlir::Type element);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_VECTORMATH_H
