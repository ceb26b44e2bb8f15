//===- Passes.td - from attention as written to one kernel ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_FUSION_PASSES_TD
#define FA_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileInlineCalls : Pass<"tile-inline-calls", "::mlir::ModuleOp"> {
  let summary = "functions go where they are called from";
  let description = [{
    Upstream's inliner, without passes of its own for what is called: those
    behind see it anyway. A call that is left is an error: its function has no
    body here, or calls itself. Private functions that nothing calls are erased.

    Before:
    ```mlir
    %s = func.call @scores(%q, %k) : ...
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    ```
    Requires: nothing. Ensures: functions and kernels call nothing.
    Numerics: exact.
  }];
}

def TileRaiseLinalg : Pass<"tile-raise-linalg", "::mlir::func::FuncOp"> {
  let summary = "linalg on tensors becomes the canonical spelling of S0";
  let description = [{
    Contractions (named or `linalg.generic`, of any order of dimensions) become
    `tile.dot` between transposes, elementwise generics become arith and math on
    whole tensors, with what is broadcast as `tile.broadcast`, indices as
    `tile.iota`; reductions become `tile.reduce`, `linalg.softmax` becomes
    `tile.softmax`. A contraction is accumulated in f32 and rounded after that.
    Results of a generic that nothing reads go first, such as where a maximum is;
    whether all of a line are −inf becomes a comparison of its maximum. What has
    another form stays as it is.

    Before:
    ```mlir
    %s = linalg.batch_matmul_transpose_b ins(%q, %k : ...) outs(%zero : ...)
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    ```
    Requires: nothing. Ensures: S0.
    Numerics: exact (16-bit contractions gain the accumulator's precision).
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileMoveViews : Pass<"tile-move-views", "::mlir::func::FuncOp"> {
  let summary = "views between the two dots of an attention leave it";
  let description = [{
    Frameworks move dimensions between the two dots. Transposes of scores, and
    leading dimensions that become several, move up to the operands of the dot
    that the scores come from; those of probabilities, and leading dimensions
    that become one, down behind the dot with V. A product V P becomes P V,
    transposed. Rows may change places with a dimension that the right operand
    does not have. Scores are what an exponential or a softmax is computed from.
    What a dot cannot say stays as it is.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> tensor<2x24x4x40xf32>
    %t = tile.transpose %s [0, 2, 1, 3] : ...
    %e = math.exp %t : tensor<2x4x24x40xf32>
    ```
    After:
    ```mlir
    %qt = tile.transpose %q [0, 2, 1, 3] : ...
    %kt = tile.transpose %k [0, 2, 1, 3] : ...
    %s = tile.dot %qt, %kt transpose_b : ... -> tensor<2x4x24x40xf32>
    %e = math.exp %s : tensor<2x4x24x40xf32>
    ```
    Requires: S0. Ensures: S0. Numerics: exact, each sum keeps its order.
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileRaiseSoftmax : Pass<"tile-raise-softmax", "::mlir::func::FuncOp"> {
  let summary = "exponentials divided by their sum become tile.softmax";
  let description = [{
    `exp(x − max x) / Σ exp(x − max x)` becomes `tile.softmax`, in either base,
    with the division before or after the dot with V, by the sum or by its
    reciprocal; `log Σ exp(x − max x) + max x` becomes `tile.log_sum_exp`. A
    softmax of 16-bit numbers is computed in f32. A select of 0 for lines of only
    −inf goes: `tile.softmax` gives that.

    Before:
    ```mlir
    %m = tile.reduce max %s dim 3 : ...
    %e = math.exp %s_minus_m : ...
    %l = tile.reduce add %e dim 3 : ...
    %p = arith.divf %e, %l_broadcast : ...
    ```
    After:
    ```mlir
    %p = tile.softmax %s : ...
    ```
    Requires: S0. Ensures: S0. Numerics: exact, but for rows of only −inf, which
    give 0 instead of NaN.
  }];
  let options = [
    Option<"allowNoMax", "allow-no-max", "bool", "false",
           "exp(x) / Σ exp(x) is a softmax as well">
  ];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileRaiseGradients : Pass<"tile-raise-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients of a softmax(QKᵀ)V written out become an attention's";
  let description = [{
    What frameworks print of a vector-Jacobian product computes the softmax P, a
    gradient dP = dO Vᵀ, that of the scores dS = P ∘ (dP − Σ dP ∘ P) in some form,
    and dots of these: dQ, dK and dV, and perhaps O. Where that is proved, the
    dots become results of one `tile.attention` and its
    `tile.attention_backward`, made by tile-fuse-attention and
    tile-differentiate of the forward that is in it.

    The proof is algebra: dS is evaluated as a polynomial of e = exp(S − m), dP,
    the rows' sums of e and of e ∘ dP, and 0 where a mask is false, with the name
    of each dimension; what the dots read beside it must be the very tensors that
    S and dP are dots of. Scores are a dot times a constant, masked or not, with
    or without a bias.

    Before:
    ```mlir
    %p = tile.softmax %s : S
    %dp = tile.dot %do, %v transpose_b : T, T -> S
    %x = arith.mulf %dp, %p : S
    %r = tile.reduce add %x dim 3 : S -> R
    ... %ds = %p * (%dp - %r)
    %dv = tile.dot %pt, %do : S, T -> T
    %dq = tile.dot %ds, %k : S, T -> T
    ```
    After:
    ```mlir
    %o, %lse = tile.attention %q, %k, %v scale %c ...
    %dq, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c ...
    ```
    What is not proved stays as it is, with a remark. Requires: S0, with softmax
    raised. Ensures: S0 but for what became an attention.
    Numerics: reassociating (the sum of rows is that of dO ∘ O).
  }];
  let options = [
    Option<"assumeNoEmptyRows", "assume-no-empty-rows", "bool", "false",
           "as for tile-fuse-attention">
  ];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileFuseAttention : Pass<"tile-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "softmax(QKᵀ)V written out becomes one tile.attention";
  let description = [{
    Finds every `tile.softmax` whose scores come from a `tile.dot` and whose
    result goes into another, and replaces the chain by one `tile.attention`.
     - All elementwise work between the dots becomes the score region.
     - A multiplier that is the same for every score, or for all of Q or K,
       becomes the scale.
     - Selects of −inf, and sums with what is 0 or −inf, become the mask region.
       A finite sentinel of −1e30 or less (of f16: the lowest number) is a mask
       only if every row provably keeps a key, or with `assume-no-empty-rows`.
     - A `tile.log_sum_exp` of the same scores becomes the second result.
     - Tensors that the scores read from outside become captures.
     - Leading dimensions are batches and heads, however many there are; heads
       of K and V that are repeated for the query heads of a group are shared
       instead. Dimensions along which K and V are shared become the last of the
       heads.

    Every chain that is left alone gets a remark with the reason, and its softmax
    the attribute `tile.not_fused` with the same text.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    %p = tile.softmax %s : tensor<?x?x?x?xf32>
    %o = tile.dot %p, %v : ...
    ```
    After:
    ```mlir
    %o = tile.attention %q, %k, %v scale %one : ... score {} mask {}
    ```
    Requires: S0. Ensures: S1.
    Numerics: exact (the order of sums is the kernel's business).
  }];
  let options = [
    Option<"assumeNoEmptyRows", "assume-no-empty-rows", "bool", "false",
           "every row keeps a key: finite sentinels are masks">
  ];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileDifferentiate : Pass<"tile-differentiate", "::mlir::ModuleOp"> {
  let summary = "a function becomes its vector-Jacobian product";
  let description = [{
    Each function with the attribute `tile.vjp_wrt`, the numbers of arguments,
    becomes a function of the same name that computes gradients of a scalar with
    respect to these arguments, in this order, from its gradients with respect to
    the results, the cotangents. Its arguments are those of the function, then all
    of its results as it computed them, then the cotangents of the results that
    `tile.vjp_of` names (without it: of all results of floating point), each in
    its result's type.

    Reverse mode: from the results back, each operation adds to the gradients of
    its operands. `tile.attention` becomes `tile.attention_backward`, which takes
    the output and the log-sum-exp from the results where the function returns
    both, as they are or transposed or reshaped; else the attention is computed
    again, with a remark, once for all that reads its output. The derivative of its score region is derived from
    that region; so are those of numbers that it captures, of tensors of which
    each score reads one element, of sinks and of the scale. Operations whose
    derivative is not known are errors, each at its place.

    Before:
    ```mlir
    func.func @f(%q: T, %k: T, %v: T) -> (T, L)
        attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
      %o, %lse = tile.attention %q, %k, %v scale %c ... lse L score {} mask {}
    ```
    After:
    ```mlir
    func.func @f(%q: T, %k: T, %v: T, %o: T, %lse: L, %do: T) -> (T, T, T) {
      %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c ...
    ```
    Requires: S1. Ensures: S1. Numerics: gradients of the function in exact
    arithmetic; at kinks PyTorch's (docs/numerics.md).
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileOnlineSoftmax : Pass<"tile-online-softmax", "::mlir::ModuleOp"> {
  let summary = "tile.attention becomes tile.online_attention";
  let description = [{
    The state of online softmax (accumulator 0, maximum −inf, sum 0) is made
    explicit, and `tile.online_finalize` turns it into the results.

    Before:
    ```mlir
    %o = tile.attention %q, %k, %v scale %c : ... -> tensor<?x?x?x64xf16>
    ```
    After:
    ```mlir
    %r:3 = tile.online_attention %q, %k, %v scale %c state(%acc, %max, %sum) ...
    %f, %lse = tile.online_finalize %r#0, %r#1, %r#2 : ...
    %o = arith.truncf %f : tensor<?x?x?x64xf32> to tensor<?x?x?x64xf16>
    ```
    Requires: S1. Ensures: S2. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileSplitFunction : Pass<"tile-split-function", "::mlir::ModuleOp"> {
  let summary = "attentions of a larger function become functions of their own";
  let description = [{
    A function that is more than one attention on views of its arguments – with
    projections before or behind, several attentions, gradients beside the
    forward – becomes calls of private functions. Each attention, and the
    gradients of each, becomes one that is an attention on views of its
    arguments; what is around becomes as few others as the order asks for. What
    is cheap, views, constants and what is computed of indices, is made anew
    where it is read; all else that crosses from one function to another is a
    tensor in memory. tile-to-kernel makes the kernels of one launch of them.

    RATIONALE. The alternative, kernels that contain a part of a larger function,
    would need a second way to each of the facts of a kernel: its arguments'
    views, its rules, its variants. As functions, attentions take the way that
    they take alone, and what the split decided can be printed, read and run.
    It is done at S2, where the matcher that says what is a kernel can be asked
    of each part, so that an attention that would be none stays where it is.

    A function of which no attention can be had so stays whole, as does one in
    which the size of a tensor that is handed over is not that of an argument.
    A remark says why a function was split, and of each attention that is no
    kernel why not.

    Before:
    ```mlir
    func.func @layer(%x: X, %w: W, %k: T, %v: T) -> T {
      %q = tile.dot %x, %w : X, W -> T
      %acc, %max, %sum = tile.online_attention %q, %k, %v ...
      %o, %lse = tile.online_finalize %acc, %max, %sum : T, R
      return %o : T
    }
    ```
    After:
    ```mlir
    func.func private @layer_attention(%q: T, %k: T, %v: T) -> T
    func.func private @layer_rest(%x: X, %w: W) -> T
    func.func @layer(%x: X, %w: W, %k: T, %v: T) -> T {
      %q = call @layer_rest(%x, %w) : (X, W) -> T
      %o = call @layer_attention(%q, %k, %v) : (T, T, T) -> T
      return %o : T
    }
    ```
    Requires: S2. Ensures: S2; functions call others, each called one time.
    Numerics: exact.
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::func::FuncDialect"];
}

def TileSplitTensors : Pass<"tile-split-tensors", "::mlir::ModuleOp"> {
  let summary = "what is around attentions becomes functions, one for a kernel";
  let description = [{
    Each function without attention that a larger one calls (tile-split-function)
    becomes calls of functions that are one kernel of tiles each: a `tile.dot` or
    a `tile.reduce` with what is computed element by element of its result, or
    what is computed element by element alone. A conversion of a dot's operand,
    and all that one reduction alone reads, is computed where it is read; views,
    constants and what is broadcast are made anew. All else that crosses from one
    to another is a tensor in memory.

    tile-to-kernel makes of each a kernel whose programs own a tile of the
    results along two of their axes, and an index of each other one. Dimensions
    of tensors are products of axes, as their reshapes say; a reshape of an
    argument becomes a view with more dimensions, so that nothing is asked of
    strides. Rows of no tile's size are cut off by `tile.load` and `tile.store`.
    One kernel promises that rows lie in memory one element behind the other and
    begin at multiples of 16 bytes, where their sizes say so; another one takes
    any strides.

    RATIONALE. One operation that sums is what a kernel can have without a rule
    for which of two it tiles for, and the loop over tiles of what is summed over
    is all that it needs. A norm or a softmax that is no attention's is so
    several kernels, which read rows again; rows of any length fit. Tiles of a
    row, in one kernel, would be faster and have a longest row.

    Where the operations of tensors are not understood a part stays one of whole
    tensors, with a remark that says which. A function in which there is no
    attention calls such functions, too, if they are all of it; else it stays as
    it is.

    Before:
    ```mlir
    func.func private @layer_rest(%o: R, %w: W, %x: R) -> R {
      %y = tile.dot %o, %w : R, W -> R
      %z = arith.addf %y, %x : R
      %s = tile.reduce max %z dim 1 : R -> L
      ...
    ```
    After:
    ```mlir
    func.func private @layer_rest_dot(%o: R, %w: W, %x: R) -> R
    func.func private @layer_rest_sum(%z: R) -> L
    ...
      %z = call @layer_rest_dot(%o, %w, %x) : (R, W, R) -> R
      %s = call @layer_rest_sum(%z) : (R) -> L
    ```
    Requires: S2. Ensures: S2; functions call others, each called one time.
    Numerics: dots and sums are f32, rounded once to the result's type; sums are
    reassociated.
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::func::FuncDialect"];
}

def TileToKernel : Pass<"tile-to-kernel", "::mlir::ModuleOp"> {
  let summary = "one online attention becomes kernels of static tiles";
  let description = [{
    Each function that computes one online attention becomes a `tile.kernel`
    whose programs own a tile of queries of one head and walk the keys in tiles.
    The mask is analysed: keys that no query of the tile sees are skipped, tiles
    of keys that all of them see carry no mask code. Which kernels there are and
    how large their tiles are is planned (fa/Plan/Forward.h) from the facts of
    the attention and of the machine. They share the function's name as `entry`,
    and a launch takes the first whose argument types fit and which is meant for
    it:
     - `NAME_decode`: one query a head; the rows of a tile are the query heads
       that share a KV head. `NAME_decode_parts` before it, for launches of few
       programs: parts of a block walk keys of their own;
     - `NAME_packed`: few queries; the rows of a tile are those of all the query
       heads that share a KV head, in any layout (`tile.grouped_view`);
     - `NAME_short`: few queries of f32 that is multiplied as it is, where more
       of them go by sums of bf16;
     - `NAME_roles`, with elements of 16 bits on machines with warpgroups: warps
       are specialized. Its `tile.alternative` is `NAME`, as that of the next
       four: the schedule keeps those or `NAME`;
     - `NAME_roles_fetched`, where scores are changed by or masked with a captured
       tensor that has an element, boolean, f16, bf16 or f32, for each of them:
       its rows begin at multiples of `alignment` bytes, too, its first keys at
       multiples of 16, and tiles are so small that one of it has room in shared
       memory;
     - `NAME_roles_packed`: packed rows, for launches in which it costs less
       (`tile.fewer_rows`), and before it `NAME_roles_packed_many`, in the tile
       of `NAME_roles` where that has more rows. `NAME_packed` is for launches
       in which it has at most half of their rows (`tile.half_rows`) then;
     - `NAME_roles_few`: fewer rows, for launches of few programs;
     - `NAME_roles_paired`: at most 512 keys, two blocks to a processor;
     - `NAME_roles_clusters`: for full attention; blocks fetch together;
       of these, a launch of at most 512 keys takes the one that is predicted to
       take least time (`tile.price`), where nothing changes scores;
     - `NAME`: elements of a row are neighbours in memory, and rows begin at
       multiples of `alignment` bytes;
     - `NAME_strided`: any strides.

    With splits other than 1, `NAME_decode_split` stands before `NAME_decode`,
    and the same of other kernels for few queries: its programs see a split of
    the keys each and leave outputs, maxima and logarithms of sums in workspace,
    the arguments with `tile.workspace`, of which `NAME_decode_merge`, launched
    behind it, makes the results.

    Where a tile of `NAME_roles` has more rows than keys, its loops may be those of
    the keys that a part of the rows sees (`tile.own_rows`); a mask that leaves out
    keys before those that a row sees then has one loop, and holds for all of a tile
    by a scalar where every row sees all of it.
    Where all that `NAME_roles` does to its scores is to add a factor of the head times the
    distance of key and query, or its size, and the mask is one interval of keys, the
    scores' dot adds to that (`tile.ramp`), by the factor over the scale, which the
    softmax applies then. Tiles at the end of the diagonal come first, so that maxima
    hardly rise later; of the size of a distance without an edge that grows with the queries, those
    in which its sign changes for some row, and then all others in one loop.

    Arguments: those of the function, tensors as memrefs, then its results.
    Operands of the attention, its captures and its results may be transposes
    and reshapes of them: views of their memory.

    A function of another form becomes one kernel marked `unfused`, a single
    program on whole tensors, with a remark that says why.

    A function that calls others (tile-split-function) becomes the kernels of
    these, one after the other: all have the arguments and results of the
    function, and in workspace, with one split, what the calls hand over. Of the
    kernels of an attention these are the ones that any launch takes; where they
    ask for strides or alignment of what is given, the first kernel says that,
    and a second launch of kernels that do not stands behind.
    What has no attention is a kernel of tiles (tile-split-tensors), or unfused
    where it cannot be one; then `tile.not_fused` says why.

    Requires: S2. Ensures: S3. Numerics: reassociating (online softmax).
  }];
  let options = [
    Option<"machine", "machine", "std::string", "\"any\"",
           "what the kernels are planned for: an architecture of NVIDIA or AMD, "
           "a host as cpu-512x32 (bits and number of its vector registers, with "
           "-pairs or -tiles for products of them), or any, of which nothing is "
           "known">,
    Option<"constraints", "constraints", "std::string", "\"\"",
           "what is asked of their plans: tile=MxN, stages=N, warps=N, "
           "consumers=N, splits=N, rank=N and schedule=NAME, with spaces between (see "
           "PlanConstraints in fa/Plan/Constraints.h)">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
           "bytes of shared memory that a block may have (0: those of the "
           "machine)">,
    Option<"variants", "variants", "bool", "true",
           "also build the kernels for decode, a few queries and any strides">
  ];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileVerifyStage : Pass<"tile-verify-stage", "::mlir::ModuleOp"> {
  let summary = "checks the one sentence of a stage";
  let description = [{
    Fails, at each operation that does not belong, unless the module is at the
    stage that is named:
     - `S0`: functions of tensor values; nothing of kernels, nothing of online
       softmax;
     - `S1`: also, every softmax between two dots is fused or says why not
       (the attribute `tile.not_fused`);
     - `S2`: every attention is online: no `tile.attention` is left;
     - `S3`: as S2, no `tile.online_attention` is left either; inside kernels
       all tiles are of static sizes and global memory is touched only by
       `tile.load`, `tile.store`, `tile.gather`, `tile.scatter`,
       `tile.atomic_add` and scalar `memref.load`, in warp-specialized kernels
       (`tgpu-open-channels`) also by `tgpu.fetch`.

    Requires: nothing. Ensures: the stage named. Numerics: exact.
  }];
  let options = [
    Option<"stage", "stage", "::fa::Stage", "::fa::Stage::S0", "the stage",
           [{::llvm::cl::values(
             clEnumValN(::fa::Stage::S0, "S0", "graph"),
             clEnumValN(::fa::Stage::S1, "S1", "attention"),
             clEnumValN(::fa::Stage::S2, "S2", "online"),
             clEnumValN(::fa::Stage::S3, "S3", "kernel"))}]>
  ];
}

#endif // FA_FUSION_PASSES_TD
