//===- TileLoop.h - a loop of dots, taken apart -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_TILELOOP_H
#define FA_LIB_SCHEDULE_TILELOOP_H

#include "TileGPU/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace fa {

// Operations are handles, whose accessors are not const.

/// A channel that dots of a loop read, one tile in each step.
struct LoopChannel {
  mlir::Value channel;
  bool isOwn = false; ///< has tiles of each consumer, in slots of its own
  mutable tgpu::AwaitOp await;
  mutable tgpu::ReleaseOp release;
  llvm::SmallVector<size_t> readers; ///< numbers of dots
};

/// A dot of a loop. One of stage 1 is begun a step later: it adds to a carried
/// tile, from a rounded tile that its own step has computed.
struct LoopDot {
  mutable tgpu::DotStartOp start;
  mutable tgpu::DotWaitOp wait;
  PlannedDot planned;
  /// Those that it reads each step: of its right operand, unless that stays for
  /// all steps, and of a left one that does not.
  llvm::SmallVector<size_t, 2> channels;
  /// Nothing of its own step reads the result, which is carried.
  bool isLast = false;
  size_t carried = 0; ///< of stage 1: which carried value it is
  mutable mlir::arith::TruncFOp rounding; ///< of stage 1: its left operand

  bool isLate() const { return planned.stage == 1; }
};

/// A loop over tiles in a consumer, taken apart as a plan has it: dots in
/// program order, what is computed beside those of stage 0, and what is made of
/// a carried tile before a dot of stage 1 adds to it. Of the forward's,
/// S = Q K, P = f(S), O = O' + P V, the second dot is of stage 1, and O' is O
/// times a factor of P's rows.
class TileLoop {
public:
  explicit TileLoop(mlir::scf::ForOp loop) : loop(loop) {}

  /// Takes the loop apart. Why it is none such as `planned` has its dots, as
  /// many as the loop; empty: it is.
  std::string match(llvm::ArrayRef<PlannedDot> planned);

  /// Why no step can begin dots as planned: one would wait for ever, or for
  /// what begins behind it; empty: all can.
  std::string whyStuck() const;

  /// Whether this loop goes on with nothing else than what `before` leaves.
  bool follows(const TileLoop &before) const;

  bool hasLate() const {
    return llvm::any_of(dots, std::mem_fn(&LoopDot::isLate));
  }
  /// Dots in the order in which a step begins them.
  llvm::SmallVector<const LoopDot *> inOrder() const;
  llvm::SmallVector<const LoopDot *> late() const;
  mlir::BlockArgument carriedArg(const LoopDot &dot) const;
  /// The dot of stage 0 whose result `value` is, or null.
  const LoopDot *dotOf(mlir::Value value) const;
  /// Whether a dot of `stage` reads the channel.
  bool isReadIn(const LoopChannel &channel, int64_t stage) const;

  mutable mlir::scf::ForOp loop;
  std::vector<LoopDot> dots;
  std::vector<LoopChannel> channels;
  mlir::BlockArgument step; ///< counts tiles; the last that is carried
  /// What is computed beside the dots of stage 0; what makes of the carried
  /// tiles that which dots of stage 1 add to, and what this takes from the
  /// former.
  mlir::SmallVector<mlir::Operation *> early, rescaling;
  mlir::SmallVector<mlir::Value> taken;

private:
  std::string matchDots(llvm::ArrayRef<PlannedDot> planned);
  std::string matchChannel(size_t number, mlir::Value channel);
  std::string matchLate(LoopDot &dot);
  /// What is computed from carried tiles of dots of stage 1 comes after their
  /// waits, and after those of stage 0 have begun; all else before.
  std::string classify();
  /// What only spreads a factor of rows over a tile goes with what multiplies
  /// by it: the rows are carried, not the tile.
  void spreadLate(llvm::SmallPtrSetImpl<mlir::Operation *> &afterWait);
  /// What of the loop a dot of stage 0 reads, beside its slots.
  llvm::SetVector<mlir::Operation *> sliceOf(const LoopDot &dot) const;
  /// Whether the same is made of the carried tiles before the late dots.
  bool rescalesAs(const TileLoop &other) const;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_TILELOOP_H
