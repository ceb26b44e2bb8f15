//===- MaskAnalysis.h - which keys a mask can let pass ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask region is a conjunction of conditions on the query i and the key j.
// Each condition that compares affine forms of i and j bounds the keys of a row
// from above or below; the bounds of a block of rows follow from its first and
// last row, because they are monotone in i. What has another form is evaluated
// for each element and bounds nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_MASKANALYSIS_H
#define FA_FUSION_MASKANALYSIS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace fa {

/// `i * query + j * key + Σ coefficient * value + constant`, where the values
/// depend on neither i nor j.
struct AffineForm {
  int64_t query = 0;
  int64_t key = 0;
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;

  /// This + `factor` * `other`.
  AffineForm plus(const AffineForm &other, int64_t factor) const;
};

/// A row i sees keys j <= form(i) only (`upper`), or j >= form(i) only.
struct KeyBound {
  bool upper;
  AffineForm form; ///< without key
};

/// What is known of a mask region `(b, h, i, j, captures...) -> i1`.
struct MaskBounds {
  llvm::SmallVector<KeyBound> bounds;
  /// Whether the bounds are the whole mask: between them nothing is masked.
  bool complete = true;
};

/// Analyses a mask region; an empty one masks nothing. A value that depends on
/// an argument in `varying` (besides i and j) is not used in bounds.
MaskBounds analyzeMask(mlir::Region &mask,
                       llvm::ArrayRef<mlir::Value> varying = {});

/// The keys that a block of rows can see, as values of type index.
struct KeyIntervals {
  mlir::Value begin, end;         ///< every key that some row sees is inside
  mlir::Value fullBegin, fullEnd; ///< every row sees every key inside; may be
                                  ///< empty (fullEnd <= fullBegin)
};

/// Builds the intervals for rows firstRow to lastRow (both included) over keys
/// 0 to `length`. `materialize` gives the value of a term of a bound.
KeyIntervals
buildKeyIntervals(mlir::ImplicitLocOpBuilder &b, const MaskBounds &bounds,
                  mlir::Value firstRow, mlir::Value lastRow, mlir::Value length,
                  llvm::function_ref<mlir::Value(mlir::Value)> materialize);

} // namespace fa

#endif // FA_FUSION_MASKANALYSIS_H
