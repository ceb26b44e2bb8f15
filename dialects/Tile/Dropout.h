//===- Dropout.h - the factors of tile.dropout ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_DROPOUT_H
#define TILE_DROPOUT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa::tile {

/// How many of the 65536 values of a halfword drop an element: the t of
/// `tile.dropout`.
int64_t dropoutThreshold(mlir::FloatAttr probability);

/// The bits of a query and of a key that say which of the eight halfwords of a
/// call is theirs.
constexpr int32_t kDropoutQueryBits = 8, kDropoutKeyBits = 9;

/// What a factor depends on. `seed` and `offset` are i64 scalars; the others
/// are i32, scalars or tiles of one type.
struct DropoutPlace {
  mlir::Value seed, offset;
  mlir::Value head; ///< b · size(h) + h
  /// Query and key, of which those bits are read, and the same without them.
  mlir::Value query, key, queryOfCall, keyOfCall;
};

/// Builds the factors of `tile.dropout` at `b`: f32, a scalar or a tile as
/// `place.head` is.
mlir::Value buildDropoutFactors(mlir::ImplicitLocOpBuilder &b,
                                const DropoutPlace &place,
                                mlir::FloatAttr probability);

} // namespace fa::tile

#endif // TILE_DROPOUT_H
