//===- StateChain.h - running state of an online softmax --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_STATECHAIN_H
#define FA_LIB_SCHEDULE_STATECHAIN_H

#include "Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa {

/// Calls `visit` with everything that ends a state of online softmax: each
/// online_finalize and merge_parts of `kernel`.
void forEachStateEnd(tile::KernelOp kernel,
                     llvm::function_ref<void(mlir::Operation *)> visit);

/// The maxima or the sums that an end of a state takes: what flows into it
/// through loops and online softmaxes, and where that begins.
class StateChain {
public:
  enum Kind { Maxima, Sums };

  StateChain(mlir::Operation *end, Kind kind);

  /// Whether nothing else uses a value of the chain.
  bool isClosed() const;

  /// The operand of the end.
  mlir::OpOperand &last() const;
  llvm::ArrayRef<tile::OnlineSoftmaxOp> softmaxes() const { return steps; }
  /// Operands that take a value from outside of the chain.
  llvm::ArrayRef<mlir::OpOperand *> starts() const {
    return sources.getArrayRef();
  }

private:
  template <typename Op> mlir::OpOperand &operandOf(Op op) const {
    return kind == Maxima ? op.getMaxMutable() : op.getSumMutable();
  }
  void add(mlir::Value value);
  void addSource(mlir::OpOperand &operand);
  void addCarried(mlir::scf::ForOp loop, unsigned n);
  void trace(mlir::Value value);

  mlir::Operation *end;
  Kind kind;
  llvm::SetVector<mlir::Value> values;
  llvm::SmallVector<mlir::Value> pending;
  llvm::SmallVector<tile::OnlineSoftmaxOp> steps;
  llvm::SmallSetVector<mlir::OpOperand *, 2> sources;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_STATECHAIN_H
