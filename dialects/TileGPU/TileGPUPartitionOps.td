//===- TileGPUPartitionOps.td - partitions, channels, running dots --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GPU_PARTITION_OPS_TD
#define TILE_GPU_PARTITION_OPS_TD

include "TileGPUOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def TileGPU_WarpSpecializeOp : TileGPU_Op<"warp_specialize", [SingleBlock,
    RecursiveMemoryEffects]> {
  let summary = "who loads, who converts, who computes and who stores";
  let description = [{
    The threads of the block part: one warpgroup (128 threads) runs the
    producer's region, by a single thread, and each of `consumers` warpgroups runs
    the consumer's. Two more may have regions of their own: all threads of one widen
    tiles of 8 bits on their way to the consumers (`convert`, channels that are
    `narrow` and `widened`), and a single thread of the other stores what consumers
    leave in channels (`store`, `stored`). The regions see the scalars, constants and channels above and
    share no other value: what crosses goes through a channel, and what consumers
    have of each other's through a buffer of all of them (`tgpu.exchange`). It is the
    last operation of a kernel before its terminator.

    A block may run several programs one after the other (`tgpu.persistent`): the
    regions' arguments are how many it has run before, and how many steps have
    passed through the channels then; `tgpu.passed` says how many have after.

    ```mlir
    tgpu.warp_specialize consumers 2 producer {
    ^bb0(%programs: index, %steps: index):
      tgpu.acquire %k, %n : ...
      tgpu.fetch %K[%b, %h, %j, %c0] dims [2, 3] to %k, %n : ...
      tgpu.passed %after
    } consumer {
    ^bb0(%programs: index, %steps: index):
      tgpu.await %k, %n : ...
      ...
      tgpu.release %k, %n : ...
      tgpu.passed %after
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$consumers);
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer,
      AnyRegion:$convert, AnyRegion:$store);
  let assemblyFormat = [{
    `consumers` $consumers
    custom<Partitions>($producer, $consumer, $convert, $store) attr-dict
  }];
  let extraClassDeclaration = [{
    /// Whether a warpgroup of its own widens tiles.
    bool hasConvert() { return !getConvert().empty(); }
    /// Whether a warpgroup of its own stores.
    bool hasStore() { return !getStore().empty(); }
    /// Warpgroups of the block: who loads, consumers, who converts, who stores.
    int64_t countGroups() {
      return 1 + getConsumers() + hasConvert() + hasStore();
    }
  }];
  let hasVerifier = 1;
}

def TileGPU_PassedOp : TileGPU_Op<"passed",
    [Pure, Terminator, HasParent<"WarpSpecializeOp">]> {
  let summary = "how many steps have passed through the channels";
  let arguments = (ins Index:$steps);
  let assemblyFormat = "$steps attr-dict";
}

def TileGPU_TurnsOp : TileGPU_Op<"turns", [Pure]> {
  let summary = "how many programs this block runs";
  let description = [{
    In the consumer of a persistent kernel whose loop over the block's programs is
    written out (`tgpu-overlap-programs`). Its region is then run once, and sees
    none of the scalars above that belong to a program. At least one: a launch has
    no more blocks than programs.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGPU_ProgramInOp : TileGPU_Op<"program_in", [Pure]> {
  let summary = "which program this block runs in a turn";
  let description = [{
    Its numbers on the three axes of the grid, as `tile.program_id` gives them.
    Where programs are taken in turn (`tgpu.programs`), behind the
    `tgpu.has_program` of the turn, and with what was found of the program.
  }];
  let arguments = (ins Index:$turn);
  let results = (outs Index:$x, Index:$y, Index:$z,
      Variadic<AnyTypeOf<[Index, I32]>>:$found);
  let assemblyFormat = "$turn attr-dict (`found` type($found)^)?";
  let hasVerifier = 1;
}

def TileGPU_ProgramsOp : TileGPU_Op<"programs",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the block takes its programs in turn from a counter";
  let description = [{
    Of a persistent kernel (`tgpu.dynamic`): a block's first program is that of
    its number, and each further one is the next that no block has taken. A warp
    of the load partition, the dealer, adds 1 to `counter`, element 0, which
    the launch has set to 0, and leaves what it got in one of `slots` slots of
    shared memory, with what it has `found` of that program: numbers which
    the other partitions then read instead of computing them. A program that is
    `idle` is passed over, but for a block's first. The number of a turn is taken
    as soon as all who read have left the one `slots` turns before, so that
    it is there when they are done with the program between.

    Each slot has two barriers, as those of a channel have: `full`, on which the
    dealer arrives, and `empty`, on which each warp does that has read it. From
    S7 on `offset` says in which byte the slots begin; barriers are behind them.

    ```mlir
    tgpu.programs %counter slots 2 idle %is_empty
      found %sequence, %first, %begin : memref<?xi32, strided<[1]>>, index, index, i32
    ```
  }];
  let arguments = (ins StridedMemRefRankOf<[I32], [1]>:$counter,
      Variadic<AnyTypeOf<[Index, I32]>>:$found, Optional<I1>:$idle,
      ConfinedAttr<I64Attr, [IntPositive]>:$slots, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $counter `slots` $slots (`idle` $idle^)? (`at` $offset^)?
    (`found` $found^)? attr-dict `:` type($counter) (`,` type($found)^)?
  }];
  let extraClassDeclaration = [{
    /// Words of 32 bits of a slot: whether there is a program, its numbers on
    /// three axes, and what was found of it.
    int64_t countWords() { return 4 + getFound().size(); }
    /// Bytes of a slot, which begins at a multiple of 16.
    int64_t getSlotBytes() { return (4 * countWords() + 15) / 16 * 16; }
    /// Bytes of all slots and of their barriers.
    int64_t getBytes() { return getSlots() * (getSlotBytes() + 16); }
  }];
  let hasVerifier = 1;
}

def TileGPU_HasProgramOp : TileGPU_SyncOp<"has_program"> {
  let summary = "whether this block has a program in a turn";
  let description = [{
    Where programs are taken in turn (`tgpu.programs`), instead of `tgpu.turns`:
    waits until the dealer has taken one or has found that there is none. Turns
    are asked for in order, and turn 0 has a program.
  }];
  let arguments = (ins Index:$turn);
  let results = (outs I1:$result);
  let assemblyFormat = "$turn attr-dict";
  let hasVerifier = 1;
}

def TileGPU_LeaveProgramOp : TileGPU_SyncOp<"leave_program"> {
  let summary = "this consumer has read what it needs to know of a turn's program";
  let arguments = (ins Index:$turn);
  let assemblyFormat = "$turn attr-dict";
  let hasVerifier = 1;
}

def TileGPU_AnewOp : TileGPU_SyncOp<"anew"> {
  let summary = "the same number, not known to be";
  let description = [{
    What follows from the result is computed where it stands, in each turn of a
    loop: computed before the loop, it would be held in registers.
  }];
  let arguments = (ins Index:$value);
  let results = (outs Index:$result);
  let assemblyFormat = "$value attr-dict";
}

def TileGPU_ConsumerIdOp : TileGPU_Op<"consumer_id", [Pure]> {
  let summary = "the number of the consumer that computes this";
  let description = [{
    0 for a kernel that is not specialized yet. The rows of a kernel's tiles are dealt
    to the consumers in order.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def TileGPU_ChannelOp : TileGPU_Op<"channel", [MemoryEffects<[MemAlloc]>]> {
  let summary = "slots of shared memory that a producer fills";
  let description = [{
    Tiles pass through the slots in order: that of step n uses slot n modulo
    the number of slots for the (n / slots)-th time. Each slot has two barriers,
    on which the phase n / slots is waited for: `full`, completed by the bytes
    of a fetch, and `empty`, completed by every warp of the consumers that read
    it. Where the slots and the barriers lie, in
    bytes, is known from S7 on. With `own`, the slots of `slots` steps belong to one consumer each.
    With `shared`, the blocks of a cluster (`tgpu.cluster`) get the same tiles:
    each fetches its part of the rows into the slots of all, and a slot is empty
    when the consumers of all have read theirs. With `stored`, which goes with `own`,
    a channel leads the other way: the consumer fills a slot (`tgpu.put`), each of
    its warps completing `full`, and the region of `tgpu.warp_specialize` that stores empties
    it (`tgpu.send`). Tiles of 8 bits that are widened pass through two channels: a
    `narrow` one from who fetches to who converts, and a `widened` one from there to
    the consumers, of which each warp that converts completes `full` (`tgpu.widen`).
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset,
      OptionalAttr<I64Attr>:$barriers, UnitAttr:$own, UnitAttr:$shared,
      UnitAttr:$stored, UnitAttr:$narrow, UnitAttr:$widened);
  let results = (outs TileGPU_ChannelType:$result);
  let assemblyFormat = [{
    (`own` $own^)? (`shared` $shared^)? (`stored` $stored^)? (`narrow` $narrow^)?
    (`widened` $widened^)? (`at` $offset^)? (`barriers` $barriers^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

class TileGPU_ChannelSyncOp<string mnemonic> : TileGPU_SyncOp<mnemonic> {
  let arguments = (ins TileGPU_ChannelType:$channel, Index:$step);
  let assemblyFormat = "$channel `,` $step attr-dict `:` type($channel)";
}

def TileGPU_AcquireOp : TileGPU_ChannelSyncOp<"acquire"> {
  let summary = "waits until the slot of a step has been released";
}

def TileGPU_FetchOp : TileGPU_Op<"fetch",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to fill the slot of a step from global memory";
  let description = [{
    By the tensor memory accelerator: dimensions `dims` of the source, a kernel
    argument, are those of the tile, which begins at `indices`; outside the
    source it reads 0, and so it does from row `end` on. Rows, the base and the
    first column of the tile are at multiples of 16 bytes.

    With `heads`, rows are a block of those of `tile.grouped_view`: `group`
    heads, along dimension `heads`, of each query. The block's first head and
    first query are at `indices`; a rule of the kernel says of what the source's
    heads are a multiple, so that a launch knows the group. Rows of the slot
    that the block has not read as 0: there are fewer than lanes of at most 64.

    With a table, rows are those of a sequence in pages, as `tile.paged_view`
    has them: row `j` is row `j mod page` of page `table[sequence, j / page]`,
    the first dimension of the source, whose index here is 0. A page has a
    multiple of 8 rows. The tile comes in boxes that lie in one page each, of a
    power of two of rows; it begins at a multiple of these, for which the largest
    power of two that divides its rows will do. A warp fetches it, a box by each
    lane. With `any_end` a box that holds a row before `end` comes whole.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices,
      DenseI64ArrayAttr:$dims, Optional<Index>:$end,
      Optional<AnyMemRef>:$table, Optional<Index>:$sequence,
      OptionalAttr<I64Attr>:$heads, Optional<Index>:$group, UnitAttr:$any_end,
      TileGPU_ChannelType:$channel, Index:$step);
  let assemblyFormat = [{
    $source `[` $indices `]` `dims` $dims
    (`heads` $heads^ `of` $group)? (`any_end` $any_end^)? (`end` $end^)?
    (`through` $table^ `[` $sequence `]`)? `to` $channel `,` $step
    attr-dict `:` type($source) (`through` type($table)^)? `,` type($channel)
  }];
  let hasVerifier = 1;
}

def TileGPU_DeliverOp : TileGPU_Op<"deliver",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to store a tile to global memory";
  let description = [{
    The opposite of `tgpu.fetch`: a consumer writes the tile to its slot of a
    buffer, from which the tensor memory accelerator stores it. Dimensions
    `dims` of the destination, a kernel argument, are those of the tile, which
    begins at `indices`; what is outside the destination is left out. A slot may
    have fewer columns than the tile: then it goes in pieces. Slots have whole
    lines of 128 bytes; where the tile has not, the destination ends with it.
    Each piece waits until what the consumer delivered before has left the slot.
    From row `end` of the destination on nothing is stored, either: a tile that
    `end` cuts goes row by row.
  }];
  let arguments = (ins AnyStaticShapeTensor:$value,
      TileGPU_BufferType:$buffer, Index:$slot, AnyMemRef:$dest,
      Variadic<Index>:$indices, DenseI64ArrayAttr:$dims, Optional<Index>:$end);
  let assemblyFormat = [{
    $value `by` $buffer `[` $slot `]` `to` $dest `[` $indices `]` `dims` $dims
    (`end` $end^)? attr-dict `:` type($value) `,` type($buffer) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def TileGPU_PutOp : TileGPU_SyncOp<"put"> {
  let summary = "fills the slot of a step from registers";
  let description = [{
    By the consumer whose slot it is, behind `tgpu.acquire` of the step. Who stores
    sees it behind `tgpu.await`. Slots have whole lines of 128 bytes; where the tile
    has not, what it is stored to ends with it.

    ```mlir
    tgpu.acquire %outputs, %n : ...
    tgpu.put %o to %outputs, %n : tensor<64x128xf16>, !tgpu.channel<2 x 64x128xf16, ...>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value,
      TileGPU_ChannelType:$channel, Index:$step);
  let assemblyFormat = [{
    $value `to` $channel `,` $step attr-dict `:` type($value) `,` type($channel)
  }];
  let hasVerifier = 1;
}

def TileGPU_WidenOp : TileGPU_SyncOp<"widen"> {
  let summary = "fills the slot of a step with the wider numbers of another slot";
  let description = [{
    By all threads of who converts: each element of 8 bits becomes the same number in
    16, behind `tgpu.await` of `from` and `tgpu.acquire` of `to`. Consumers, whose dots
    read it by the asynchronous proxy, see it behind `tgpu.await`. Slots have as many
    rows, in 32s; columns of `from` behind those of `to` are left out.

    ```mlir
    tgpu.await %k8, %n : ...
    tgpu.acquire %k, %n : ...
    tgpu.widen %k8, %n to %k, %n
      : !tgpu.channel<2 x 128x128xf8E4M3FN, ...>, !tgpu.channel<2 x 128x128xbf16, ...>
    tgpu.release %k8, %n : ...
    ```
  }];
  let arguments = (ins TileGPU_ChannelType:$from, Index:$from_step,
      TileGPU_ChannelType:$to, Index:$to_step);
  let assemblyFormat = [{
    $from `,` $from_step `to` $to `,` $to_step attr-dict `:` type($from) `,` type($to)
  }];
  let hasVerifier = 1;
}

def TileGPU_SendOp : TileGPU_SyncOp<"send"> {
  let summary = "begins to store the slot of a step to global memory";
  let description = [{
    The opposite of `tgpu.fetch`, between `tgpu.await` and `tgpu.release` of the step, which
    waits until the slot has been read. Dimensions `dims` of the destination, a kernel
    argument, are those of the tile, which begins at `indices`; what is outside the
    destination is left out.

    ```mlir
    tgpu.send %outputs, %n to %O[%b, %h, %i, %c0] dims [2, 3] : ...
    ```
  }];
  let arguments = (ins TileGPU_ChannelType:$channel, Index:$step,
      AnyMemRef:$dest, Variadic<Index>:$indices, DenseI64ArrayAttr:$dims);
  let assemblyFormat = [{
    $channel `,` $step `to` $dest `[` $indices `]` `dims` $dims
    attr-dict `:` type($channel) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def TileGPU_AwaitOp : TileGPU_ChannelSyncOp<"await"> {
  let summary = "waits until the slot of a step is full";
}

def TileGPU_ReceiveOp : TileGPU_Op<"receive", [MemoryEffects<[MemRead]>]> {
  let summary = "the tile in the slot of a step, in registers";
  let description = [{
    Between `tgpu.await` and `tgpu.release` of the step. Of a slot with more
    columns than the tile the first ones are read. A vector is the row of slots
    that have one.

    ```mlir
    %bias = tgpu.receive %channel, %step
      : !tgpu.channel<2 x 64x128xbf16, ...> -> tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins TileGPU_ChannelType:$channel, Index:$step);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $channel `,` $step attr-dict `:` type($channel) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TileGPU_ReleaseOp : TileGPU_SyncOp<"release"> {
  let summary = "this consumer has read the slot of a step";
  let description = [{
    With `after`, not before half of what a thread holds of that tile is there:
    what waits behind the release waits for it as well. ptxas keeps the order of
    barriers and of waits for dots, and begins a wait as early as it may.
  }];
  let arguments = (ins TileGPU_ChannelType:$channel, Index:$step,
      Optional<AnyStaticShapeTensor>:$after);
  let assemblyFormat = [{
    $channel `,` $step (`after` $after^)? attr-dict `:` type($channel)
    (`,` type($after)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$channel,
                                 "::mlir::Value":$step), [{
    build($_builder, $_state, channel, step, ::mlir::Value());
  }]>];
}

def TileGPU_OrderWaitOp : TileGPU_SyncOp<"order_wait"> {
  let summary = "waits until it is this consumer's turn";
  let description = [{
    Turns go round: the first consumer has the first one, and `tgpu.order_arrive`
    passes a turn on to the next consumer. Every consumer takes as many turns. What
    stands between the two ops runs in one consumer at a time, what stands behind
    them while the others have theirs. (Source: FlashAttention-3, "pingpong
    scheduling".)
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGPU_OrderArriveOp : TileGPU_SyncOp<"order_arrive"> {
  let summary = "gives the turn to the next consumer";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGPU_DotStartOp : TileGPU_Op<"dot_start",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins a dot of a warpgroup";
  let description = [{
    `result = a · b + acc` with `b` in the slot of a step, given as [.., n, k]
    with `transpose_b`; `a` in a slot as well, in registers, or where
    `tgpu.exchange` leaves it. What runs must
    not be read before `tgpu.dot_wait`. Of a slot with more columns than the tile
    has the first ones are read: `depth` says how many, or the result's type does;
    those from `column` on, a multiple of what 128 bytes have, where it is given.
    The dots of a warpgroup finish in the order in which they began. One group for each (wgmma.mma_async, PTX ISA
    9.7.15).

    ```mlir
    %s = tgpu.dot_start slot %q, %id by slot %k, %n transpose_b
      : (!tgpu.channel<...>, !tgpu.channel<...>) -> !tgpu.running<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins Optional<AnyStaticShapeTensor>:$a,
      Optional<TileGPU_ChannelType>:$a_channel, Optional<Index>:$a_step,
      TileGPU_ChannelType:$b_channel, Index:$b_step, Optional<Index>:$b_column,
      Optional<AnyStaticShapeTensor>:$acc, UnitAttr:$transpose_b,
      OptionalAttr<I64Attr>:$depth);
  let results = (outs TileGPU_RunningType:$result);
  let assemblyFormat = [{
    ($a^)? (`slot` $a_channel^ `,` $a_step)? `by` `slot` $b_channel `,` $b_step
    (`column` $b_column^)? (`transpose_b` $transpose_b^)? (`depth` $depth^)? (`acc` $acc^)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// The depth of `b`'s slot.
    int64_t slotDepth();
    /// How much of it is multiplied.
    int64_t readDepth() { return getDepth().value_or(slotDepth()); }
  }];
  let hasVerifier = 1;
}

def TileGPU_ColumnsOp : TileGPU_Op<"columns", [Pure]> {
  let summary = "neighbouring columns of a right operand";
  let description = [{
    Before there are channels: what of a loaded tile the dots of a consumer read,
    where consumers deal columns. Right operands of dots alone are it.

    ```mlir
    %v = tgpu.columns %k[%first] : tensor<64x576xf16> -> tensor<64x256xf16>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, Index:$first);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input `[` $first `]` attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TileGPU_ExchangeOp : TileGPU_Op<"exchange",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the transpose of a tile whose rows consumers have";
  let description = [{
    Each consumer has as many rows of a tile, and gets its transpose, or as many rows of
    that: `result[i, j] = tile[j, first + i]`, where `first` is 0 or the consumer's number
    times the rows that it gets. A column of the result is a row of any consumer: what
    a dot sums up then is over the rows of all, as dQ = dS K of a backward is over all
    keys.

    In the consumer of `tgpu.warp_specialize` it goes through the slot of a step of a buffer
    that all consumers see: each writes its rows, and waits for the others before
    its dots read there (fence.proxy.async lies between, PTX ISA, "Async proxy"). The
    result is never in registers: only left operands of `tgpu.dot_start` are it, which
    read the slot across its rows ("MN-major"). Every consumer comes here as often as
    the others. With one slot they also wait for each other before they write; with
    more, the slot of a step is that of so many steps before, whose dots every consumer
    has waited for when it comes here in the step between.

    ```mlir
    %t = tgpu.exchange %ds by %buffer[%n]
      : tensor<64x128xf16>, !tgpu.buffer<2 x 128x128xf16, ...> -> tensor<64x128xf16>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value,
      Optional<TileGPU_BufferType>:$buffer, Optional<Index>:$step);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $value (`by` $buffer^ `[` $step `]`)? attr-dict
    `:` type($value) (`,` type($buffer)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Whether a consumer gets its share of the transpose, not all of it.
    bool getsShare();
  }];
  let hasVerifier = 1;
}

def TileGPU_RampOp : TileGPU_Op<"ramp", [Pure]> {
  let summary = "a tile that one step of a dot adds";
  let description = [{
    `r[i, j] = factor · (column + j − row − i)`, as `tile.ramp` has it, and only
    the accumulator of a `tgpu.dot_start` as well, whose result only steps of a
    softmax take, masked or not. That adds a product of 16 deep behind its own:
    on the left, in registers, the factor and what it makes of the tile's first
    column, each in three bf16 that add up to the f32; on the right, in
    `numbers`, lines of j and of 1, which are there as soon as the partitions begin
    and stay. With three consumers and one factor for all tiles the product is
    `factor · (j − i)`, and the softmax adds r[0, 0] to what it knows of its rows.

    ```mlir
    %bias = tgpu.ramp %slope from %i, %j by %numbers
      : !tgpu.buffer<1 x 128x8xbf16, #tgpu.layout<swizzled 128x8 bytes 2>> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins F32:$factor, Index:$row, Index:$column,
      TileGPU_BufferType:$numbers);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $factor `from` $row `,` $column `by` $numbers attr-dict
    `:` type($numbers) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TileGPU_DotWaitOp : TileGPU_SyncOp<"dot_wait"> {
  let summary = "waits until at most `pending` later dots run";
  let description = [{
    Gives the tile of a dot that was begun before those. The tiles `through`
    pass unchanged: what is computed from the results comes after the wait.
  }];
  let arguments = (ins TileGPU_RunningType:$running,
      Variadic<AnyStaticShapeTensor>:$through,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let results = (outs AnyStaticShapeTensor:$result,
      Variadic<AnyStaticShapeTensor>:$passed);
  let assemblyFormat = [{
    $running (`through` $through^)? `pending` $pending attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def TileGPU_ExpectedSoftmaxOp : TileGPU_Op<"expected_softmax",
    [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["scores", "p"]>,
     AllTypesMatch<["max", "sum"]>]> {
  let summary = "a step of online softmax by the maxima that the rows have";
  let description = [{
    With `s = scores`, or `s = scale · scores`, rows i:

    ```
    p_ij  = exp(s_ij − max_i)
    sum_i = Σ_j p_ij
    ```
    where a sum is over what a thread holds of a row. No p is above it, so that
    it says whether a score has risen too far above its maximum: `rises` is true
    where one has in any thread of the consumer, or where a maximum is none to
    expect (infinite, or too large). Then nothing else of the results is to be
    used, and the step is `tile.online_softmax`. All threads of the consumer wait
    for each other.

    ```mlir
    %p, %sum, %rises = tgpu.expected_softmax %s, %m scale %c
      : tensor<64x128xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$scores,
      AnyStaticShapeTensor:$max, Optional<F32>:$scale);
  let results = (outs AnyStaticShapeTensor:$p, AnyStaticShapeTensor:$sum,
      I1:$rises);
  let assemblyFormat = [{
    $scores `,` $max (`scale` $scale^)? attr-dict `:` type($scores) `,` type($max)
  }];
  let hasVerifier = 1;
}

#endif // TILE_GPU_PARTITION_OPS_TD
