//===- SimtSoftmax.h - what steps of a softmax share ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTSOFTMAX_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTSOFTMAX_H

#include "SimtContext.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace fa {

struct SmallTanh;

//===----------------------------------------------------------------------===//
// Reductions, exponents (LowerSoftmax.cpp)
//===----------------------------------------------------------------------===//

inline constexpr float kLog2e = 1.44269504f;

using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
/// For each register of `result`, the elements of `layout` in its row (or
/// column, what is left without `dim`), combined; over the lanes, too, or for
/// each thread its own.
mlir::FailureOr<mlir::SmallVector<mlir::Value>>
reduceAlong(SimtContext &ctx, mlir::Operation *op,
            mlir::ArrayRef<mlir::Value> elements, const TileLayout &layout,
            unsigned dim, const TileLayout &result, Combine combine,
            bool overLanes = true);
/// Adds up `sum`, of rows `rows`, over the threads that share a row of `acc`,
/// if `op` says that they are those of threads.
mlir::LogicalResult addThreadSums(SimtContext &ctx, mlir::Operation *op,
                                  const TileLayout &acc, const TileLayout &rows,
                                  mlir::MutableArrayRef<mlir::Value> sum);

/// p = exp2(s c − m c), one multiply-add and one exp2 for each score, where c
/// is log2 e times the scale. The rounding of m c is a factor that all of a
/// row's p and its sum share: at most 2^8 while |m c| < 2^28, 2^32 while it
/// is below 2^30. From such a limit on, different scores are far apart in the
/// exponent, by 16 or 64: p is 1 where s is m and next to 0 elsewhere. The
/// power of two in c does for c then, and m times it is exact. Sentinels of
/// −1e30 are such scores.
struct Exponent {
  mlir::Value c, power; ///< c, and the power of two in it
  mlir::Value limit;    ///< |m| from which on the power does
  /// A maximum of −inf is this one: what a product with the power leaves
  /// finite.
  mlir::Value lowest;
  /// By how many powers of two of p a maximum that is held begins above the
  /// scores, so that p stays below 1; 0: it is the maximum, and p goes up to
  /// 2^7.
  float startsAbove;
  /// A little less than what |m c| is below `limit`.
  float mostProduct;
};
/// Of one row: factor · s + offset is the exponent of p; `alpha` rescales what
/// came before.
struct ExponentRow {
  mlir::Value factor, offset, alpha;
};
/// Of an online softmax: p, and each row's new maximum and factor of what came
/// before.
struct SoftmaxStep {
  mlir::SmallVector<mlir::Value> p, max, alpha;
};

/// How scores become p where they are multiplied with `c` in base 2: the same
/// for all rows, and for one whose maximum becomes `max`. Unless `limited`,
/// without `power`, `limit` and `lowest`.
Exponent exponentOf(SimtContext &ctx, mlir::Value c, bool limited = true);
/// With `shift`, the scores lack as much (SimtContext::firstOfRamp), `max` does
/// not.
ExponentRow rowExponent(SimtContext &ctx, const Exponent &exponent,
                        mlir::Value oldMax, mlir::Value max,
                        mlir::Value shift = {});
mlir::FailureOr<SoftmaxStep> softmaxStep(SimtContext &ctx,
                                         tile::OnlineSoftmaxOp op,
                                         mlir::SmallVector<mlir::Value> scores);

using ScoreMasks = mlir::SmallVector<mlir::SmallVector<mlir::Value>>;
/// The conditions of what masks `scores` (`belowMasks`).
ScoreMasks masksOf(SimtContext &ctx, mlir::Value scores);
/// `value`, or −inf where element `reg` is masked.
mlir::Value masked(SimtContext &ctx, mlir::Value value, const ScoreMasks &masks,
                   size_t reg);

//===----------------------------------------------------------------------===//
// Capped scores (LowerCapped.cpp)
//===----------------------------------------------------------------------===//

/// Whether the step `op` of capped scores asks for the form of tanh itself:
/// beside expected maxima it is what is done where the short one does not do.
bool hasShortForm(SimtContext &ctx, tile::OnlineSoftmaxOp op);
mlir::FailureOr<SoftmaxStep> cappedStep(SimtContext &ctx,
                                        tile::OnlineSoftmaxOp op);
/// Of a tanh, or a mask of scores: the use by what follows all such; null: one
/// of them has several.
mlir::OpOperand *useOfCapped(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// tanh (LowerTanh.cpp)
//===----------------------------------------------------------------------===//

/// What `tanh` is of: a tile, and the number that all of it is multiplied with.
std::pair<mlir::SmallVector<mlir::Value>, mlir::Value>
takeFactor(SimtContext &ctx, mlir::math::TanhOp tanh);
/// The polynomial with these coefficients, by Horner's rule.
mlir::Value evaluate(SimtContext &ctx, mlir::ArrayRef<mlir::Value> coefficients,
                     mlir::Value argument);
/// The coefficients of tanh(factor · s) as a polynomial of s².
mlir::SmallVector<mlir::Value>
scaleCoefficients(SimtContext &ctx, const SmallTanh &form, mlir::Value factor);
/// i1: powers of `factor` are no numbers for a polynomial's coefficients.
mlir::Value isOutOfRange(SimtContext &ctx, mlir::Value factor);
/// i1, of a thread: whether tanh(factor · score) of one of these needs more
/// than a form for numbers up to `bound`.
mlir::Value isBeyond(SimtContext &ctx, mlir::ArrayRef<mlir::Value> scores,
                     mlir::Value factor, float bound);
/// tanh(factor · score), in the first form that does for all of a warp's.
mlir::SmallVector<mlir::Value> tanhOf(SimtContext &ctx,
                                      mlir::ArrayRef<mlir::Value> scores,
                                      mlir::Value factor,
                                      mlir::ArrayRef<SmallTanh> forms);

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_SIMTSOFTMAX_H
