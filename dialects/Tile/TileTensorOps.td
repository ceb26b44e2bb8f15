//===- TileTensorOps.td - operations on whole tensors and on tiles --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_TENSOR_OPS_TD
#define TILE_TENSOR_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "matrix product over the last two dimensions";
  let description = [{
    `r[.., m, n] = acc[.., m, n] + Σ_k a[.., m, k] · b[.., k, n]`; with
    `transpose_b`, `b` is given as `[.., n, k]`. Products are accumulated in
    the element type of the result (f32 for 16-bit operands).

    With `precision tf32` operands of f32 may be rounded to tf32 before they
    are multiplied; the interpreter does, as NVIDIA's kernels do, the other
    targets do not.

    Leading dimensions are batches. One of `b` may divide the corresponding one
    of `a`: index `i` of `a` then uses index `i / (size_a / size_b)` of `b`,
    which is how grouped-query attention shares a KV head among query heads.

    `linalg.matmul` has neither grouped batches nor a value semantics that the
    tile level can use without an init tensor, hence an operation of our own.

    ```mlir
    %s = tile.dot %q, %k transpose_b
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x?xf32>
    %o = tile.dot %p, %v acc %acc
      : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b,
      Optional<AnyRankedTensor>:$acc, UnitAttr:$transpose_b,
      DefaultValuedAttr<Tile_DotPrecisionAttr,
                        "::fa::tile::DotPrecision::Ieee">:$precision);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`transpose_b` $transpose_b^)? (`acc` $acc^)?
    (`precision` $precision^)? attr-dict
    `:` type($a) `,` type($b) custom<AccType>(ref($acc), type($acc), type($result))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Whether f32 numbers are multiplied as they are.
    bool isIeeeF32();
    /// Whether f32 numbers may be rounded to tf32 first.
    bool isTf32() { return getPrecision() == DotPrecision::Tf32; }
  }];
}

def Tile_SoftmaxOp : Tile_Op<"softmax", [Pure,
    AllTypesMatch<["input", "result"]>]> {
  let summary = "softmax along one dimension";
  let description = [{
    `r_j = exp(x_j − max x) / Σ_j exp(x_j − max x)` along dimension `dim`
    (default: the last). A row of only −inf gives zeros, as the numerics
    contract asks; `linalg.softmax` leaves NaN there. A `sink` is one more score
    in each row that takes part in the sum and has no value: `exp(sink)` is
    added to the denominator, of a row of −inf, too.

    ```mlir
    %p = tile.softmax %s : tensor<?x?x?x?xf32>
    %p = tile.softmax %s sink %x : tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
      Optional<AnyRankedTensor>:$sink, OptionalAttr<I64Attr>:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`sink` $sink^)? (`dim` $dim^)? attr-dict
    `:` type($input) (`,` type($sink)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimension that is normalised, 0 ≤ d < rank.
    int64_t getNormalizedDim();
  }];
}

def Tile_LogSumExpOp : Tile_Op<"log_sum_exp", [Pure]> {
  let summary = "logarithm of the sum of exponentials along the last dimension";
  let description = [{
    `r = max x + ln Σ_j exp(x_j − max x)` over the last dimension; −inf for a
    row of only −inf. It is the second result of attention, natural base. A
    `sink` is one more score in each row, as in `tile.softmax`.

    ```mlir
    %lse = tile.log_sum_exp %s : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
      Optional<AnyRankedTensor>:$sink);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`sink` $sink^)? attr-dict
    `:` type($input) (`,` type($sink)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_DropoutOp : Tile_Op<"dropout", [Pure,
    AllTypesMatch<["input", "result"]>]> {
  let summary = "drops elements at random, by a rule that names their place";
  let description = [{
    `r[b, h, i, j] = x[b, h, i, j] · Z`, where Z is 0 with probability
    t / 65536 and else 65536 / (65536 − t), t = round(65536 · probability),
    from 1 to 65535. Which elements are dropped follows from `rng`, an i64
    tensor of a seed and an offset, and from b, h, i and j alone, as
    docs/numerics.md defines (Philox4x32-10, Salmon et al., SC 2011):

    ```
    w    = philox(counter = (j & ~9, i & ~8, b · size(h) + h, offset low),
                  key = (seed low, seed high xor offset high))
    u    = halfword (j & 1) of w[2 · (i >> 3 & 1) + (j >> 3 & 1)]
    keep = u ≥ t
    ```
    ```mlir
    %z = tile.dropout %p rng %rng probability 0.1
      : tensor<?x?x?x?xf32>, tensor<2xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$rng,
      F64Attr:$probability);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `rng` $rng `probability` $probability attr-dict
    `:` type($input) `,` type($rng)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "reduction along one dimension, which disappears";
  let description = [{
    ```mlir
    %m = tile.reduce max %s dim 1 : tensor<64x128xf32> -> tensor<64xf32>
    ```
    `max` and `min` are arith's `maximumf`/`minimumf`: a NaN is kept. Integers have
    a sign; their sum wraps around.
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, AnyRankedTensor:$input,
      I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$kind $input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "permutation of the dimensions";
  let description = [{
    Dimension `d` of the result is dimension `permutation[d]` of the input.
    `linalg.transpose` needs a destination that the tile level does not have.

    ```mlir
    %t = tile.transpose %k [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure]> {
  let summary = "inserts a dimension of size 1";
  let description = [{
    Dimension `dim` of the result is the new one.

    ```mlir
    %c = tile.expand_dims %m dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats dimensions of size 1, or a scalar";
  let description = [{
    Of equal rank: a dimension of size 1 is repeated to the result's size. A
    scalar is repeated everywhere. The dynamic sizes of the result are given in
    order in `sizes`. A dimension that is already as large stays as it is.

    ```mlir
    %a = tile.broadcast %c : tensor<64x1xf32> -> tensor<64x128xf32>
    %x = tile.broadcast %scale sizes %b, %h : f32 -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins AnyType:$input, Variadic<Index>:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`sizes` $sizes^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_RepeatOp : Tile_Op<"repeat", [Pure]> {
  let summary = "each element of the last dimension, several times";
  let description = [{
    `r[.., i] = input[.., i / times]`, 0 behind the last of these, as a number for
    each block of so many columns is one for each column. The other dimensions
    are as large as the input's. Dynamic sizes of the result are given in order in
    `sizes`.

    ```mlir
    %s = tile.repeat %x times 32 sizes %m, %n
      : tensor<?x?xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$times,
      Variadic<Index>:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `times` $times (`sizes` $sizes^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "the index along one dimension";
  let description = [{
    `r[.., i_dim, ..] = i_dim`, of an integer or index element type. Dynamic
    sizes of the result are given in order in `sizes`.

    ```mlir
    %i = tile.iota dim 2 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
    ```
  }];
  let arguments = (ins I64Attr:$dim, Variadic<Index>:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "`dim` $dim (`sizes` $sizes^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_RampOp : Tile_Op<"ramp", [Pure]> {
  let summary = "a tile that is linear in its columns and rows";
  let description = [{
    `r[i, j] = factor · (column + j − row − i)`. It stands as the accumulator of
    a dot, of which a target with dots of warpgroups makes one step more
    (`tgpu.ramp`); nothing else takes it.

    ```mlir
    %bias = tile.ramp %slope from %firstQuery, %firstKey : tensor<64x128xf32>
    %s = tile.dot %q, %k transpose_b acc %bias
      : tensor<64x64xf16>, tensor<128x64xf16> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins F32:$factor, Index:$row, Index:$column);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat =
      "$factor `from` $row `,` $column attr-dict `:` type($result)";
}

#endif // TILE_TENSOR_OPS_TD
