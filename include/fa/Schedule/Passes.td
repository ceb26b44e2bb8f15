//===- Passes.td - the layouts and sums of tiles, and all of this folder --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PASSES_TD
#define FA_SCHEDULE_PASSES_TD

include "fa/Schedule/CopyPasses.td"
include "fa/Schedule/PartitionPasses.td"

include "mlir/Pass/PassBase.td"

def TgpuAssignLayouts : Pass<"tgpu-assign-layouts", "::fa::tile::KernelOp"> {
  let summary = "every tile gets a layout";
  let description = [{
    The accumulator of a dot decides: its rows are dealt to the warps, and what
    is computed elementwise from it, row by row or reduced, stays where the
    accumulator is. Loads that only feed a dot are laid out for memory. A
    `tgpu.convert` stands at each operand that has to be elsewhere. Warps are those
    of the kernel's plan.

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
    Option<"machine", "machine", "std::string", "\"sm_80\"",
           "an architecture of NVIDIA or AMD, whose matrix unit computes the "
           "dots">
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
    On AMD loads go through registers to their buffers. Where the machine has
    loads direct to LDS and the kernel's plan does not say one slot, they are
    copies in kernels every load of which can be direct, whose lanes write 16
    bytes each, one behind the other: elements of 16 bits, rows that a descriptor
    bounds and that are aligned, a reader that takes 16 bytes of a row at once or
    transposes (`planTurnedRead`).

    Requires: S4. Ensures: S5. Numerics: exact.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", "160",
           "32-bit registers for tiles beyond which a dot reads its left "
           "operand anew in each iteration">,
    Option<"machine", "machine", "std::string", "\"sm_80\"",
           "an architecture of NVIDIA, whose loads become copies, or AMD">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect"];
}

def TgpuNarrowMasks : Pass<"tgpu-narrow-masks", "::fa::tile::KernelOp"> {
  let summary = "a mask compares columns with one limit of each row, in 32 bits";
  let description = [{
    A comparison of sums of row numbers, column numbers, scalars and numbers that
    each row has (where its document begins) says which columns of a row are below
    a limit, or are not. The limits of a row that are joined by
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
    tile is. What that dot adds to may be a ramp. Where the sums of p show that a score has risen above them, the dot is
    repeated, with the masks behind it, and the step is that with maxima. No scores
    are kept for that, so the slot of the keys is released behind the branch, not
    before the softmax. The first tile of a row has no old maxima and stays as it
    is. Sums are those of each thread; the threads of a dot agree on whether it is
    repeated.

    With three consumers, which have the fewest registers, the branch stands
    behind the wait for the other dot: what that reads is free by then.

    Before:
    ```mlir
    %s = tgpu.dot_wait %a pending 1
    tgpu.release %k, %n
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l
    %o, %q = tgpu.dot_wait %b through %p pending 0
    ```
    After:
    ```mlir
    %s = tgpu.dot_wait %a pending 1
    %p, %t, %rises = tgpu.expected_softmax %s, %m
    %o, %q = tgpu.dot_wait %b through %p pending 0
    %r:4 = scf.if %rises {
      %again = tgpu.dot_wait (tgpu.dot_start ...) pending 0
      yield tile.online_softmax %again, %m, %l
    } else {
      yield %q, 1, %m, %l + %t
    } {tgpu.seldom}
    tgpu.release %k, %n
    ```

    Requires: S5, after `tgpu-overlap-dots`. Ensures: S5. Numerics: reassociating.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect", "::mlir::arith::ArithDialect",
      "::mlir::scf::SCFDialect"];
}

def TgpuBranchMasks : Pass<"tgpu-branch-masks", "::fa::tile::KernelOp"> {
  let summary = "masks stand in branches where not all tiles have one";
  let description = [{
    A mask that holds everywhere if a scalar does (`tile-to-kernel`, one loop for
    all keys) is applied in a branch that is taken where it does not, with what
    the mask is computed from. The scores stay in their registers either way. It
    comes after the passes that look for scores behind their dot. Scores that a
    cap changed keep their mask: its short form looks for the cap behind that.

    Before:
    ```mlir
    %any = tile.broadcast %whole : i1 -> tensor<64x128xi1>
    %mask = arith.ori %any, (arith.cmpi slt, %column, %limit)
    %t = arith.select %mask, %s, %none
    ```
    After:
    ```mlir
    %t = scf.if %whole {
      yield %s
    } else {
      yield arith.select (arith.cmpi slt, %column, %limit), %s, %none
    }
    ```

    So is a part of a mask that is read from memory for each key, where a scalar
    says that it need not be looked at (documents whose bounds say all): with
    `%mask = andi %inside, (ori %known, %read)`, the scores are
    `select %inside, (scf.if %known {%s} else {select %read, %s, %none}), %none`.

    Requires: S5. Ensures: S5. Numerics: exact.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
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
