//===- InlineRegion.h - a score or mask region on a tile --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_INLINEREGION_H
#define FA_LIB_FUSION_INLINEREGION_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace fa {

/// What an argument of a region stands for on a tile of rows x columns.
struct RegionValue {
  enum Kind {
    Uniform, ///< one scalar for the whole tile: `value`
    Row,     ///< `value` + the row's number
    Column,  ///< `value` + the column's number
    Vector,  ///< the element of `value`, a vector, of the row's number
    Tile,    ///< a tile of its own: `value`
    Memory   ///< a captured tensor: `value` is a memref
  };
  Kind kind;
  mlir::Value value;
};

/// Builds at `b` the elementwise tile code of `region` for a tile of `rows` x
/// `columns`; `arguments` says what each block argument is. Returns what the
/// region yields, or `wanted`, a value of it, as a tile. `isInside`: its rows
/// and columns are all ones that there are.
mlir::Value inlineRegion(mlir::ImplicitLocOpBuilder &b, mlir::Region &region,
                         int64_t rows, int64_t columns,
                         llvm::ArrayRef<RegionValue> arguments,
                         mlir::Value wanted = {}, bool isInside = false);

} // namespace fa

#endif // FA_LIB_FUSION_INLINEREGION_H
