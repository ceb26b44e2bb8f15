//===- ProgramParts.h - a consumer's program, taken apart -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_PROGRAMPARTS_H
#define FA_LIB_SCHEDULE_PROGRAMPARTS_H

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa {

/// What a consumer does for a program (tgpu-overlap-dots): `before` and
/// `first`, the first tile; `tiles`, all others; `last`, the last output;
/// `passing`, tiles behind them that the consumer leaves out; `behind`, what
/// becomes of the output. `first` to `last` stand in a branch, which all
/// programs take.
struct ProgramParts {
  using Ops = llvm::SmallVector<mlir::Operation *>;

  /// Takes `region` apart, and makes one of the variants of its first tile;
  /// false: it is none such, or has no second slot for what all loops read.
  bool take(mlir::Block &region, int64_t consumers);

  /// What the branch gives.
  mlir::scf::YieldOp left() { return branch.thenYield(); }

  /// Of `first`, the tiles that the other parts take.
  llvm::SmallVector<mlir::Value> takenFromFirst() const;

  void forEachRest(llvm::function_ref<void(mlir::Operation *)> callback) const {
    for (const Ops *ops : {&tiles, &last, &passing, &behind})
      llvm::for_each(*ops, callback);
  }

  Ops before, first, tiles, last, passing, behind;
  mlir::scf::IfOp branch;
  tgpu::DotStartOp scores, output; ///< of `first` and `last`
  tgpu::DotWaitOp scoresWait, outputWait;
  tgpu::ReleaseOp release;              ///< of the keys, in `first`
  mlir::arith::TruncFOp rounding;       ///< of P, in `first`
  llvm::SmallVector<mlir::Value> zeros; ///< of `first`, tiles that are 0

private:
  void deal(mlir::Block &region);
  bool findDots();
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_PROGRAMPARTS_H
