//===- PartitionPasses.td - who fetches, computes and stores --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SCHEDULE_PARTITIONPASSES_TD
#define FA_SCHEDULE_PARTITIONPASSES_TD

include "mlir/Pass/PassBase.td"

def TgpuPlanKernels : Pass<"tgpu-plan-kernels", "::mlir::ModuleOp"> {
  let summary = "every kernel gets a plan";
  let description = [{
    `lib/Plan` decides the schedule of each kernel that has no `tgpu.plan` yet, by
    pure functions from what the kernel fetches and computes and from the machine
    (fa/Plan/PlanSchedule.h). Where the machine has warpgroups, warps are
    specialized, unless the kernel mixes its rows, its loads are no boxes of its
    arguments, its dots are none of a warpgroup's or the bounds of a loop are
    computed from tiles: a remark says so.

    After, on sm_90a and on sm_80:
    ```mlir
    tile.kernel @f() attributes {tgpu.plan = #tgpu.plan<tile 128x128,
        partitions [load w4 r40, compute*2 w4 r232 rows 64],
        slots {program 4, step 2}, max speculative, late_rescale, persistent>}
    tile.kernel @f() attributes {tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4]>}
    ```
    Requires: S3. Ensures: S3. Numerics: exact.
  }];
  let options = [
    Option<"machine", "machine", "std::string", "\"sm_80\"",
           "an architecture of NVIDIA or AMD">,
    Option<"constraints", "constraints", "std::string", "\"\"",
           "what is asked of the plans, as for tile-to-kernel">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
           "bytes of shared memory that a block may have (0: those of the "
           "machine)">
  ];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuOpenChannels : Pass<"tgpu-open-channels", "::mlir::ModuleOp"> {
  let summary = "a producer fetches what the consumers' dots read";
  let description = [{
    Of kernels whose plan has partitions `load` and `compute`. The rows of the
    kernel's tiles are dealt to the groups that compute (consumers): loads, stores
    and numbers of rows begin at `tgpu.consumer_id` times as many as the plan says.
    Loads that only feed dots become fetches of a producer that walks the same
    loops, into channels of as many slots as the plan says, of left operands that each
    step loads for each consumer; they may be of any view of an argument in which rows
    and columns go along one dimension each (ViewOfArgument.h). Dots become dots of a
    warpgroup that read slots, begun and waited for. So is what scores are changed
    by or masked with fetched, tiles of an argument that lie as scores do, of 8, 16
    or 32 bits, if the plan has slots for them: they are received into registers,
    from channels of which each consumer has slots of its own. What is transposed for a
    dot over the rows of all consumers, a tile of 16 bits, they exchange
    (`tgpu.exchange`). Of a square one each computes as many rows of that dot as it has
    of the tile, with a right operand that is fetched for all; of one with 64 columns
    each computes a share of the dot's columns, which are only stored. Loops whose bounds
    follow from `tile.own_rows` are the consumer's: the producer walks those of all
    rows, and steps outside of its own a consumer awaits and releases. Where the plan
    says so (`dynamic`) and the kernel has a counter, blocks take programs in turn
    (`tgpu.programs`). A kernel that is not as its plan says is an error.

    After:
    ```mlir
    tgpu.warp_specialize consumers 2 producer {
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
    Requires: S3, planned. Ensures: S3. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuChooseAlternatives
    : Pass<"tgpu-choose-alternatives", "::mlir::ModuleOp"> {
  let summary = "of a kernel for specialized warps and its alternative one stays";
  let description = [{
    A kernel with a `tile.alternative` is for specialized warps: if its plan has
    one partition it goes, and what follows it. The alternative goes if all that
    name it are specialized; one of them may be for few queries only. Where the
    alternative follows a kernel that goes, as in a launch of several kernels whose
    first is an attention's, it is the first one then.

    Before, where the second cannot be specialized:
    ```mlir
    tile.kernel @f_roles_few() attributes {tile.alternative = @f} { ... }
    tile.kernel @f_roles() attributes {tile.alternative = @f} { ... }
    tile.kernel @f() { ... }
    ```
    After:
    ```mlir
    tile.kernel @f_roles_few() attributes {tile.alternative = @f} { ... }
    tile.kernel @f() { ... }
    ```

    Requires: S3, planned. Ensures: S3. Numerics: exact.
  }];
}

def TgpuFormClusters : Pass<"tgpu-form-clusters", "::mlir::ModuleOp"> {
  let summary = "blocks with the same keys fetch them together";
  let description = [{
    Of a persistent kernel whose channels get the same tiles in all programs of a
    head, as many blocks as its plan says become a cluster
    (PTX ISA, "Cluster of Cooperative Thread Arrays"), which runs as many
    neighbours on the first axis of the grid at a time. Each fetches its part of a tile's rows into the slots
    of all, which halves what two of them read of L2. A slot is fetched again when
    the consumers of all have released it, so that blocks of a cluster wait for
    each other. Channels whose tiles or number follow from the program's place on
    that axis, as causal ones do, or that end inside of a view, stay a block's. A
    kernel with a `tile.cluster` that has no others goes.

    Before:
    ```mlir
    tile.kernel @f() attributes {tgpu.persistent} {
      %k = tgpu.channel : ...
    ```
    After:
    ```mlir
    tile.kernel @f() attributes {tgpu.persistent, tgpu.cluster = 2 : i64} {
      %k = tgpu.channel shared : ...
    ```
    Requires: S3, after `tgpu-open-channels`. Ensures: S3. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect"];
}

def TgpuOverlapDots : Pass<"tgpu-overlap-dots", "::fa::tile::KernelOp"> {
  let summary = "dots of a consumer's loop run beside what is computed";
  let description = [{
    The plan's `loop` says of each dot of a step, in program order, its stage and
    its place among those that a step begins. A dot begins when its turn has come
    and is waited for where its result is needed; the slot that it reads is
    awaited before its first reader begins and released behind the wait for its
    last. A dot of stage 1 adds to a carried tile, and begins a step later, beside
    the dots of stage 0 of that step: those of the first step stand before the
    loop then, the last dots of stage 1 behind it. Loops one after the other are
    one pipeline if each goes on with what the one before leaves.

    Of two dots, `loop [0:0, 1:1]`, the second reading what is made of the first:

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
    With several sums there are no registers for what would be carried: `loop
    [0:0, 0:1, 0:2, 0:3]` of a backward's loop begins S and dP, waits for S, begins
    dV from P, waits for dP, and begins dK from dS while dV still runs.

    Where consumers take turns to begin dots, those that leave out a tile
    (`tgpu-open-channels`) let their turn pass.

    Errors: a plan with another number of dots, with a dot before one whose result
    it needs, with one slot of a tile that dots of both stages read. A loop whose
    dots are otherwise none such is left alone, and a remark says why.

    Requires: S5. Ensures: S5. Numerics: exact.
  }];
  let dependentDialects = ["::fa::tgpu::TileGPUDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def TgpuOverlapPrograms
    : Pass<"tgpu-overlap-programs", "::fa::tile::KernelOp"> {
  let summary = "a consumer begins the next program beside the end of this one";
  let description = [{
    In the consumers of a persistent kernel, the loop over the block's programs is
    written out and rotated: the first scores of a program are begun together with
    the last output of the one before, as those of all other tiles are, and its
    first softmax runs under that. What is computed from a program's number is
    computed for both. The last program ends alone. Where programs are taken in turn
    (`tgpu.programs`) the loop ends when there is none.

    For kernels whose programs all have a tile of keys (`tile.some_keys`), with a
    second slot for what is read in all loops, so that it is there by then.

    Before:
    ```mlir
    consumer {
    ^bb0(%turn: index, %steps: index):
      tgpu.await %q, %turn
      scf.if %hasTiles { first tile; scf.for ... { tiles }; last output }
      store
    }
    ```
    After:
    ```mlir
    consumer {
    ^bb0(%none: index, %begin: index):
      first tile of the first program
      scf.for %turn = %c0 to %turns ... {
        scf.for ... { tiles }
        scf.if %hasNext { last output, and the first tile of the next program }
        else { last output }
        store
      }
    }
    ```
    Requires: S5, after `tgpu-expect-maxima`, before `tgpu-branch-masks`.
    Ensures: S5. Numerics: exact.
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

def TgpuDeliverTiles : Pass<"tgpu-deliver-tiles", "::fa::tile::KernelOp"> {
  let summary = "consumers store tiles by the tensor memory accelerator";
  let description = [{
    A consumer's store of 16-bit elements becomes a `tgpu.deliver` by slots of
    shared memory, one for each consumer, as wide as there is room for. What
    comes next, the next program most of all, need not wait for its writes to be
    under way, and they are of whole lines. Stores whose destination is no box of an
    argument stay, and all where there is no room.

    Where the plan has a partition `store`, a consumer leaves a tile, of 32-bit elements
    as well, in a slot of a channel and goes on; that partition stores it. A plan with
    such a partition for a kernel none of whose stores can go that way is an error.

    Before:
    ```mlir
    tile.store %o, %view[%row, %c0] : tensor<64x128xf16, #accumulator>, memref<?x128xf16, ...>
    ```
    After:
    ```mlir
    %buffer = tgpu.alloc : !tgpu.buffer<2 x 64x128xf16, #swizzled>
    tgpu.deliver %o by %buffer[%id] to %arg4[%b, %h, %row, %c0] dims [2, 3]
    ```
    After, with a partition that stores:
    ```mlir
    %out = tgpu.channel own stored : !tgpu.channel<2 x 64x128xf16, #swizzled>
    tgpu.warp_specialize ... consumer {
      tgpu.acquire %out, %n
      tgpu.put %o to %out, %n
    } store {
      tgpu.await %out, %n
      tgpu.send %out, %n to %arg4[%b, %h, %row, %c0] dims [2, 3]
      tgpu.release %out, %n
    }
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

    So do kernels whose programs have parts, and persistent ones, of which a
    multiprocessor has one block at a time: all of their blocks run at once, so
    that those of the next kernel take places that nobody waits for. So do kernels
    without a loop or a dot (writes to a cache, what is computed element by
    element), which end soon. Others would begin on whichever multiprocessors are
    free first, several on some of them.
    A persistent kernel's wait is each partition's (`convert-tgpu-to-nvvm`).

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

#endif // FA_SCHEDULE_PARTITIONPASSES_TD
