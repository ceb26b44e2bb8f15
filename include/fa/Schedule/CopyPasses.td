//===- CopyPasses.td - when tiles move, and where in shared memory --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_COPYPASSES_TD
#define FA_SCHEDULE_COPYPASSES_TD

include "mlir/Pass/PassBase.td"

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

def TgpuMergeBarriers : Pass<"tgpu-merge-barriers", "::fa::tile::KernelOp"> {
  let summary = "of barriers one behind the other the first stays";
  let description = [{
    What makes a loop's copies ahead puts barriers around it, without a look at
    what stands there. A barrier behind another one, with nothing between them
    but numbers and loads from global memory, goes.

    Requires: S6. Ensures: S6. Numerics: exact.
  }];
}

def TgpuOrderMemory : Pass<"tgpu-order-memory", "::fa::tile::KernelOp"> {
  let summary = "a program's stores and loads of one memory keep their order";
  let description = [{
    A program loads and stores one behind the other; its threads do not. Of memory
    that a kernel reads and writes, a barrier stands in front of each store where
    something was loaded or stored before, and behind it where something is
    after, in loops both. There is none where each thread meets elements of its
    own alone: the same places of one view in one layout, in which no element has
    copies, or parts that are known to be apart.

    Before:
    ```mlir
    %x = tile.load %X[%c0]
    %y = arith.addf %x, %x
    tile.store %y, %X[%c0]
    ```
    After, as other threads may have copies of an element:
    ```mlir
    %x = tile.load %X[%c0]
    %y = arith.addf %x, %x
    tgpu.barrier global
    tile.store %y, %X[%c0]
    ```
    Between programs nothing is ordered. Requires: S6. Ensures: S6. Numerics:
    exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
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

#endif // FA_SCHEDULE_COPYPASSES_TD
