//===- TileGPUOps.td - moves between memories, and their order ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GPU_OPS_TD
#define TILE_GPU_OPS_TD

include "TileGPUDialect.td"

class TileGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<TileGPU_Dialect, mnemonic, traits>;

def TileGPU_ConvertOp : TileGPU_Op<"convert", [Pure]> {
  let summary = "the same tile in another layout";
  let description = [{
    ```mlir
    %a = tgpu.convert %p : tensor<64x64xf16, #acc> -> tensor<64x64xf16, #b>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_AllocOp : TileGPU_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for the whole kernel";
  let description = [{
    Stands in the kernel's entry block. `offset` is where the buffer begins in
    the block's shared memory, in bytes, once it is decided.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs TileGPU_BufferType:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TileGPU_CopyOp : TileGPU_Op<"copy"> {
  let summary = "begins to copy a tile from global to shared memory";
  let description = [{
    What `tile.load` reads, written to slot `slot` of the buffer: 0 where the
    tile is outside the source. All threads of the block copy together, `bytes`
    at a time: 4, 8 and 16 asynchronously, the thread that copied sees it after
    `tgpu.commit` and `tgpu.wait`, the others after a barrier behind that;
    fewer bytes through registers. Rows of the source must be addressable in
    steps of `bytes`.

    ```mlir
    tgpu.copy %k[%j, %c0] to %buffer[%slot] bytes 16
      : memref<?x64xf16, strided<[?, 1], offset: ?>>, !tgpu.buffer<...>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Variadic<Index>:$indices,
      Arg<TileGPU_BufferType, "", [MemWrite]>:$buffer, Index:$slot,
      I64Attr:$bytes, UnitAttr:$in_bounds);
  let assemblyFormat = [{
    $source `[` $indices `]` `to` $buffer `[` $slot `]` `bytes` $bytes
    (`in_bounds` $in_bounds^)? attr-dict `:` type($source) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

// Synchronisation is an effect on everything: nothing moves across it.
class TileGPU_SyncOp<string mnemonic>
    : TileGPU_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def TileGPU_CommitOp : TileGPU_SyncOp<"commit"> {
  let summary = "the copies since the last one are a group";
  let assemblyFormat = "attr-dict";
}

def TileGPU_WaitOp : TileGPU_SyncOp<"wait"> {
  let summary = "waits until at most `pending` groups of this thread are under way";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def TileGPU_BarrierOp : TileGPU_SyncOp<"barrier"> {
  let summary = "all threads of the block arrive before any goes on";
  let description = [{
    What they have stored in shared memory before, all see behind it; with
    `global`, in global memory, too.

    ```mlir
    tgpu.barrier global
    ```
  }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "(`global` $global^)? attr-dict";
}

def TileGPU_BeginNextOp : TileGPU_SyncOp<"begin_next"> {
  let summary = "the next kernel of the stream may begin";
  let description = [{
    Once every block has come here, or ended, blocks of the kernel that is
    launched next may take what room there is on the card, if its launch says
    that it waits by itself for what it reads (`tgpu.await_kernel`).
  }];
  let assemblyFormat = "attr-dict";
}

def TileGPU_AwaitKernelOp : TileGPU_SyncOp<"await_kernel"> {
  let summary = "waits for the end of the kernel before it in the stream";
  let description = [{
    Behind it, everything that the kernel before stored is there, and what it
    read may be overwritten.
  }];
  let assemblyFormat = "attr-dict";
}

def TileGPU_ReadOp : TileGPU_Op<"read"> {
  let summary = "a tile from shared memory to registers";
  let description = [{
    ```mlir
    %b = tgpu.read %buffer[%slot] : !tgpu.buffer<...> -> tensor<64x64xf16, #b>
    ```
  }];
  let arguments = (ins Arg<TileGPU_BufferType, "", [MemRead]>:$buffer,
      Index:$slot);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $buffer `[` $slot `]` attr-dict `:` type($buffer) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TileGPU_WriteOp : TileGPU_Op<"write"> {
  let summary = "a tile from registers to shared memory";
  let arguments = (ins AnyStaticShapeTensor:$value,
      Arg<TileGPU_BufferType, "", [MemWrite]>:$buffer, Index:$slot);
  let assemblyFormat = [{
    $value `,` $buffer `[` $slot `]` attr-dict `:` type($value) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def TileGPU_MergePartsOp : TileGPU_SyncOp<"merge_parts"> {
  let summary = "one state of online softmax from those of a program's parts";
  let description = [{
    As `tile.merge_parts`, through shared memory: every part leaves its state in
    its own `buffer`, accumulators in slot 0 and rows in slot 1. Behind a barrier
    of the whole block each warp takes the columns that are its own, of all
    parts. What follows is done by all warps together.

    ```mlir
    %a1, %m1, %l1 = tgpu.merge_parts %a, %m, %l by %buffer : ...
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$acc, AnyStaticShapeTensor:$max,
      AnyStaticShapeTensor:$sum, TileGPU_BufferType:$buffer);
  let results = (outs AnyStaticShapeTensor:$acc_out,
      AnyStaticShapeTensor:$max_out, AnyStaticShapeTensor:$sum_out);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum `by` $buffer attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TILE_GPU_OPS_TD
