//===- HostKernel.h - what a host offers and hands a kernel -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTKERNEL_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTKERNEL_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// What the vector unit of a host offers, in the terms of the lowering.
struct VectorShape {
  int64_t lanes = 16;        ///< f32 elements in one register
  int64_t accumulators = 16; ///< registers that a block of a dot may fill
  int64_t maxVectors = 4;    ///< registers across the queries in one block
  bool pairDots = false;     ///< HostInfo::pairDots
  bool tileDots = false;     ///< HostInfo::tileDots

  /// Whether operands of `element`, which is no f32, can be in pairs.
  bool canPair(mlir::Type element) const {
    return (pairDots && element.isBF16()) || (tileDots && element.isF16());
  }
};

/// The arguments of a host kernel: `programIds`, grid extents, the kernel's
/// arguments in order and the scratch memory as memref<?xi8>.
struct HostArguments {
  mlir::SmallVector<mlir::Value> programIds, gridExtents, arguments;
  mlir::Value scratch;
};

/// Creates the function of the host kernel ABI (include/fa/Conversion/
/// TileToHost.h) for `kernel` and unpacks its arguments at the start.
mlir::func::FuncOp createHostFunction(tile::KernelOp kernel,
                                      mlir::ImplicitLocOpBuilder &b,
                                      HostArguments &arguments);

/// Loads from pages and of the rows of several heads, and loads of elements of
/// 8 bits that are widened, become loads of copies of their rows, widened as
/// they are, in buffers of their own at the start of the kernel
/// (memref.alloca): what follows knows strides and wider types alone. A copy
/// lies in the first cache until it is read. Rows of several heads are stored
/// in the same way; in blocks, which machines with boxes have, they are an
/// error.
mlir::LogicalResult stageRows(tile::KernelOp kernel);

/// What dots of gradients read in several ways, the keys for instance as rows
/// of scores and again as what these are multiplied with, becomes a load for
/// each, and what is computed a rounding for each: products in pairs bring an
/// operand to one form.
void splitReads(tile::KernelOp kernel, const VectorShape &shape);

/// Marks a loop over tiles, which carries nothing but what is in memory.
inline constexpr llvm::StringLiteral kTileLoop = "fa.tile_loop";

/// The conversion of p to V's type, if that is all that happens to p.
mlir::arith::TruncFOp getOnlyNarrowing(tile::OnlineSoftmaxOp op);

/// What dots read of p: that conversion, else p.
mlir::Value getReadP(tile::OnlineSoftmaxOp op);

/// Whether the softmax that computes `p` can write it in pairs: it is what is
/// read of that, by one operation.
bool isPForOneDot(mlir::Value p);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTKERNEL_H
