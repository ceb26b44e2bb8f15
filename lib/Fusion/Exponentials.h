//===- Exponentials.h - exp(x - max x), taken apart -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_EXPONENTIALS_H
#define FA_LIB_FUSION_EXPONENTIALS_H

#include "RowView.h"

#include "Tile/Tile.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa {

/// `exp(x − max x)` and its sum, along one dimension.
struct Exponentials {
  mlir::Value x;     ///< what the exponentials are of, in the base's logarithm
  bool base2;        ///< exp2
  bool hasMax;       ///< else exp(x)
  int64_t dim;       ///< along which the sum is
  mlir::Value shift; ///< what is subtracted from each line, or null
};

/// Takes `value` apart; `dim` is where it is summed.
std::optional<Exponentials> getExponentials(mlir::Value value, int64_t dim);

/// The sum that `view` repeats along the dimension `dim` that it sums, of a
/// tensor of `rank` dimensions; −1: whichever dimension it sums.
tile::ReduceOp getSum(RowView view, int64_t dim, int64_t rank);

/// x in natural base: 2^x = e^(x ln 2).
mlir::Value inNaturalBase(mlir::ImplicitLocOpBuilder &b,
                          const Exponentials &found);

/// The softmax, computed in f32 whatever the type of the scores.
mlir::Value buildSoftmax(mlir::ImplicitLocOpBuilder &b,
                         const Exponentials &found);

} // namespace fa

#endif // FA_LIB_FUSION_EXPONENTIALS_H
