//===- Pieces.h - elements as sums of bf16 ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix units multiply bf16. An f16 is the sum of two of them, so a product of
// two f16 is the sum of four products, each exact in f32 like those of bf16.
// No piece of an element that is not 0 is 0, and all have its sign: that of
// infinity are the largest number and infinity. So a product with infinity is
// what it is by itself, where 0 times infinity would be NaN.
//
// An f32 is the sum of three (Henry, Tang, Heinecke, "Leveraging the bfloat16
// Artificial Intelligence Datatype For Higher-Precision Computations", 2019).
// The six largest of nine products leave out 2^-22 of their sum at most, and as
// a root mean square 2^-25, as rounding it to f32 does. The pieces of infinity
// are 1, 0 and infinity.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_PIECES_H
#define FA_LIB_CONVERSION_TILETOHOST_PIECES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// How many bf16 an element of the type is the sum of; 0 for others than bf16,
/// f16 and f32.
int64_t countPieces(mlir::Type element);

/// The pieces of two operands, left and right, that are multiplied; 0 is the
/// largest. One of the two is that of the pair before. Of three pieces each,
/// products below 2^-15 of the largest are left out; of two with `rounded`,
/// where the left operand is an approximation, that of the last ones.
llvm::SmallVector<std::pair<int64_t, int64_t>> pieceProducts(int64_t pieces,
                                                             bool rounded);

/// Of pairs of elements of 16 bits, vectors of i32: the first ones and the
/// second ones in f32.
std::pair<mlir::Value, mlir::Value> emitWidePairs(mlir::ImplicitLocOpBuilder &b,
                                                  mlir::Value pairs,
                                                  mlir::Type element);

/// The `pieces` of pairs of f32 as vectors of pairs of bf16, i32. Their sum is
/// exact in three, and for what was f16 in two, but for what is below 2^-126.
llvm::SmallVector<mlir::Value> emitPieces(mlir::ImplicitLocOpBuilder &b,
                                          mlir::Value even, mlir::Value odd,
                                          int64_t pieces);

/// The same of what is in [0, 1], or NaN, exact in three pieces, rounded to 15
/// bits in two, to bf16 in one. The second one of two may be 0: see
/// pieceProducts. A NaN may become anything.
llvm::SmallVector<mlir::Value> emitRoundedPieces(mlir::ImplicitLocOpBuilder &b,
                                                 mlir::Value even,
                                                 mlir::Value odd,
                                                 int64_t pieces);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_PIECES_H
