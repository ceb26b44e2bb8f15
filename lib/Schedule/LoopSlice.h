//===- LoopSlice.h - what an iteration's loads are computed from *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_LOOPSLICE_H
#define FA_LIB_SCHEDULE_LOOPSLICE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace fa {

/// Operations of a loop's body that depend on its induction variable and on
/// scalars of inputs alone: they can be computed for another iteration as well.
class LoopSlice {
public:
  explicit LoopSlice(mlir::scf::ForOp loop) : loop(loop) {}

  /// Adds what the operands of `op` are computed from. False: they depend on
  /// what the loop carries or on memory that may be written.
  bool add(mlir::Operation *op);

  /// Values from outside of the loop that what was added needs.
  llvm::ArrayRef<mlir::Value> outside() const { return fromOutside; }

  /// A copy of the operations, in their order.
  void clone(mlir::OpBuilder &b, mlir::IRMapping &mapping) const;

private:
  mlir::scf::ForOp loop;
  llvm::SetVector<mlir::Operation *> operations;
  llvm::SmallVector<mlir::Value> fromOutside;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_LOOPSLICE_H
