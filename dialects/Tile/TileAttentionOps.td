//===- TileAttentionOps.td - attention and its online form ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_ATTENTION_OPS_TD
#define TILE_ATTENTION_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_AttentionOp : Tile_Op<"attention", [Pure, IsolatedFromAbove,
    AttrSizedOperandSegments]> {
  let summary = "softmax(mod(scale · Q Kᵀ), masked) V";
  let description = [{
    For batch b, query head h and query i, with g = hq / hkv:

    ```
    s_j = score(scale · Σ_d q[b,h,i,d] · k[b,h/g,j,d], b, h, i, j)   in f32
    p   = softmax of s over the j that mask(b, h, i, j) lets pass
    o[b,h,i,:] = Σ_j P_j · v[b,h/g,j,:]   P = p rounded to V's type
    lse[b,h,i] = ln Σ_j exp(s_j)          over the same j
    ```
    With `wide_p`, P is not rounded: P·V is of f32 numbers. `precision` is that
    of both dots, where they multiply f32 numbers.
    A `sink`, f32 of `[hq]`, is one more score of each row that adds to the sums
    alone. A row without any such j gives o = 0 and lse = −inf (the sink, if
    there is one). `score` may be empty
    (identity) and so may `mask` (nothing is masked). What the regions need
    from outside comes in as `captures`, tensors or scalars, which are the last
    arguments of both regions; in a region a captured tensor is read by
    `tensor.extract`.

    With `dropout %rng probability π`, P = p ∘ Z rounded to V's type, where Z
    are the factors of `tile.dropout`; lse is without them.

    k and v may both be of f8E4M3FN or f8E5M2 where q is of f16 or bf16: they
    are widened to q's type, which has all of their numbers, and P is rounded to
    it. With
    `key_scales` and `value_scales`, f32 `[b, hkv]`, each k and v of batch b and
    KV head is to be multiplied with the number there: scores with the one,
    outputs with the other, as neither depends on j or d. There may be several
    `key_scales`: what the queries of a KV head are multiplied with is one, too.
    Of `[b, hkv, n]` each number is for `scale_keys` keys that follow each other:
    key j is multiplied with number j / `scale_keys`, and so is what P has for
    value j. All that have three dimensions are for so many keys.

    q that is stored in 8 bits is widened before, by `arith.extf`: in a kernel
    as its tile is loaded.

    Shapes: q `[b, hq, sq, d]`, k `[b, hkv, sk, d]`, v `[b, hkv, sk, dv]`,
    o `[b, hq, sq, dv]`, lse `[b, hq, sq]` in f32; hq a multiple of hkv.

    ```mlir
    %o = tile.attention %q, %k, %v scale %scale captures(%off : index)
        : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>
       -> tensor<?x?x?x64xf16>
    score {}
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %o_: index):
      %lim = arith.addi %i, %o_ : index
      %m = arith.cmpi sle, %j, %lim : index
      tile.yield %m : i1
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
      AnyRankedTensor:$v, F32:$scale, Variadic<AnyRankedTensor>:$key_scales,
      Optional<AnyRankedTensor>:$value_scales, Optional<AnyRankedTensor>:$sink,
      Optional<AnyRankedTensor>:$rng, Variadic<AnyType>:$captures,
      OptionalAttr<F64Attr>:$probability, UnitAttr:$wide_p,
      DefaultValuedAttr<Tile_DotPrecisionAttr,
                        "::fa::tile::DotPrecision::Ieee">:$precision,
      OptionalAttr<I64Attr>:$scale_keys);
  let results = (outs AnyRankedTensor:$output, Optional<AnyRankedTensor>:$lse);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    $q `,` $k `,` $v `scale` $scale
    (`key_scales` $key_scales^ `:` type($key_scales))?
    (`value_scales` $value_scales^ `:` type($value_scales))?
    (`sink` $sink^ `:` type($sink))?
    (`dropout` $rng^ `:` type($rng) `probability` $probability)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`precision` $precision^)? attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($output) (`lse` type($lse)^)? `score` custom<ClosedRegion>($score) `mask` custom<ClosedRegion>($mask)
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Tile_AttentionBackwardOp : Tile_Op<"attention_backward", [Pure,
    IsolatedFromAbove, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "gradients of tile.attention";
  let description = [{
    Of `o, lse = tile.attention` with the same q, k, v, scale, captures and
    regions, from gradients of a scalar with respect to o (`dout`) and, if there
    is one, to lse (`dlse`). With x = scale · q kᵀ, s = score(x) and f′ what
    `derivative` gives, the derivative of score with respect to x (an empty
    region: 1), and Z the factors of dropout, 1 without it:

    ```
    p     = exp(s − lse)                 0 where masked
    delta = Σ_d dout · o − dlse          of each row
    ds    = p · (Z ∘ dout vᵀ − delta)    0 where masked, whatever dout vᵀ is
    dx    = ds · f′
    dv    = Pᵀ dout                      P, Dx: p ∘ Z and dx rounded to the
                                         inputs' type
    dk    = scale · Dxᵀ q            both summed over the heads of a group
    dq    = scale · Dx k
    ```
    (Dao, "FlashAttention-2", arXiv 2307.08691, algorithm 2; with a modification
    of the scores and dlse: docs/numerics.md.) All in f32 but for the rounding
    of p and dx, which `wide_p` leaves out. A row whose lse is −inf has no keys
    and gives nothing. A sink is in lse, and an operand where its gradient is
    wanted: `dsink_h = −Σ exp(sink_h − lse) · delta`, over batches and queries.
    Only the gradients that have a result are computed.

    Of packed sequences q to `dlse` are `tile.ragged`, by offsets of the queries
    or of the keys, and `tile.pack` gives their gradients: rows behind a
    sequence are 0, so that these have no gradient and give none.

    `dcaptures` are those of the captures with the numbers `wrt`: of numbers,
    and of tensors of which the score region reads one element for each score,
    at any place. They are the sum of ds · e over the scores that read it, where
    the region of `effects` that belongs to it gives e, the derivative of the
    score with respect to that element or number. An element that no score reads
    has 0. The gradient of the scale is that of a captured number.

    ```mlir
    %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c
        : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>,
          tensor<?x?x?x64xf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xf16>
        dq tensor<?x?x?x64xf16> dk tensor<?x?x?x64xf16> dv tensor<?x?x?x64xf16>
    score {} mask {} derivative {}
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
      AnyRankedTensor:$v, AnyRankedTensor:$output, AnyRankedTensor:$lse,
      AnyRankedTensor:$dout, Optional<AnyRankedTensor>:$dlse, F32:$scale,
      Optional<AnyRankedTensor>:$sink, Optional<AnyRankedTensor>:$rng,
      Variadic<AnyType>:$captures,
      DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$wrt,
      OptionalAttr<F64Attr>:$probability, UnitAttr:$wide_p,
      DefaultValuedAttr<Tile_DotPrecisionAttr,
                        "::fa::tile::DotPrecision::Ieee">:$precision);
  let results = (outs Optional<AnyRankedTensor>:$dq,
      Optional<AnyRankedTensor>:$dk, Optional<AnyRankedTensor>:$dv,
      Optional<AnyRankedTensor>:$dsink, Variadic<AnyType>:$dcaptures);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask,
      MaxSizedRegion<1>:$derivative, VariadicRegion<SizedRegion<1>>:$effects);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $output `,` $lse `,` $dout
    (`dlse` $dlse^ `:` type($dlse))? `scale` $scale
    (`sink` $sink^ `:` type($sink))?
    (`dropout` $rng^ `:` type($rng) `probability` $probability)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`precision` $precision^)? attr-dict `:` type($q) `,` type($k) `,` type($v)
    `,` type($output) `,` type($lse) `,` type($dout)
    (`dq` type($dq)^)? (`dk` type($dk)^)? (`dv` type($dv)^)?
    (`dsink` type($dsink)^)? (`dcaptures` $wrt `(` type($dcaptures)^ `)`)?
    `score` custom<ClosedRegion>($score) `mask` custom<ClosedRegion>($mask)
    `derivative` custom<DerivativeAndEffects>($derivative, $effects)
  }];
  let hasVerifier = 1;
}

def Tile_OnlineAttentionOp : Tile_Op<"online_attention", [Pure,
    IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "attention with running state over part of the keys";
  let description = [{
    `tile.attention` with the running state of online softmax (Milakov and
    Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135) made explicit:
    `acc[b,h,i,:] = Σ_j exp(s_j − max) · v_j`, `max = max_j s_j`,
    `sum = Σ_j exp(s_j − max)`, natural base, all f32. The operation continues
    the state that it is given over all keys of k and v, so any split of the KV
    axis is legal; `tile.online_finalize` turns a state into attention.

    The regions, captures, dropout and scales are those of `tile.attention`;
    dropout and `value_scales` change acc alone.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
      AnyRankedTensor:$v, F32:$scale, Variadic<AnyRankedTensor>:$key_scales,
      Optional<AnyRankedTensor>:$value_scales, AnyRankedTensor:$acc,
      AnyRankedTensor:$max, AnyRankedTensor:$sum,
      Optional<AnyRankedTensor>:$rng, Variadic<AnyType>:$captures,
      OptionalAttr<F64Attr>:$probability, UnitAttr:$wide_p,
      DefaultValuedAttr<Tile_DotPrecisionAttr,
                        "::fa::tile::DotPrecision::Ieee">:$precision,
      OptionalAttr<I64Attr>:$scale_keys);
  let results = (outs AnyRankedTensor:$acc_out, AnyRankedTensor:$max_out,
      AnyRankedTensor:$sum_out);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    $q `,` $k `,` $v `scale` $scale
    (`key_scales` $key_scales^ `:` type($key_scales))?
    (`value_scales` $value_scales^ `:` type($value_scales))?
    `state` `(` $acc `,` $max `,` $sum `)`
    (`dropout` $rng^ `:` type($rng) `probability` $probability)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`precision` $precision^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` custom<StateTypes>(type($acc), type($max), type($sum),
                            type($acc_out), type($max_out), type($sum_out))
    `score` custom<ClosedRegion>($score) `mask` custom<ClosedRegion>($mask)
  }];
  let hasVerifier = 1;
}

def Tile_OnlineSoftmaxOp : Tile_Op<"online_softmax", [Pure,
    AllTypesMatch<["max", "sum", "max_out", "sum_out", "alpha"]>,
    AllTypesMatch<["scores", "p"]>]> {
  let summary = "one step of online softmax on a tile of scores";
  let description = [{
    With `s = scores`, or `s = scale · scores` for a scale above 0, rows i:

    ```
    max_out_i = max(max_i, max_j s_ij)
    p_ij      = exp(s_ij − max_out_i)         0 where s_ij = −inf
    alpha_i   = exp(max_i − max_out_i)        0 where max_i = −inf
    sum_out_i = alpha_i · sum_i + Σ_j p_ij
    ```
    Natural base; that the machine computes exp2 is the lowering's business,
    and so is −inf: `−inf − (−inf)` never arises. A NaN score reaches its p and
    its sum. The caller rescales its accumulator by `alpha`.

    ```mlir
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l
      : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$scores, AnyRankedTensor:$max,
      AnyRankedTensor:$sum, Optional<F32>:$scale);
  let results = (outs AnyRankedTensor:$p, AnyRankedTensor:$alpha,
      AnyRankedTensor:$max_out, AnyRankedTensor:$sum_out);
  let assemblyFormat = [{
    $scores `,` $max `,` $sum (`scale` $scale^)? attr-dict
    `:` type($scores) `,` type($max)
  }];
  let hasVerifier = 1;
}

def Tile_OnlineFinalizeOp : Tile_Op<"online_finalize", [Pure,
    AllTypesMatch<["acc", "output"]>, AllTypesMatch<["max", "sum", "lse"]>]> {
  let summary = "turns the state of online softmax into attention's results";
  let description = [{
    `output = acc / sum` and `lse = max + ln sum`; where `sum` is 0 (a row that
    saw no key) `output = 0` and `lse = −inf`. Works on whole tensors (S2) and
    on tiles (S3); all f32.

    With a third result the maximum stays apart, for `tile.online_merge`:
    `lse = ln sum` and `max_out`, not always a row's greatest score, is what the
    exponentials in `sum` are relative to.

    ```mlir
    %o, %lse = tile.online_finalize %acc, %m, %l
      : tensor<64x64xf32>, tensor<64xf32>
    %o, %s, %om = tile.online_finalize %acc, %m, %l
      : tensor<64x64xf32>, tensor<64xf32> apart tensor<64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$acc, AnyRankedTensor:$max,
      AnyRankedTensor:$sum);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$lse,
      Optional<AnyRankedTensor>:$max_out);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum attr-dict `:` type($acc) `,` type($max)
    (`apart` type($max_out)^)?
  }];
  let hasVerifier = 1;
}

def Tile_OnlineMergeOp : Tile_Op<"online_merge", [Pure,
    AllTypesMatch<["acc", "output", "acc_out"]>,
    AllTypesMatch<["max", "sum", "other_max", "log_sum", "max_out", "sum_out"]>]> {
  let summary = "continues the state of online softmax by other keys' attention";
  let description = [{
    Takes the output, the maximum and the logarithm of the sum of other keys into
    the state:

    ```
    max_out_i = max(max_i, other_max_i)
    alpha_i   = exp(max_i − max_out_i)                     0 where max_i = −inf
    beta_i    = exp(other_max_i − max_out_i + log_sum_i)   0 where other_max_i = −inf
    sum_out_i = alpha_i · sum_i + beta_i
    acc_out_i = alpha_i · acc_i + beta_i · output_i
    ```
    The log-sum-exp, `other_max` + `log_sum`, would not do: of large scores it
    has no bits left for the sum, which is how much the other keys count.
    A NaN in `log_sum` or `output` reaches the row. All f32.

    ```mlir
    %a1, %m1, %l1 = tile.online_merge %a, %m, %l with %o, %om, %s
      : tensor<16x16xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$acc, AnyRankedTensor:$max,
      AnyRankedTensor:$sum, AnyRankedTensor:$output, AnyRankedTensor:$other_max,
      AnyRankedTensor:$log_sum);
  let results = (outs AnyRankedTensor:$acc_out, AnyRankedTensor:$max_out,
      AnyRankedTensor:$sum_out);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum `with` $output `,` $other_max `,` $log_sum attr-dict
    `:` type($acc) `,` type($max)
  }];
  let hasVerifier = 1;
}

// An effect on everything: parts wait for each other here, so that it is neither
// moved nor made twice.
def Tile_MergePartsOp : Tile_Op<"merge_parts", [HasParent<"KernelOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one state of online softmax from those of a program's parts";
  let description = [{
    Each part p of the program (`tile.parts` of the kernel) has seen keys of its
    own. Behind it the program goes on as a whole:

    ```
    max_out_i = max_p max_pi
    alpha_pi  = exp(max_pi − max_out_i)                    0 where max_pi = −inf
    sum_out_i = Σ_p alpha_pi · sum_pi
    acc_out_i = Σ_p alpha_pi · acc_pi
    ```
    Parts are added in the order of their numbers. All f32.

    ```mlir
    %a1, %m1, %l1 = tile.merge_parts %a, %m, %l
      : (tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>)
      -> (tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$acc, AnyRankedTensor:$max,
      AnyRankedTensor:$sum);
  let results = (outs AnyRankedTensor:$acc_out, AnyRankedTensor:$max_out,
      AnyRankedTensor:$sum_out);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["AttentionOp", "AttentionBackwardOp", "OnlineAttentionOp"]>]> {
  let summary = "the result of a region of an attention";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // TILE_ATTENTION_OPS_TD
