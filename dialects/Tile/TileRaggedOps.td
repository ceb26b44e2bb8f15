//===- TileRaggedOps.td - sequences packed into one tensor ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of different lengths lie one behind the other: sequence b has rows
// offsets[b] to offsets[b + 1] - 1 of the packed tensor. These operations say
// so and move nothing; in a kernel they are views of the packed memory.
//
//===----------------------------------------------------------------------===//

#ifndef TILE_RAGGED_OPS_TD
#define TILE_RAGGED_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_RaggedOp : Tile_Op<"ragged", [Pure]> {
  let summary = "packed sequences as a batch";
  let description = [{
    `r[b, h, i, ..] = rows[h, offsets[b] + i, ..]` for
    `i < offsets[b + 1] − offsets[b]`, 0 behind. There is one sequence less than
    there are offsets. Dimension 2 of the result is as large as dimension 1 of
    `rows`, so that no longest length is needed. Offsets ascend and lie between
    0 and the number of rows.

    ```mlir
    %q = tile.ragged %rows by %offsets
      : tensor<8x?x128xbf16>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$rows, 1DTensorOf<[I32]>:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $rows `by` $offsets attr-dict
    `:` type($rows) `,` type($offsets) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_PackOp : Tile_Op<"pack", [Pure]> {
  let summary = "a batch of sequences as packed rows";
  let description = [{
    The inverse of `tile.ragged`: `r[h, offsets[b] + i, ..] = input[b, h, i, ..]`
    for `i < offsets[b + 1] − offsets[b]`. Rows that belong to no sequence are 0;
    a kernel does not write them.

    ```mlir
    %r = tile.pack %o by %offsets
      : tensor<?x8x?x128xbf16>, tensor<?xi32> -> tensor<8x?x128xbf16>
    %l = tile.pack %lse by %offsets
      : tensor<?x8x?xf32>, tensor<?xi32> -> tensor<8x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, 1DTensorOf<[I32]>:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `by` $offsets attr-dict
    `:` type($input) `,` type($offsets) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_SequenceOfOp : Tile_Op<"sequence_of",
    [MemoryEffects<[MemRead]>]> {
  let summary = "which packed sequence a slot of tiles belongs to";
  let description = [{
    With `rows` rows in a tile, sequence `b` has the slots from
    `first(b) = floor(offsets[b] / rows) + b` to before those of the next: as
    many as it has tiles, or one more. So how many slots there are of all
    sequences follows from sizes alone. Gives the last sequence with
    `first(b) ≤ slot`, or the first of all, and its `first(b)`. There is one
    sequence less than there are offsets, and at least one; offsets ascend.

    Two loads after each other, where a warp has a lane for each of 32 offsets.

    ```mlir
    %sequence, %first = tile.sequence_of %slot in %offsets rows 128 : memref<?xi32, strided<[?]>>
    ```
  }];
  let arguments = (ins Index:$slot,
      StridedMemRefRankOf<[I32], [1]>:$offsets,
      ConfinedAttr<I64Attr, [IntPositive]>:$rows);
  let results = (outs Index:$sequence, Index:$first);
  let assemblyFormat = [{
    $slot `in` $offsets `rows` $rows attr-dict `:` type($offsets)
  }];
  let extraClassDeclaration = [{
    /// The same as loops of scalars: every 32nd offset, then 32 of them.
    static std::pair<::mlir::Value, ::mlir::Value>
    search(::mlir::ImplicitLocOpBuilder &b, ::mlir::Value slot,
           ::mlir::Value offsets, int64_t rows);
  }];
}

#endif // TILE_RAGGED_OPS_TD
