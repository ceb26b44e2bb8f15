//===- GroupedRows.h - where rows of a grouped view lie ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GROUPEDROWS_H
#define TILE_GROUPEDROWS_H

#include "Tile/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa::tile {

/// The arithmetic of tile.grouped_view, built where it is asked for: of the
/// kernels that number queries and heads, of addresses, and of boxes.
class GroupedRows {
public:
  using Value = mlir::Value;

  /// Of `group` heads, index, which is the type of all numbers here. A number
  /// is divided by multiplication with a reciprocal, as each thread of a GPU
  /// does it for several rows.
  GroupedRows(mlir::ImplicitLocOpBuilder &b, Value group,
              std::optional<int64_t> block);

  struct Place {
    Value head, query;
    /// i1: the block has it, whether or not there is such a query; null
    /// without blocks.
    Value isRow;
  };
  /// Of row `row`, a number or a vector of them.
  Place find(mlir::ImplicitLocOpBuilder &b, Value row) const;
  /// Of a row that begins a block, where rows have blocks; `isRow` is null.
  Place findFirst(mlir::ImplicitLocOpBuilder &b, Value row) const;
  /// Behind the last query of what begins a block or a tile and ends before row
  /// `end`, which begins the next.
  Value endOfQueries(mlir::ImplicitLocOpBuilder &b, Value end) const;
  /// How many rows `queries` queries have.
  Value countRows(mlir::ImplicitLocOpBuilder &b, Value queries) const;

  Value heads;   ///< in a block; without blocks all
  Value queries; ///< in a block, or null

private:
  /// A number that others are divided by, at least 1, and ⌈2^32 / number⌉.
  struct Divisor {
    Value number, reciprocal;
  };
  static Divisor divisorOf(mlir::ImplicitLocOpBuilder &b, Value number);
  /// The quotient and the remainder; of a vector by division.
  static std::pair<Value, Value> divide(mlir::ImplicitLocOpBuilder &b, Value x,
                                        const Divisor &by);
  /// The number, or a vector of it if `like` is one.
  static Value spread(mlir::ImplicitLocOpBuilder &b, Value number, Value like);
  static Value constant(mlir::ImplicitLocOpBuilder &b, int64_t value,
                        Value like);
  Place findIn(mlir::ImplicitLocOpBuilder &b, Value block) const;

  Divisor ofBlock, blocksOfQuery; ///< heads
  std::optional<int64_t> block;
};

} // namespace fa::tile

#endif // TILE_GROUPEDROWS_H
