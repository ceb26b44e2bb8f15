//===- GradientAlgebra.h - gradients of a softmax, written out --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With P = softmax(S), e = exp(S − m) for any m of a row, L = Σ e of a row, and
// D the gradient of P, what frameworks write for that of S is, in some form,
//
//   e · D / L − e · Σ(e · D) / L²
//
// (Dao, "FlashAttention-2", arXiv 2307.08691, section 2.3). An expression of
// products, quotients, sums and row sums of these is a polynomial of e, D, 1/L
// and R = Σ(e · D), by which it is recognised whatever its form is. So is a
// factor M, 0 where a mask is false and else 1.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_GRADIENTALGEBRA_H
#define FA_LIB_FUSION_GRADIENTALGEBRA_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <map>
#include <optional>

namespace fa {

/// A sum of products of powers of e, D, L, R and M.
using Powers = std::array<int, 5>;
using Polynomial = std::map<Powers, double>;

/// Dimension n of the scores is called n. What a dimension of another tensor
/// is; one of size 1 is none.
inline constexpr int kNoDim = -1;
/// A tensor is the same along it.
inline constexpr int kAnyDim = -2;
/// From here on: dimensions of the gradient of P, until they are met.
inline constexpr int kFirstOfGradient = 1000;
using DimNames = llvm::SmallVector<int>;

/// A tensor, element by element.
struct Algebraic {
  Polynomial value;
  DimNames dims;
};

/// Evaluates what is computed from one softmax, over its last dimension.
class GradientAlgebra {
public:
  /// `scores` are what the softmax `probabilities` is computed from.
  GradientAlgebra(mlir::Value scores, mlir::Value probabilities);

  /// `value` as a polynomial; nothing if it is something else.
  std::optional<Algebraic> evaluate(mlir::Value value);

  /// The factor f for which `value` is f times the gradient of the scores,
  /// where `mask` is true, if it was met.
  static std::optional<double> asGradient(const Polynomial &value,
                                          bool &isMasked);
  /// Whether `value` is P.
  static bool isProbabilities(const Polynomial &value);

  /// Makes two names one; false if they are of different dimensions.
  bool unite(int &x, int y);
  bool unite(DimNames &x, llvm::ArrayRef<int> y);
  /// What a name has become.
  int find(int name) const;

  /// D, once one was met: a dot.
  mlir::Value gradient;
  /// What M is 1 for, once one was met: in the dimensions of the scores.
  mlir::Value mask;

private:
  std::optional<Algebraic> compute(mlir::Value value);
  std::optional<Algebraic> combine(mlir::Operation *op);
  std::optional<Algebraic> maskOut(mlir::arith::SelectOp select);
  std::optional<Algebraic> sumRow(Algebraic value, int64_t dim);
  bool isExponential(mlir::Value value) const;
  Algebraic atom(Powers powers, DimNames dims) const {
    return {{{powers, 1.0}}, std::move(dims)};
  }
  DimNames scoreDims() const;

  mlir::Value scores, probabilities;
  llvm::DenseMap<mlir::Value, std::optional<Algebraic>> known;
  std::map<int, int> met; ///< names of D's dimensions
};

/// The names of the source's dimensions, where `op`, a view, has a result with
/// the names `dims`; nothing if they cannot be told.
std::optional<DimNames> namesBefore(mlir::Operation *op,
                                    llvm::ArrayRef<int> dims);

} // namespace fa

#endif // FA_LIB_FUSION_GRADIENTALGEBRA_H
