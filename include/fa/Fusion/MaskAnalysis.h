//===- MaskAnalysis.h - which keys a mask can let pass ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is brought to a disjunction of conjunctions of comparisons. A
// comparison of the key index j with a form that does not depend on j bounds
// the keys that a row i sees; a conjunction is then one interval of keys, the
// mask a short list of them. Two that differ in one bound are one with a wider
// bound. For a block of rows, the smallest and the largest
// value of each form give what some row sees and what all rows see: for forms
// that are affine in i these are at the first or last row; forms that read
// something for each row (where its document begins) are looked at row by row,
// once, before the loops. What has another shape is evaluated for each element
// and bounds nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_MASKANALYSIS_H
#define FA_FUSION_MASKANALYSIS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

#include <functional>

namespace fa {

/// `i * query + j * key + Σ coefficient * value + constant`. The values do not
/// depend on j; those of `rowTerms` depend on i.
struct AffineForm {
  using Term = std::pair<mlir::Value, int64_t>;
  int64_t query = 0;
  int64_t key = 0;
  int64_t constant = 0;
  llvm::SmallVector<Term, 2> terms, rowTerms;

  /// This + `factor` * `other`; nothing if a coefficient or the constant would
  /// not be below 2^62 in size.
  std::optional<AffineForm> plus(const AffineForm &other, int64_t factor) const;
  /// Whether the form has one value for all rows.
  bool isUniform() const { return query == 0 && rowTerms.empty(); }
  bool operator==(const AffineForm &) const = default;
};

/// A row i sees only keys j that are at most the largest of the forms at i
/// (`upper`), or at least the smallest: prefix or causal, say.
struct KeyBound {
  bool upper;
  llvm::SmallVector<AffineForm, 1> forms; ///< without key, at least one

  /// Whether the bound is the same for all rows.
  bool isUniform() const {
    return llvm::all_of(forms, std::mem_fn(&AffineForm::isUniform));
  }
  bool operator==(const KeyBound &) const = default;
};

/// One conjunction of a mask: an interval of keys.
struct KeyInterval {
  llvm::SmallVector<KeyBound, 2> bounds;
  /// Whether the bounds are the whole conjunction: between them it holds.
  bool complete = true;
  /// Of one that is not: where this value of the region holds, which is the
  /// same for all rows and keys, the bounds are the whole conjunction. Or null.
  mlir::Value completeIf = {};

  /// Whether the bounds are the whole conjunction, if only at some launches.
  bool mayBeComplete() const { return complete || completeIf; }
  bool hasLowerBound() const;
  /// How many keys each row sees at most, if bounds that differ by a constant
  /// say so: those of a window.
  std::optional<int64_t> width() const;
};

/// The disjunction of its intervals, at least one; more than four are taken
/// together.
struct MaskRule {
  static constexpr unsigned maxIntervals = 4;
  llvm::SmallVector<KeyInterval, 2> intervals;

  /// Whether the intervals are the whole mask, where `completeIf` holds.
  bool isIntervals() const {
    return llvm::all_of(intervals, std::mem_fn(&KeyInterval::mayBeComplete));
  }
  /// Whether there may be tiles of which every row sees every key.
  bool mayBeComplete() const {
    return llvm::any_of(intervals, std::mem_fn(&KeyInterval::mayBeComplete));
  }
  /// Upper bounds that are the same for all rows and in every interval: the
  /// keys beyond do not exist for this batch and head.
  llvm::SmallVector<KeyBound> lengths() const;
  /// Whether later rows see further: work grows with i.
  bool growsWithQuery() const;
  /// Whether a bound is read for each row.
  bool readsRows() const;
  /// Whether there may be keys before those of an interval.
  bool hasLowerBound() const;
};

/// Analyses a mask region `(b, h, i, j, captures...) -> i1`; an empty one masks
/// nothing. A value that depends on an argument in `varying` (besides i and j)
/// is not used in bounds.
MaskRule analyzeMask(mlir::Region &mask,
                     llvm::ArrayRef<mlir::Value> varying = {});

/// Writes a mask that its intervals say whole as comparisons of j with their
/// bounds, where it has something dearer: |i - j|, or quotients of j.
void simplifyMask(mlir::Region &mask);

/// The form of a value of a score or mask region; nothing if it has none.
std::optional<AffineForm> analyzeForm(mlir::Value value);

/// The keys that a block of rows can see by one interval, of type index.
struct KeyRange {
  mlir::Value begin, end;         ///< every key that some row sees is inside
  mlir::Value fullBegin, fullEnd; ///< every row sees every key inside; may be
                                  ///< empty (fullEnd <= fullBegin)
};

/// Builds the ranges of each interval for rows firstRow to lastRow (both
/// included) over keys 0 to `length`, in ascending order of their begin; they
/// may overlap or be empty. `materialize(value, row)` gives the value of a term
/// at a row; for terms without i the row is null.
llvm::SmallVector<KeyRange> buildKeyRanges(
    mlir::ImplicitLocOpBuilder &b, const MaskRule &rule, mlir::Value firstRow,
    mlir::Value lastRow, mlir::Value length,
    llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> materialize);

} // namespace fa

#endif // FA_FUSION_MASKANALYSIS_H
