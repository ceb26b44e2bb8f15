//===- Tile.h - the tile dialect ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_TILE_H
#define TILE_TILE_H

#include "Tile/KnownAttributes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Tile/TileDialect.h.inc"
#include "Tile/TileEnums.h.inc"

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

#define GET_ATTRDEF_CLASSES
#include "Tile/TileAttributes.h.inc"

#define GET_OP_CLASSES
#include "Tile/TileOps.h.inc"

namespace fa::tile {

/// Whether a value is a tile or a whole tensor, not a scalar or memory.
inline bool isTile(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}
/// The type of one that is.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether floats of `type`, a scalar's or that of a shape's elements, are only
/// stored so, in 8 bits: something wider computes with them, which has all of
/// their numbers.
inline bool isStorageFloat(mlir::Type type) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(
      mlir::getElementTypeOrSelf(type));
}

/// `x` and `y`, numbers or vectors of one element type, as one step of a
/// reduction combines them.
mlir::Value combine(mlir::ImplicitLocOpBuilder &b, ReduceKind kind,
                    mlir::Value x, mlir::Value y);

} // namespace fa::tile

#endif // TILE_TILE_H
