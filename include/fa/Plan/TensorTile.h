//===- TensorTile.h - the tile of what is around attentions -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_TENSORTILE_H
#define FA_PLAN_TENSORTILE_H

#include "fa/Plan/ForwardRules.h"

namespace fa {

/// A product of matrices, or of a batch of them.
struct ProductFacts {
  /// Of the result, and what is summed over; 0: known at launch.
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t count = 1; ///< of such products; 0: known at launch
  /// Its operands lie in memory as 16 bits, in rows without gaps that begin at
  /// multiples of 16 bytes: a producer can fetch their tiles.
  bool isFetched = false;
  /// Columns and depth end where the memory that has them does; else tiles have
  /// to end where they do.
  bool hasWholeColumns = true, hasWholeDepth = true;
};

/// The tile of a product on a machine by `rules`.
ProductTile planProduct(const ProductFacts &facts, const ForwardRules &rules);

} // namespace fa

#endif // FA_PLAN_TENSORTILE_H
