//===- GlobalView.h - a view in global memory, taken apart ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_GLOBALVIEW_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_GLOBALVIEW_H

#include "Tile/GroupedRows.h"
#include "fa/Layout/LinearLayout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace fa {

struct GlobalView {
  mlir::MemRefType type;
  mlir::Value base; ///< pointer to the view's element 0
  mlir::SmallVector<mlir::Value> sizes, strides;
  /// Where rows are found through a table, i32 but for the steps: `base` is
  /// row 0 of page 0, `strides` are of a page's rows and columns.
  struct Pages {
    mlir::Value table;      ///< pointer to the entry of row 0
    mlir::Value entryStep;  ///< entries of the row's are apart by, elements
    mlir::Value pageStep;   ///< pages are apart by, elements
    mlir::Value rows;       ///< of a page
    mlir::Value reciprocal; ///< (2^32 - 1) / rows
    mlir::Value last;       ///< page
  };
  std::optional<Pages> pages;
  /// Where rows are the queries of several heads: `base` is query 0 of head 0,
  /// and `strides` are of queries and columns.
  struct Groups {
    tile::GroupedRows rows;
    mlir::Value heads, queries; ///< how many there are
    mlir::Value headStep;       ///< heads are apart by, elements
  };
  std::optional<Groups> groups;

  /// Whether rows are apart by a step.
  bool hasRowStep() const { return !pages && !groups; }
};

/// A walk over the elements that one thread accesses, from address to address:
/// one of its own for each would fill the registers.
struct AddressWalk {
  mlir::Value address;
  Coord last;              ///< its coordinates in the tile
  mlir::Value firstRow;    ///< of a view without a step from row to row
  int64_t firstInTile = 0; ///< the same in the tile
};

} // namespace fa

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_GLOBALVIEW_H
