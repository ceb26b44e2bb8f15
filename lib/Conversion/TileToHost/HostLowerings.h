//===- HostLowerings.h - the walk, and what the host lowers -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOHOST_HOSTLOWERINGS_H
#define FA_LIB_CONVERSION_TILETOHOST_HOSTLOWERINGS_H

#include "HostContext.h"

namespace fa {

//===----------------------------------------------------------------------===//
// The walk (HostWalk.cpp)
//===----------------------------------------------------------------------===//

/// Builds the function before `kernel`, which is left in place. Emits an error
/// at the operation that has no lowering.
mlir::LogicalResult lowerHostKernel(tile::KernelOp kernel,
                                    const VectorShape &shape);
mlir::LogicalResult lowerBlock(HostContext &ctx, mlir::Block &block);
/// Whether the operation and everything in it works on scalars and memrefs.
bool isScalarOp(mlir::Operation *op);
/// An error at `op`, a part of whose lowering takes matrices, if `tile` is
/// none.
mlir::LogicalResult verifyMatrix(mlir::Operation *op,
                                 mlir::RankedTensorType tile);

//===----------------------------------------------------------------------===//
// The lowerings of each file
//===----------------------------------------------------------------------===//

/// All of the following, the last two over what others have for their
/// operations, if the kernel is lowered along rows.
void addHostLowerings(HostContext &ctx);
void addControlLowerings(HostContext &ctx);
void addDotLowerings(HostContext &ctx);
void addLoadLowerings(HostContext &ctx);
void addLoopLowerings(HostContext &ctx);
void addMergeLowerings(HostContext &ctx);
void addPlaceLowerings(HostContext &ctx);
void addReduceLowerings(HostContext &ctx);
void addSoftmaxLowerings(HostContext &ctx);
void addStoreLowerings(HostContext &ctx);
void addRowDotLowerings(HostContext &ctx);
void addRowSoftmaxLowerings(HostContext &ctx);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILETOHOST_HOSTLOWERINGS_H
