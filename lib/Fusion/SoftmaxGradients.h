//===- SoftmaxGradients.h - gradients of one softmax ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of one attention as a program writes them out: dots with what
// GradientAlgebra.h says of its probabilities and of their gradient.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_SOFTMAXGRADIENTS_H
#define FA_LIB_FUSION_SOFTMAXGRADIENTS_H

#include "NamedTensor.h"

#include "Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa {

/// What the scores of a softmax are: factor · dot, masked or not, and sums with
/// what does not depend on the dot.
struct SoftmaxScores {
  tile::DotOp dot;
  double factor = 1;
  mlir::Value mask; ///< null: there is none
  double other = 0; ///< where the mask is false
  mlir::SmallVector<mlir::Operation *>
      ops; ///< behind the dot, the last one first
};

/// A dot that gives what an attention or its gradients give.
struct GradientUse {
  enum Kind { Output, OfValues, OfQueries, OfKeys } kind;
  tile::DotOp dot;
  DimNames dims;     ///< of its result
  double factor = 1; ///< of the gradient
};

/// What of an attention and its gradients is computed from one softmax. Names
/// of dimensions are those of the scores, and two more.
struct SoftmaxGradients {
  SoftmaxGradients(tile::SoftmaxOp softmax, mlir::func::FuncOp function)
      : softmax(softmax), function(function),
        rank(tile::typeOf(softmax.getInput()).getRank()) {}

  int queryDim() const { return rank - 2; }
  int keyDim() const { return rank - 1; }
  int feature() const { return rank; } ///< of Q and K
  int valueFeature() const { return rank + 1; }
  /// The first of the uses, or of those that are gradients; null: there is
  /// none.
  tile::DotOp firstOf(bool withOutput) const;

  tile::SoftmaxOp softmax;
  mlir::func::FuncOp function;
  int rank;
  SoftmaxScores scores;
  NamedTensor q, k, v, dout;
  std::vector<GradientUse> uses;
};

/// Nothing if no gradients are computed from `softmax`, in a body of one block.
/// `reason` says what keeps them from being those of one attention, if
/// something does.
std::optional<SoftmaxGradients> findGradients(tile::SoftmaxOp softmax,
                                              mlir::func::FuncOp function,
                                              std::string &reason);

} // namespace fa

#endif // FA_LIB_FUSION_SOFTMAXGRADIENTS_H
