//===- TileWalk.h - tiles that go with a kernel's dots ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_SCHEDULE_TILEWALK_H
#define FA_LIB_SCHEDULE_TILEWALK_H

#include "Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace fa {

/// Collects tiles that have rows, or columns, in common, from some of them on:
/// along what is carried by loops, and along operations as a derived class
/// says.
class TileWalk {
protected:
  ~TileWalk() = default;

  /// Adds what `value`, an operation's result that no loop carries, is made of.
  virtual void addOperands(mlir::OpResult value) = 0;
  /// Adds what is made with `use`, in an operation that is no loop's.
  virtual void addUser(mlir::OpOperand &use) = 0;

  /// Anything but a tile is left out.
  void add(mlir::Value value) {
    if (value && tile::isTile(value) && tiles.insert(value))
      pending.push_back(value);
  }

  /// Until there are no more, or one is refused.
  void walk() {
    while (reason.empty() && !pending.empty())
      propagate(pending.pop_back_val());
  }

  /// The first reason counts.
  void refuse(mlir::Operation *op, const llvm::Twine &why) {
    if (reason.empty())
      reason = ("'" + op->getName().getStringRef() + "' " + why).str();
  }

  llvm::SetVector<mlir::Value> tiles;
  std::string reason; ///< why it cannot be done; empty: it can

private:
  void propagate(mlir::Value value) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(
              argument.getOwner()->getParentOp()))
        addCarried(loop, argument.getArgNumber() - 1);
    } else if (auto loop = value.getDefiningOp<mlir::scf::ForOp>()) {
      addCarried(loop, llvm::cast<mlir::OpResult>(value).getResultNumber());
    } else {
      addOperands(llvm::cast<mlir::OpResult>(value));
    }
    for (mlir::OpOperand &use : value.getUses()) {
      mlir::Operation *op = use.getOwner();
      auto around = llvm::dyn_cast<mlir::scf::ForOp>(op->getParentOp());
      if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op))
        addCarried(loop, use.getOperandNumber() - loop.getNumControlOperands());
      else if (around && llvm::isa<mlir::scf::YieldOp>(op))
        addCarried(around, use.getOperandNumber());
      else
        addUser(use);
    }
  }

  void addCarried(mlir::scf::ForOp loop, unsigned n) {
    add(loop.getInitArgs()[n]);
    add(loop.getRegionIterArgs()[n]);
    add(loop.getResult(n));
    add(loop.getBody()->getTerminator()->getOperand(n));
  }

  llvm::SmallVector<mlir::Value> pending;
};

} // namespace fa

#endif // FA_LIB_SCHEDULE_TILEWALK_H
