//===- TileGroupedOps.td - the queries of several heads as rows -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GROUPED_OPS_TD
#define TILE_GROUPED_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_GroupedViewOp : Tile_Op<"grouped_view", [Pure]> {
  let summary = "the queries of the heads that share K and V, as rows";
  let description = [{
    `heads` is [g, s, d] or [g, s]: s queries of g heads, of any strides. Row `r`
    of the view is head `r mod g` of query `⌊r / g⌋`. There are fewer than
    2^32 / g rows, or 2^32 / ⌈g / block⌉ blocks.

    With `block`, for machines that have boxes, rows come in blocks of so many, each of which a box of a
    tensor map holds; what accesses the view begins at one. Of a group of at most
    `block` heads a block has as many queries as have room with all heads,
    q = ⌊block / g⌋: row `w` of block `n` is head `w mod g` of query
    `n q + ⌊w / g⌋`, and the last `block - q g` rows are none. Of a larger group
    each query has ⌈g / block⌉ blocks, of `block` heads one after the other.
    Rows that are none are outside of the view, and so are those of queries and
    heads that there are not; what is outside reads as 0 and is not written.

    The result's layout is a map to (head, query, column), that of rows
    without blocks: it has no strides, so that what relies on strides refuses
    it. Only `tile.load`, `tile.store` and what becomes of them access such a
    view.

    PackGQA of FlashAttention 3 (Shah et al., 2024) orders rows so, too.

    ```mlir
    %q = tile.grouped_view %heads block 64
      : memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>
      -> memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$heads,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$block);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $heads (`block` $block^)? attr-dict `:` type($heads) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of a view of `heads`, of rank 2 or 3.
    static ::mlir::MemRefType typeOf(::mlir::MemRefType heads);
  }];
}

#endif // TILE_GROUPED_OPS_TD
