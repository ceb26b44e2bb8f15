//===- QueryRange.h - the queries that see a tile of keys -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_QUERYRANGE_H
#define FA_FUSION_QUERYRANGE_H

#include "fa/Fusion/MaskAnalysis.h"

namespace fa {

/// Queries from 0 on, of type index: the mask of keys, turned around.
struct QueryRange {
  mlir::Value begin, end;         ///< every query that sees a key is inside
  mlir::Value fullBegin, fullEnd; ///< every query inside sees every key; may
                                  ///< be empty (fullEnd <= fullBegin)
  /// Whether queries may be left out at the begin or the end, and whether some
  /// are known to see every key.
  bool hasLowerEdge = false, hasUpperEdge = false, hasFull = true;
};

/// The rule of a mask for programs that own keys, which go through several
/// heads: no bound that depends on one is used.
MaskRule analyzeMaskOfKeys(mlir::Region &mask);

/// Whether a bound by this form is one of queries, too: it is the query's
/// number and what is the same for all, or the latter alone.
bool isTurned(const AffineForm &form);

/// Whether all of the mask is intervals of queries, whose bounds are known for
/// each tile of keys.
bool hasQueryIntervals(const MaskRule &rule);

/// Builds the range for keys `firstKey` to `lastKey`, both included, and
/// queries 0 to `numQueries`. Bounds that grow with the query one by one, or
/// not at all, are turned around; others leave out no query. `materialize`
/// gives the value of a term that is the same for all queries.
QueryRange
buildQueryRange(mlir::ImplicitLocOpBuilder &b, const MaskRule &rule,
                mlir::Value firstKey, mlir::Value lastKey,
                mlir::Value numQueries,
                llvm::function_ref<mlir::Value(mlir::Value)> materialize);

} // namespace fa

#endif // FA_FUSION_QUERYRANGE_H
