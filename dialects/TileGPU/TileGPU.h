//===- TileGPU.h - the tgpu dialect ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEGPU_TILEGPU_H
#define TILEGPU_TILEGPU_H

#include "Tile/Tile.h"
#include "fa/Layout/LinearLayout.h"
#include "fa/Plan/SchedulePlan.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa {
/// For the uniquing of attributes.
llvm::hash_code hash_value(const TileLayout &layout);
} // namespace fa

#include "TileGPU/TileGPUDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "TileGPU/TileGPUAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "TileGPU/TileGPUTypes.h.inc"

#define GET_OP_CLASSES
#include "TileGPU/TileGPUOps.h.inc"

namespace fa::tgpu {

/// The layout of a tile at S4 or below.
TileLayout layoutOf(mlir::Type tileType);
inline TileLayout layoutOf(mlir::Value tile) {
  return layoutOf(tile.getType());
}

/// `type` with `layout`.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  const TileLayout &layout);

/// The plan of `kernel`, of one partition if it has none.
SchedulePlan planOf(tile::KernelOp kernel);

/// What `scores` are below masks, which replace them by −inf; null if a mask
/// has another value or what is below it another use.
mlir::Value belowMasks(mlir::Value scores);

/// The 1 or -1, the same for all elements, that `product` multiplies its left
/// operand with; null: it is no such product.
mlir::Value signOf(mlir::Value product);

/// `scores`, which may be null, without such a sign.
mlir::Value belowSign(mlir::Value scores);

} // namespace fa::tgpu

#endif // TILEGPU_TILEGPU_H
