//===- SimtLowerings.h - the walk, and what any GPU lowers ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERINGS_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERINGS_H

#include "SimtContext.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

namespace fa {

//===----------------------------------------------------------------------===//
// The walk (SimtWalk.cpp)
//===----------------------------------------------------------------------===//

/// Checks that `kernel` is at stage S7: that it says its warps and how much
/// shared memory a block has.
mlir::LogicalResult verifyPlaced(tile::KernelOp kernel);
/// Builds the function before the context's kernel, which is left in place, by
/// the context's registry. Emits an error at the operation that has no
/// lowering.
mlir::LogicalResult lowerKernel(SimtContext &ctx);
mlir::LogicalResult lowerBlock(SimtContext &ctx, mlir::Block &block);
mlir::LogicalResult lowerOp(SimtContext &ctx, mlir::Operation *op);
/// Maps what a program is on each axis, i32, and of how many.
void mapPrograms(SimtContext &ctx, std::array<mlir::Value, 3> program);
/// The kernel's body: a block runs the program that has its number.
mlir::LogicalResult lowerBody(SimtContext &ctx, tile::KernelOp kernel);

//===----------------------------------------------------------------------===//
// Element by element (LowerElementwise.cpp, LowerNarrow.cpp)
//===----------------------------------------------------------------------===//

mlir::LogicalResult lowerConstant(SimtContext &ctx, mlir::Operation *op);
/// An operation on tiles, by a form or on each element.
mlir::LogicalResult lowerElementwise(SimtContext &ctx, mlir::Operation *op);
/// Two codes of `format`, in the low bytes of a word's halves, as <2 x f16>.
mlir::Value widenCodes(SimtContext &ctx, mlir::Value codes, mlir::Type format);
/// `halves`, <2 x f16>, as a word of two of `element`, f16 or bf16.
mlir::Value asWord(SimtContext &ctx, mlir::Value halves, mlir::Type element);

//===----------------------------------------------------------------------===//
// Loops over rows (LowerExtremes.cpp)
//===----------------------------------------------------------------------===//

/// Whether a loop finds the smallest or largest of scalars that depend on its
/// number alone, in whatever order.
bool findsExtremes(mlir::scf::ForOp loop);
mlir::LogicalResult lowerExtremes(SimtContext &ctx, mlir::scf::ForOp loop);

//===----------------------------------------------------------------------===//
// The lowerings of each file
//===----------------------------------------------------------------------===//

/// All of the following.
void addSimtLowerings(SimtContext &ctx);
void addCappedLowerings(SimtContext &ctx);
void addColumnBitsLowerings(SimtContext &ctx);
void addControlLowerings(SimtContext &ctx);
void addElementwiseLowerings(SimtContext &ctx);
void addGlobalLowerings(SimtContext &ctx);
void addGroupsLowerings(SimtContext &ctx);
void addMergeLowerings(SimtContext &ctx);
void addNarrowLowerings(SimtContext &ctx);
void addPagesLowerings(SimtContext &ctx);
void addPositionsLowerings(SimtContext &ctx);
void addScanLowerings(SimtContext &ctx);
void addShapesLowerings(SimtContext &ctx);
void addSharedLowerings(SimtContext &ctx);
void addSoftmaxLowerings(SimtContext &ctx);
void addTanhLowerings(SimtContext &ctx);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTLOWERINGS_H
