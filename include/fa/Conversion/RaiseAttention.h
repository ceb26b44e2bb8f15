//===- RaiseAttention.h - kernels that are attention as one -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose loops provably compute attention becomes a function of whole
// tensors that is one tile.attention, which goes through the pipeline of any
// attention. The proof holds for launches that meet its conditions; others run
// the kernel as it is written.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_RAISEATTENTION_H
#define FA_CONVERSION_RAISEATTENTION_H

#include "Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fa {

/// An argument or a result of a raised function, by the arguments of the
/// kernel. Symbol n of an expression is the kernel's argument n, an integer;
/// the three from its last argument's number on, which has no data, are the
/// sizes of the grid. Dimension n of an expression, a size of its own, is as
/// large as there is memory for in all tensors that have it.
struct RaisedArgument {
  enum Kind {
    Tensor, ///< in the memory of argument `from`
    Same,   ///< argument `from` itself
    Index   ///< the number `offset`
  } kind = Tensor;
  unsigned from = 0;
  mlir::AffineExpr offset; ///< of element 0, in elements
  /// In elements: of [batch, head, row, column], or without columns; those of
  /// pages are [page, head, row, column].
  std::vector<mlir::AffineExpr> sizes, strides;
};

/// What a launch must be: expression >= 0, or = 0.
struct LaunchCondition {
  mlir::AffineExpr expression;
  bool isZero = false;
  std::string text; ///< "argument 9 is a multiple of 64"
};

/// A kernel that is attention.
struct RaisedAttention {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< with the function alone
  mlir::func::FuncOp function;              ///< has the kernel's name
  std::vector<RaisedArgument> arguments;    ///< and results behind them
  std::vector<LaunchCondition> conditions;
  /// Arguments of f32 that must be above 0.
  std::vector<unsigned> positiveArguments;
  std::vector<std::string> report; ///< what was found, in lines
};

/// Where a proof ended.
struct NotRaised {
  mlir::Location where;
  std::string why;
};

/// Raises `kernel`, whose grid is given by its last argument as
/// `triton-to-tile` makes it, and which stays as it is. Nothing, and
/// `reason`, if it is not attention or not known to be.
std::optional<RaisedAttention> raiseAttention(tile::KernelOp kernel,
                                              NotRaised &reason);

} // namespace fa

#endif // FA_CONVERSION_RAISEATTENTION_H
