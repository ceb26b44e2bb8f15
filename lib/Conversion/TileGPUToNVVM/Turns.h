//===- Turns.h - which block runs which programs ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTONVVM_TURNS_H
#define FA_LIB_CONVERSION_TILEGPUTONVVM_TURNS_H

#include "NvidiaLowerings.h"

namespace fa {

//===----------------------------------------------------------------------===//
// The order of programs (LowerPrograms.cpp)
//===----------------------------------------------------------------------===//

/// What many numbers below 2^31 are divided by: multiplied with a reciprocal,
/// which is made once. Its error is below 1 / 2^32 of a number, that of the
/// quotient below 1.
struct Divisor {
  using Value = mlir::Value;

  Divisor(mlir::OpBuilder &b, mlir::Location loc, Value divisor);
  /// Of either, by a condition.
  Divisor(mlir::OpBuilder &b, mlir::Location loc, Value condition,
          const Divisor &x, const Divisor &y);

  /// Quotient and remainder.
  std::pair<Value, Value> divide(mlir::ImplicitLocOpBuilder &b, Value x) const;

  Value divisor, reciprocal; ///< i32; the latter is (2^32 - 1) / divisor
};

/// In turn t of n blocks, block b runs the (t n + b)-th program in an order
/// along which the work of neighbours is alike. Where a mask lets the work
/// shrink along the first axis (a head's tiles of queries, the last one first),
/// that is up over every second program and down over the others, a section of
/// heads at a time: over some turns each block gets as much as any other, and
/// the last programs are short.
///
/// Where blocks take programs in turn, the longest of a section come first
/// instead.
///
/// Blocks of a cluster are one here, and so are as many programs that are
/// neighbours on the first axis.
struct Turns {
  using Value = mlir::Value;

  Value programs, blocks, block; ///< how many, n, b; i32, as all numbers here
  Value tiles;                   ///< programs on the first axis
  Value count;                   ///< of the turns that this block takes part in
  Value lastSection;
  Divisor section;          ///< programs of a section
  Divisor heads, lastHeads; ///< of a section, of the last one
  Divisor axis1;            ///< programs on this axis
};

Turns takeTurns(NvidiaContext &ctx);

/// The `number`-th program of all, by axis, where blocks take them in turn.
std::array<mlir::Value, 3>
programInOrder(NvidiaContext &ctx, const Turns &turns, mlir::Value number);

/// Whether `op`, a scalar of the kernel, waits for the kernel before or lets
/// the next one begin.
bool isKernelWait(mlir::Operation &op);

/// The scalars of the kernel in a loop over programs, but for those that
/// `isLeftOut` says.
mlir::LogicalResult
lowerScalarsInLoop(NvidiaContext &ctx,
                   llvm::function_ref<bool(mlir::Operation &)> isLeftOut);

//===----------------------------------------------------------------------===//
// Programs that are taken in turn (LowerTakenPrograms.cpp)
//===----------------------------------------------------------------------===//

/// The kernel's `tgpu.programs`; null: it has none.
tgpu::ProgramsOp takenPrograms(tile::KernelOp kernel);

/// Initializes the barriers, of which `readers` warps leave each slot.
void initializeTaken(NvidiaContext &ctx, tgpu::ProgramsOp programs,
                     int64_t readers);

/// What the dealer's warp does.
mlir::LogicalResult lowerDealer(NvidiaContext &ctx, tgpu::ProgramsOp programs);

/// The region of a partition, for all programs of the block.
mlir::LogicalResult lowerTakenPartition(NvidiaContext &ctx,
                                        tgpu::ProgramsOp programs,
                                        mlir::Block &region);

/// For a partition whose loop over programs is written out: the scalars of the
/// kernel, without what is found of each program.
mlir::LogicalResult lowerScalarsOnce(NvidiaContext &ctx,
                                     tgpu::ProgramsOp programs);

/// Which program a turn has in such a loop.
void readTakenProgram(NvidiaContext &ctx, tgpu::ProgramsOp programs,
                      tgpu::ProgramInOp op);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTONVVM_TURNS_H
