//===- TilePagedOps.td - rows that are found through a table of pages -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_PAGED_OPS_TD
#define TILE_PAGED_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_PagedOp : Tile_Op<"paged", [Pure]> {
  let summary = "rows that are found through a table of pages";
  let description = [{
    Sequence `b` has `lengths[b]` rows, which lie in the pages that row `b` of
    the table names, `page` rows in each:
    `r[b, h, j, :] = pages[table[b, j / page], h, j mod page, :]` for
    `j < lengths[b]`, 0 behind. `page` is dimension 2 of `pages`, and dimension
    2 of the result is that of the table's rows times `page`. Entries behind the
    last row's page are not read; several sequences may have a page in common.

    How pages lie in memory is a matter of the argument's strides.

    ```mlir
    %k = tile.paged %pages through %table limit %lengths
      : tensor<?x8x?x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
    ```
  }];
  let arguments = (ins 4DTensorOf<[AnyType]>:$pages, 2DTensorOf<[I32]>:$table,
      1DTensorOf<[I32]>:$lengths);
  let results = (outs 4DTensorOf<[AnyType]>:$result);
  let assemblyFormat = [{
    $pages `through` $table `limit` $lengths attr-dict
    `:` type($pages) `,` type($table) `,` type($lengths) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_PagedViewOp : Tile_Op<"paged_view", [Pure]> {
  let summary = "the rows of one head of a sequence, which lie in pages";
  let description = [{
    Row `j` of the view, `j < length`, is row `j mod page` of head `head` of the
    page `table[sequence, j / page]`; `page` is dimension 2 of `pages`. Rows
    behind are outside of the view, and entries of the table that belong to them
    are not read. An entry that names no page is an error of the caller's, but
    nothing outside of `pages` is read for it.

    The result's layout is a map to (number in the table's row, row of the page,
    column): it has no strides, so that what relies on strides refuses it. Only
    `tile.load` and what becomes of it read such a view.

    ```mlir
    %k = tile.paged_view %pages[%head] through %table[%batch] limit %length
      : memref<?x8x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x?xi32, strided<[?, ?]>>
      -> memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$pages, Index:$head,
      AnyStridedMemRef:$table, Index:$sequence, Index:$length);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $pages `[` $head `]` `through` $table `[` $sequence `]` `limit` $length
    attr-dict `:` type($pages) `,` type($table) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of a view of `pages`, of rank 4.
    static ::mlir::MemRefType typeOf(::mlir::MemRefType pages);
  }];
}

def Tile_SlotViewOp : Tile_Op<"slot_view", [Pure]> {
  let summary = "the rows of all heads that belong to one token of a cache";
  let description = [{
    Slot `s` of a cache is row `s mod page` of page `s / page`, for all heads;
    `page` is dimension 2 of `pages`. The view has a row for each head. Of slot
    −1, which means that a token is not kept, it has none, and neither has it
    for another number that is no slot, which is an error of the caller's.

    ```mlir
    %k = tile.slot_view %pages at %slot
      : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
      -> memref<?x128xbf16, strided<[?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$pages, Index:$slot);
  let results = (outs AnyStridedMemRef:$result);
  let assemblyFormat = [{
    $pages `at` $slot attr-dict `:` type($pages) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of a view of `pages`, of rank 4.
    static ::mlir::MemRefType typeOf(::mlir::MemRefType pages);
    /// The same as a part of `pages`, which is what the operand became.
    /// `bound(next, count)` is the lesser one, without signs, of the number
    /// behind the slot and of how many slots there are.
    ::mlir::Value expand(::mlir::ImplicitLocOpBuilder &b, ::mlir::Value pages,
        ::mlir::Value slot,
        ::llvm::function_ref<::mlir::Value(::mlir::Value, ::mlir::Value)> bound);
  }];
}

#endif // TILE_PAGED_OPS_TD
