//===- TileLoop.h - a loop of two dots, taken apart -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_TILELOOP_H
#define FA_LIB_SCHEDULE_TILELOOP_H

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa {

/// A dot of the loop with what stands around it.
struct LoopDot {
  tgpu::DotStartOp start;
  tgpu::DotWaitOp wait;
  tgpu::AwaitOp await;
  tgpu::ReleaseOp release;
};

/// A loop over tiles of keys, S = Q K, P = f(S), O = O' + P V, where O' is O
/// times a factor of P's rows, taken apart.
class TileLoop {
public:
  explicit TileLoop(mlir::scf::ForOp loop) : loop(loop) {}

  /// Whether the loop is such a one.
  bool match();

  /// Whether this loop goes on with nothing else than what `before` leaves.
  bool follows(const TileLoop &before) const;

  mutable mlir::scf::ForOp loop;
  mutable LoopDot scores, output;
  mlir::BlockArgument step; ///< counts tiles; the last that is carried
  size_t carried = 0;       ///< which carried value is the output
  mutable mlir::arith::TruncFOp rounding;
  /// What the scores' dot adds to is made of, in order: of the tile's number.
  mlir::SmallVector<mlir::Operation *> ahead;
  /// What is computed before the wait for the output; what makes of the output
  /// that which the next dot adds to, and what this takes from the former.
  mlir::SmallVector<mlir::Operation *> early, late;
  mlir::SmallVector<mlir::Value> taken;

private:
  bool matchDot(tgpu::DotStartOp start, LoopDot &dot);
  /// What the scores' dot adds to, if anything, is a ramp, which follows from
  /// the tile's number alone.
  bool matchRamp();
  /// The second dot reads a rounded tile and carries its result.
  bool matchOutput();
  /// What is computed from the carried output comes after its wait, and after
  /// the next scores have begun; everything else before it.
  bool classify();
  /// What only spreads a factor of rows over a tile goes with what multiplies
  /// by it: the rows are carried, not the tile.
  void spreadLate(llvm::SmallPtrSetImpl<mlir::Operation *> &afterWait);
  /// Whether the same is made of the output before the next dot.
  bool rescalesAs(const TileLoop &other) const;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_TILELOOP_H
