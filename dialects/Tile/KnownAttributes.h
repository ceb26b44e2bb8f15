//===- KnownAttributes.h - the attributes that a dialect has ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discardable attribute with the prefix of a dialect is one of a table, or an
// error: one that is misspelt would be taken for one that is not there.
//
//===----------------------------------------------------------------------===//

#ifndef TILE_KNOWNATTRIBUTES_H
#define TILE_KNOWNATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace fa::tile {

/// What the value of an attribute may be. Numbers are i64.
enum class AttributeKind {
  Unit,
  Positive,
  NotNegative,
  PowerOfTwo,
  F32,
  Text,
  Symbol,
  Sizes,   ///< array<i64: ...>
  Triple,  ///< one of three numbers: an argument, a dimension and a size
  Map,     ///< from symbols to sizes
  SizeMap, ///< the same of one size
  Access,
  Plan, ///< of the dialect tgpu, which this one does not know
};

/// What `kind` asks for: "a power of two".
llvm::StringRef describe(AttributeKind kind);

/// A row of the table.
struct KnownAttribute {
  llvm::StringLiteral name;   ///< with the dialect's prefix
  llvm::StringLiteral places; ///< names of operations, with ", " between
  bool isOfArgument;          ///< of the operations, not of themselves
  AttributeKind kind;
  llvm::StringLiteral doc; ///< Markdown
};

/// Checks that `found`, an attribute of `op` or, with its number, of an
/// argument of `op`, is in `table`, is where it may be and has the value that
/// it may have. The nearest name of the table is part of the error.
mlir::LogicalResult
verifyKnownAttribute(llvm::ArrayRef<KnownAttribute> table, mlir::Operation *op,
                     mlir::NamedAttribute found,
                     std::optional<unsigned> argument = std::nullopt);

} // namespace fa::tile

#endif // TILE_KNOWNATTRIBUTES_H
