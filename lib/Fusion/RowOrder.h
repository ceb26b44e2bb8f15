//===- RowOrder.h - values that later rows have no less of ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_ROWORDER_H
#define FA_LIB_FUSION_ROWORDER_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace fa {

/// What is known of values of a mask region from row to row. Of a value that
/// grows, the first row of a block has the least and the last one the most.
class RowOrder {
public:
  /// Whether no row has less than the row before it; false where that is not
  /// known. A value that is the same for all rows grows.
  bool grows(mlir::Value value);
  /// Whether `value` is at least 0 for every row, as far as is known.
  bool isNatural(mlir::Value value);

private:
  bool growsNew(mlir::Value value);
  bool isNaturalNew(mlir::Value value);

  llvm::DenseMap<mlir::Value, bool> growing, natural;
};

} // namespace fa

#endif // FA_LIB_FUSION_ROWORDER_H
