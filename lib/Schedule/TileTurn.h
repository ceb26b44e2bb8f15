//===- TileTurn.h - what a consumer does for one tile -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_TILETURN_H
#define FA_LIB_SCHEDULE_TILETURN_H

#include "TileLoop.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace fa {

/// Whether a slot of the channel is a vector.
bool isOfVector(mlir::Value channel);

/// Writes out a turn of a pipelined loop: dots of stage 0 for the tile of this
/// step, those of stage 1 for the one before. Dots begin in the order in which
/// they are asked for, and are waited for where something needs them, so that
/// later ones run meanwhile. A slot is awaited before its first reader begins
/// and released behind the wait for its last.
class TileTurn {
public:
  /// At `now`, the step of the tile that stage 0 computes, and `before`, that
  /// of stage 1; null where the turn has none such. `mapping` has what the
  /// tile's iteration begins with. Slots of `keptVectors`, channels that stage
  /// 0 receives from, are released behind the wait for the late dots, whose
  /// left operands are made of them: until something has taken what is
  /// received, nothing says that it has been read.
  TileTurn(mlir::ImplicitLocOpBuilder &b, const TileLoop &tiles,
           mlir::Value now, mlir::Value before, mlir::IRMapping mapping,
           llvm::ArrayRef<mlir::Value> keptVectors = {})
      : b(b), tiles(tiles), now(now), before(before),
        mapping(std::move(mapping)), keptVectors(keptVectors) {}

  /// Begins a dot of stage 0; before it computes what it reads.
  void begin(const LoopDot &dot);

  /// Awaits what all dots of stage 0 read, and the kept vectors.
  void awaitAll();

  /// Begins a dot of stage 1: `left` times the tile of `before`, added to
  /// `acc`.
  void beginLate(const LoopDot &dot, mlir::Value left, mlir::Value acc);

  /// Computes what is left of stage 0. With `holdsReleases`, slots that only
  /// stage 0 reads are released behind it, when half of what the first late dot
  /// is to take is there: begun before the exponents, the wait for a late dot
  /// would hold them up.
  void compute(bool holdsReleases);

  /// Waits for the dots that only carried values need.
  void finish();

  mlir::IRMapping &values() { return mapping; }

private:
  struct Running {
    const LoopDot *dot;
    mlir::Value value;
    bool isWaitedFor = false;
  };

  void await(const LoopChannel &channel, mlir::Value at);
  /// The step of the channel's slot when `at` tiles have passed: the consumer's
  /// own, in this turn, where it is a channel of such.
  mlir::Value slotOf(const LoopChannel &channel, mlir::Value at);
  void emit(mlir::Operation *op);
  template <typename SyncOp> void emitSyncs(tgpu::ReceiveOp receive);
  bool isOfVector(mlir::Operation *op);
  void emitVectorsOf(mlir::Operation *op);
  /// Computes `value` of the tile, if it is not.
  void need(mlir::Value value);
  void waitFor(Running &running);
  void waitForOperandsOf(mlir::Operation *op);
  void awaitKeptVectors();
  void releaseKeptVectors();
  bool isKept(mlir::Operation *release) const;
  void release(const LoopDot &dot);
  void release(const LoopDot &dot, const LoopChannel &channel);
  bool isWaitedFor(const LoopDot &dot) const;

  mlir::ImplicitLocOpBuilder &b;
  const TileLoop &tiles;
  mlir::Value now, before;
  mlir::IRMapping mapping;
  llvm::ArrayRef<mlir::Value> keptVectors;
  llvm::SmallVector<Running> running;
  llvm::SmallPtrSet<const LoopChannel *, 4> awaited;
  llvm::SmallPtrSet<mlir::Operation *, 16> emitted;
  llvm::SmallVector<const LoopChannel *> held;
  bool isHolding = false;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_TILETURN_H
