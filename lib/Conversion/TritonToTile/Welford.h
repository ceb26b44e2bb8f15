//===- Welford.h - means and squares that are merged ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TRITONTOTILE_WELFORD_H
#define FA_LIB_CONVERSION_TRITONTOTILE_WELFORD_H

#include "mlir/IR/Block.h"

namespace fa {

/// Whether `block`, of arguments (mean, squares, weight) of two parts and with
/// three results, merges them: with w = w1 + w2, d = mean2 - mean1 and
/// r = w2 / w, or 0 where w is 0,
///
///   mean1 + d r,   squares1 + squares2 + d d w1 r,   w
///
/// (Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances", 1979). Sums and products may be in any order.
bool mergesMoments(mlir::Block &block);

} // namespace fa

#endif // FA_LIB_CONVERSION_TRITONTOTILE_WELFORD_H
