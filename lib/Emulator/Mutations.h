//===- Mutations.h - faults that can be planted -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_MUTATIONS_H
#define FA_LIB_EMULATOR_MUTATIONS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace fa {

struct Mutation {
  llvm::StringLiteral name;
  bool atSchedule; ///< at S7, otherwise at S8
  /// Gives how many places it changed.
  int64_t (*plant)(mlir::Operation *kernel);
};

/// Those of warp-specialized kernels.
llvm::ArrayRef<Mutation> partitionMutations();
/// Those of AMD's programs (MutateWaves.cpp).
llvm::ArrayRef<Mutation> waveMutations();

/// The operations of one kind, inside loops or anywhere.
template <typename Op>
llvm::SmallVector<Op> collect(mlir::Operation *kernel, bool inLoops = false) {
  llvm::SmallVector<Op> found;
  kernel->walk([&](Op op) {
    if (!inLoops || op->template getParentOfType<mlir::scf::ForOp>())
      found.push_back(op);
  });
  return found;
}

template <typename Op> int64_t erase(llvm::ArrayRef<Op> ops) {
  for (Op op : ops)
    op->erase();
  return ops.size();
}

/// A number for what one thread does.
mlir::Value constant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type,
                     int64_t value);

template <typename Op> int64_t drop(mlir::Operation *kernel) {
  return erase<Op>(collect<Op>(kernel));
}

} // namespace fa

#endif // FA_LIB_EMULATOR_MUTATIONS_H
