//===- Passes.td - where a kernel's tiles are, and when they move ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PASSES_TD
#define FA_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TgpuOpenChannels : Pass<"tgpu-open-channels", "::mlir::ModuleOp"> {
  let summary = "a producer fetches what the consumers' dots read";
  let description = [{
    The rows of the kernel's tiles are dealt to consumers, 64 each: loads, stores
    and numbers of rows begin at `tgpu.consumer_id` times 64. Loads that only
    feed dots become fetches of a producer that walks the same loops, into
    channels of `stages` slots; dots become dots of a warpgroup that read slots,
    begun and waited for. A kernel that mixes its rows, whose loads are no boxes
    of its arguments or whose dots are none of a warpgroup's stays as it is,
    with a remark that says why.

    After:
    ```mlir
    tgpu.roles consumers 2 producer {
      scf.for ... iter_args(%n = %c0) {
        tgpu.acquire %k, %n
        tgpu.fetch %K[%b, %h, %j, %c0] dims [2, 3] to %k, %n
        ...
    } consumer {
      scf.for ... iter_args(..., %n = %c0) {
        tgpu.await %k, %n
        %r = tgpu.dot_start slot %q, %id by slot %k, %n transpose_b
        %s = tgpu.dot_wait %r pending 0
        tgpu.release %k, %n
        ...
    }
    ```
    Requires: S3. Ensures: S3. Numerics: exact.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2",
           "slots of a channel">,
    Option<"persistent", "persistent", "bool", "false",
           "a block runs one program after the other">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuChooseAlternatives
    : Pass<"tgpu-choose-alternatives", "::mlir::ModuleOp"> {
  let summary = "of a kernel for roles and its alternative one stays";
  let description = [{
    A kernel with a `tile.alternative` is for roles: without them it goes. The
    alternative goes if all that name it have roles; one of them may be for few
    queries only.

    Before, where the second cannot have roles:
    ```mlir
    tile.kernel @f_roles_short() attributes {tile.alternative = @f} { tgpu.roles ... }
    tile.kernel @f_roles() attributes {tile.alternative = @f} { ... }
    tile.kernel @f() { ... }
    ```
    After:
    ```mlir
    tile.kernel @f_roles_short() attributes {tile.alternative = @f} { tgpu.roles ... }
    tile.kernel @f() { ... }
    ```

    Requires: S3. Ensures: S3. Numerics: exact.
  }];
}

def TgpuAssignLayouts : Pass<"tgpu-assign-layouts", "::fa::tile::KernelOp"> {
  let summary = "every tile gets a layout";
  let description = [{
    The accumulator of a dot decides: its rows are dealt to the warps, and what
    is computed elementwise from it, row by row or reduced, stays where the
    accumulator is. Loads that only feed a dot are laid out for memory. A
    `tgpu.convert` stands at each operand that has to be elsewhere.

    Before:
    ```mlir
    %k = tile.load %view[%j, %c0] : ... -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b : ... -> tensor<64x64xf32>
    ```
    After:
    ```mlir
    %k = tile.load %view[%j, %c0] : ... -> tensor<64x64xf16, #blocked>
    %b = tgpu.convert %k : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #operand_b>
    %s = tile.dot %q, %b transpose_b : ... -> tensor<64x64xf32, #accumulator>
    ```
    Requires: S3. Ensures: S4. Numerics: exact.
  }];
  let options = [
    Option<"warps", "warps", "int64_t", "4", "the most warps of a program">,
    Option<"mfma", "mfma", "bool", "false",
           "warps have 64 lanes, mfma computes the dots">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuAllocateShared : Pass<"tgpu-allocate-shared", "::fa::tile::KernelOp"> {
  let summary = "what crosses threads goes through shared memory";
  let description = [{
    A load whose tile is converted becomes a copy into a buffer of its own,
    waited for at once, and a read from it; other conversions between threads
    write the tile to a buffer and read it. Conversions that only rename
    registers stay. Buffers are swizzled along the dimension without gaps.

    Before:
    ```mlir
    %k = tile.load %view[%j, %c0] : ... -> tensor<64x64xf16, #blocked>
    %b = tgpu.convert %k : ... -> tensor<64x64xf16, #operand_b>
    ```
    After:
    ```mlir
    tgpu.copy %view[%j, %c0] to %buffer[%c0] bytes 16 : ...
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %b = tgpu.read %buffer[%c0] : ... -> tensor<64x64xf16, #operand_b>
    ```
    With `direct` that is so in kernels every load of which can be a load direct
    to LDS, whose lanes write 16 bytes each, one behind the other: elements of 16
    bits, rows that a descriptor bounds and that are aligned, a reader that takes
    16 bytes of a row at once or transposes (`planTurnedRead`).

    Requires: S4. Ensures: S5. Numerics: exact.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", "160",
           "32-bit registers for tiles beyond which a dot reads its left "
           "operand anew in each iteration">,
    Option<"copies", "copies", "bool", "true",
           "loads become copies; otherwise they are written to their buffers">,
    Option<"direct", "direct", "bool", "false",
           "without `copies`: they become copies where all can be direct loads">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuDeliverTiles : Pass<"tgpu-deliver-tiles", "::fa::tile::KernelOp"> {
  let summary = "consumers store tiles by the tensor memory accelerator";
  let description = [{
    A consumer's store of 16-bit elements becomes a `tgpu.deliver` by slots of
    shared memory, one for each consumer, as wide as there is room for. What
    comes next, the next program most of all, need not wait for its writes to be
    under way, and they are of whole lines. Stores whose destination is no box of an
    argument stay, and all where there is no room.

    Before:
    ```mlir
    tile.store %o, %view[%row, %c0] : tensor<64x128xf16, #accumulator>, memref<?x128xf16, ...>
    ```
    After:
    ```mlir
    %buffer = tgpu.alloc : !tgpu.buffer<2 x 64x128xf16, #swizzled>
    tgpu.deliver %o by %buffer[%id] to %arg4[%b, %h, %row, %c0] dims [2, 3]
    ```
    Requires: S5. Ensures: S5. Numerics: exact.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "233472",
           "bytes of shared memory of a block">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuPipelineCopies : Pass<"tgpu-pipeline-copies", "::fa::tile::KernelOp"> {
  let summary = "loops copy the tiles of later iterations ahead";
  let description = [{
    In a loop whose copies depend on nothing that it computes, the copies of
    iteration n + stages − 1 begin while iteration n computes: buffers get
    `stages` slots, the first copies stand before the loop, one wait and one
    barrier remain in each iteration. A block of one warp computes slowly and has
    little memory: it gets a slot more where all of them take at most
    `one-warp-bytes`. Loops one after the other that copy into
    the same buffers (those of a mask's intervals) are one sequence of tiles: the
    last iterations of one copy the first tiles of the next, and nothing is
    waited for between them. Where more slots do not fit into `limit` bytes, the
    loops stay as they are, with a remark and the attribute `tgpu.unpipelined`.

    Requires: S5. Ensures: S6. Numerics: exact.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "slots of a buffer, at least 2">,
    Option<"limit", "limit", "int64_t", "101376",
           "bytes of shared memory that a block may have">,
    Option<"oneWarpBytes", "one-warp-bytes", "int64_t", "0",
           "bytes of a loop's slots up to which a block of one warp has one "
           "more than `stages`">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuNarrowMasks : Pass<"tgpu-narrow-masks", "::fa::tile::KernelOp"> {
  let summary = "a mask compares columns with one limit of each row, in 32 bits";
  let description = [{
    A comparison of sums of row numbers, column numbers and scalars says which
    columns of a row are below a limit, or are not. The limits of a row that are joined by
    `and` become one, computed once for the row; a tile is small, so that a
    limit far outside of it may as well be just outside.

    Before:
    ```mlir
    %a = arith.cmpi slt, %column, %left : tensor<64x128xindex>
    %b = arith.cmpi sle, %columnOfAll, %rowOfAll : tensor<64x128xindex>
    %m = arith.andi %a, %b : tensor<64x128xi1>
    ```
    After:
    ```mlir
    %limit = arith.minsi %ofA, %ofB : tensor<64xi32>
    %m = arith.cmpi slt, %column, %limits : tensor<64x128xi32>
    ```
    Requires: S3. Ensures: S3. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuDeferSums : Pass<"tgpu-defer-sums", "::fa::tile::KernelOp"> {
  let summary = "the sums of a row are added over threads once, at the end";
  let description = [{
    Online softmaxes whose sums go nowhere but to the next one and, through
    loops, to a `tile.online_finalize` keep a sum for each thread; the finalize
    adds them. Such operations have the attribute `tgpu.thread_sums`. What a sum
    starts from is shared out between the threads that hold the row.

    Requires: S4. Ensures: S4. Numerics: reassociating.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuKeepRawMaxima : Pass<"tgpu-keep-raw-maxima", "::fa::tile::KernelOp"> {
  let summary = "maxima are those of the scores before the scale";
  let description = [{
    Online softmaxes of one scale whose maxima go nowhere but to the next one
    and to a `tile.online_finalize` keep maxima of unscaled scores: m times the
    factor of the scores is then what the largest of them becomes, and
    p = exp2(s c - m c) takes one multiply-add for each score. Such operations have the attribute
    `tgpu.raw_maxima`; what the maxima begin with is divided by the scale, what
    ends them multiplied.

    Requires: S4. Ensures: S4. Numerics: reassociating.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuHoldMaxima : Pass<"tgpu-hold-maxima", "::fa::tile::KernelOp"> {
  let summary = "maxima follow the scores only when these have risen far";
  let description = [{
    Online softmaxes whose maxima go nowhere but to the next one and to a
    `tile.online_finalize` may subtract any number that is near the maximum:
    output and LSE are quotients and sums in which it cancels. They keep the
    one that they have while it is at most 2^7 times too small or too large for
    p, and have the attribute `tgpu.held_maxima`. The factor alpha of such a row is
    exactly 1; products of tiles with it, which are `tgpu.rescale` from here on, can
    be skipped by warps all of whose rows have it. (Source: FlashAttention-4,
    "conditional rescaling".) Where P is f16, which would lose digits below 1, p
    goes up to 2^7, and V is f16 as well; otherwise p stays below 1, since 2^7
    times a sum of V could be more than f32 holds.

    Requires: S4. Ensures: S4. Numerics: reassociating.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuCapMaxima : Pass<"tgpu-cap-maxima", "::fa::tile::KernelOp"> {
  let summary = "maxima of capped scores are above nearly all of them";
  let description = [{
    Online softmaxes whose maxima are held and whose scores are `cap · tanh(x)`,
    or masked, take new maxima that are at least a share of the cap. A warp's
    scores that are all below it, which it finds out to choose a form of tanh,
    raise no maximum: their rows need no reduction and no new factors. Such
    operations have the attribute `tgpu.capped_scores`, the share. A new maximum
    is above the scores that it is of by a power of two of p, whose rounding is
    then what it would be without. Scores lie between two bounds, and the
    smallest p, exp2(-(1 + share) cap log2 e), is at least 2^-100: p of bf16 loses
    nothing by it. Caps above 59 and p of f16 or of f32 stay as they are.

    Requires: S4, after `tgpu-hold-maxima`. Ensures: S4. Numerics: reassociating.
  }];
  let options = [
    Option<"share", "share", "double", "0.171875",
           "of the cap: up to where tanh has its shortest form">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuExpectMaxima : Pass<"tgpu-expect-maxima", "::fa::tile::KernelOp"> {
  let summary = "no maximum is asked for where the old one will do";
  let description = [{
    Online softmaxes whose maxima are held (`tgpu-hold-maxima`) mostly go on with
    those that they have. Where the scores come from a dot of two slots, while
    another dot runs, p is computed from the old maxima, and no maximum of the
    tile is. Where the sums of p show that a score has risen above them, the dot is
    repeated, and the step is that with maxima. No scores are kept for that, so
    the slot of the keys is released behind the softmax, not before. Such
    operations have the attribute `tgpu.expected_maxima`. The first tile of a row
    has no old maxima and stays as it is. Sums are those of each thread; the
    threads of a dot agree on whether it is repeated.

    Requires: S5, after `tgpu-overlap-dots`. Ensures: S5. Numerics: reassociating.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuOverlapDots : Pass<"tgpu-overlap-dots", "::fa::tile::KernelOp"> {
  let summary = "the next scores are computed while the last output is";
  let description = [{
    In a consumer's loop with two dots, of which the second reads what is made
    of the first: the first dot of an iteration and the second of the one before
    are begun together, and the softmax of the first runs under the second. The
    first iteration's scores stand before the loop, the last output behind it.

    Before:
    ```mlir
    scf.for %i = ... iter_args(%o = ...) {
      %s = wait(start(%q, %k[%n]))
      %p, %o1 = softmax(%s, %o)
      %o2 = wait(start(%p, %v[%n], %o1))
      yield %o2
    ```
    After:
    ```mlir
    scf.for %i = ... iter_args(%o = ..., %alpha = ..., %p = ...) {
      %rs = start(%q, %k[%n])
      %ro = start(%p, %v[%n - 1], %o * %alpha)
      %s = wait(%rs) pending 1
      ... softmax ...
      %o1 = wait(%ro) pending 0
      yield %o1, %alpha1, %p1
    ```
    Requires: S4. Ensures: S4. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuHoistScalars : Pass<"tgpu-hoist-scalars", "::fa::tile::KernelOp"> {
  let summary = "what loops read of arguments once is read before them";
  let description = [{
    Scalars that a loop with overlapped dots reads of a memref that the kernel
    only reads, at indices from outside of the loop, such as the slope of a head,
    are read before it. Left inside, such a load is behind the waits for slots, over
    which neither LLVM nor ptxas moves it, and ptxas holds up a dot that has begun
    until it is there. The first tile stands before such a loop and reads the
    same, so that nothing is read that was not.

    Requires: S5, after `tgpu-overlap-dots`. Ensures: S5. Numerics: exact.
  }];
}

def TgpuPrefetchLoads : Pass<"tgpu-prefetch-loads", "::fa::tile::KernelOp"> {
  let summary = "loops load the next iteration's tiles to registers";
  let description = [{
    What `tgpu-pipeline-copies` does, for a GPU whose way from global to shared
    memory is through registers. In a loop that loads tiles which depend on
    nothing that it computes, and writes them to buffers, the loads of iteration
    n + 1 stand at the start of iteration n and the writes at its end: with two
    slots of a buffer one barrier remains in each iteration, with one slot two.
    Two are taken where all buffers of the loop then fit into `limit` bytes.

    Before:
    ```mlir
    scf.for %j = ... {
      %k = tile.load %K[%j, %c0]
      tgpu.write %k, %buffer[%c0]
      tgpu.barrier
      ... tgpu.read %buffer[%c0] ...
      tgpu.barrier
    }
    ```
    After:
    ```mlir
    %first = tile.load %K[%begin, %c0]
    tgpu.barrier
    tgpu.write %first, %buffer[%c0]
    scf.for %j = ... iter_args(..., %slot = %c0) {
      tgpu.barrier
      %next = tile.load %K[%j + 1, %c0]
      ... tgpu.read %buffer[%slot] ...
      tgpu.write %next, %buffer[1 - %slot]
    }
    tgpu.barrier
    ```
    Requires: S5. Ensures: S6. Numerics: exact.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "32768",
           "bytes of shared memory for two slots of a loop's buffers">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuLimitRowSteps : Pass<"tgpu-limit-row-steps", "::mlir::ModuleOp"> {
  let summary = "kernels that another can stand in for take rows that lie close";
  let description = [{
    Marks each kernel behind which the module has another of its entry with
    `tgpu.row_step_limit`: a launch gives it arguments of aligned rows only if
    a step from row to row is at least a row long, and below so many bytes.
    Then 32 bits reach every row of a tile of 2^32 by `limit` rows or fewer, and
    rows that do not exist lie behind all that do: a buffer descriptor bounds
    them. Larger tiles are loaded without one. Other arguments go to the kernel
    that stands in.

    Requires: S3. Ensures: nothing new. Numerics: exact.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "16777216",
           "bytes: tiles of up to 256 rows have a descriptor">
  ];
}

def TgpuDeferWaits : Pass<"tgpu-defer-waits", "::fa::tile::KernelOp"> {
  let summary = "a loop's first copies begin before the kernel waits for others";
  let description = [{
    What a kernel copies once, the tile of Q, it waits for before the copies of
    its first loop begin: a way to memory more for each program. The wait, its
    barrier and what depends on what they wait for move behind those copies,
    whose groups stay under way; of a Q that the loop reads only the first two
    do. Then Q has memory of its own, and nothing is done where a multiprocessor
    would hold fewer blocks for that, or where one of those copies goes to a
    buffer that is waited for.

    Before:
    ```mlir
    tgpu.copy %q to %buffer; tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %tile = tgpu.read %buffer
    scf.if %any { tgpu.copy %k ... }
    tgpu.commit
    scf.for ...
    ```
    After:
    ```mlir
    tgpu.copy %q to %buffer; tgpu.commit
    scf.if %any { tgpu.copy %k ... }
    tgpu.commit
    tgpu.wait 1
    tgpu.barrier
    %tile = tgpu.read %buffer
    scf.for ...
    ```

    Requires: S6. Ensures: S6. Numerics: exact.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "101376",
           "bytes of shared memory that a block may have">
  ];
}

def TgpuOverlapKernels : Pass<"tgpu-overlap-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels begin before the ones before them have ended";
  let description = [{
    Two kernels of which one `tile.follows` the other wait for the end of
    whatever kernel is before them in the stream (`tgpu.await_kernel`) before
    they touch memory, and behind that let the next one begin
    (`tgpu.begin_next`). What launching them takes, and the numbers that they
    compute before they read, is then behind them when the kernel before ends:
    of the second when the first ends, and of the first when the second one of
    another launch does. Behind the wait, since a kernel that waits for this one
    alone may count on all before it. For targets that have such launches.

    Before:
    ```mlir
    tile.kernel @merge(...) attributes {tile.follows = @split} {
      %tile = arith.divui %id, %c8 : index
      scf.for ... { tile.load ... }
    ```
    After:
    ```mlir
    tile.kernel @merge(...) attributes {tile.follows = @split} {
      %tile = arith.divui %id, %c8 : index
      tgpu.await_kernel
      tgpu.begin_next
      scf.for ... { tile.load ... }
    ```

    Requires: S7. Ensures: S7. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuMergeBarriers : Pass<"tgpu-merge-barriers", "::fa::tile::KernelOp"> {
  let summary = "of barriers one behind the other the first stays";
  let description = [{
    What makes a loop's copies ahead puts barriers around it, without a look at
    what stands there. A barrier behind another one, with nothing between them
    but numbers and loads from global memory, goes.

    Requires: S6. Ensures: S6. Numerics: exact.
  }];
}
def TgpuPlaceBuffers : Pass<"tgpu-place-buffers", "::fa::tile::KernelOp"> {
  let summary = "buffers get their offsets in the block's shared memory";
  let description = [{
    Each at a multiple of 128 bytes, where none lies that is used at the same
    time: a barrier between the last use of one and the first of the other makes
    sure of that. More than `limit` bytes is an error that names what helps.

    Requires: S6. Ensures: S7. Numerics: exact.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "101376",
           "bytes of shared memory that a block may have">
  ];
}

def TgpuVerifyStage : Pass<"tgpu-verify-stage", "::mlir::ModuleOp"> {
  let summary = "checks the one sentence of a GPU stage";
  let description = [{
    Fails, at each operation that does not belong, unless the kernels are at the
    stage that is named:
     - `S4`: every tile has a layout of registers, and operands of elementwise
       operations that of their result;
     - `S5`: also, every conversion stays in its thread; what crosses threads
       is in a `tgpu.alloc`;
     - `S6`: as S5, and no loop waits for copies that the same iteration began
       if they could have begun before and there was room for them;
     - `S7`: as S6, and every buffer has its offset.

    Requires: nothing. Ensures: the stage named. Numerics: exact.
  }];
  let options = [
    Option<"stage", "stage", "::fa::GpuStage", "::fa::GpuStage::S4",
           "the stage", [{::llvm::cl::values(
             clEnumValN(::fa::GpuStage::S4, "S4", "layout"),
             clEnumValN(::fa::GpuStage::S5, "S5", "memory"),
             clEnumValN(::fa::GpuStage::S6, "S6", "channels"),
             clEnumValN(::fa::GpuStage::S7, "S7", "schedule"))}]>
  ];
}

#endif // FA_SCHEDULE_PASSES_TD
