//===- TileGPUSimtOps.td - what one thread does, without a name upstream --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that the nvvm dialect does not have, or not in the form that is
// needed: S8 says them with shapes and types, and the last step before LLVM IR
// (convert-tgpu-simt-to-nvvm) writes them as inline assembly.
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GPU_SIMT_OPS_TD
#define TILE_GPU_SIMT_OPS_TD

include "TileGPUPartitionOps.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"

class TileGPU_SimtOp<string mnemonic, list<Trait> traits = []>
    : TileGPU_Op<"simt." # mnemonic,
                 !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;

def TileGPU_SimtAssertOp : TileGPU_SimtOp<"assert"> {
  let summary = "says what holds in this thread";
  let description = [{
    `tile.assert` of the thread's elements. The emulator looks; elsewhere it goes
    before LLVM IR.

    ```mlir
    tgpu.simt.assert %holds, "x is above 0"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, UnitAttr:$promise);
  let assemblyFormat = [{
    $condition `,` $message (`promise` $promise^)? attr-dict
  }];
}

def TileGPU_SimtWgmmaOp : TileGPU_SimtOp<"wgmma",
    [AttrSizedOperandSegments]> {
  let summary = "one product of a warpgroup, begun";
  let description = [{
    `result = a · b + acc`, without `acc` `a · b`, of m64nNkK: N is twice the
    number of results, K elements have 32 bytes (wgmma.mma_async, PTX ISA
    9.7.15.5.2). Of 8 bits, whose formats may differ (`by`), both operands lie in
    memory along K. `b` is a matrix descriptor, so is `a` if it is one i64; four
    i32 are its fragment in registers. With `transpose_b`, rows of `b` in
    memory are along N; with `transpose_a`, those of `a`, a descriptor, are along M. Results are in flight, and so are the registers of `a`,
    until a `tgpu.simt.wgmma_wait` for their group.

    ```mlir
    %d:4 = tgpu.simt.wgmma f16 a(%q) b(%k) acc(%c0, %c1, %c2, %c3)
      : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
    ```
  }];
  let arguments = (ins TypeAttr:$element,
      Variadic<AnyTypeOf<[I32, I64]>>:$a, I64:$b, Variadic<F32>:$acc,
      UnitAttr:$transpose_a, UnitAttr:$transpose_b,
      OptionalAttr<TypeAttr>:$right_element);
  let results = (outs Variadic<F32>:$result);
  let assemblyFormat = [{
    $element (`by` $right_element^)? `a` `(` $a `)` (`transpose_a` $transpose_a^)? `b` `(` $b `)`
    (`transpose_b` $transpose_b^)? (`acc` `(` $acc^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns of the product.
    int64_t getN() { return 2 * int64_t(getNumResults()); }
    /// Its depth: 32 bytes.
    int64_t getK() { return 256 / getElement().getIntOrFloatBitWidth(); }
    bool isFromRegisters() { return getA().size() > 1; }
    /// That of `b`.
    ::mlir::Type getElementOfB() {
      return getRightElement().value_or(getElement());
    }
  }];
}

def TileGPU_SimtWgmmaWaitOp : TileGPU_SimtOp<"wgmma_wait"> {
  let summary = "waits until at most `pending` groups of products run";
  let description = [{
    wgmma.wait_group (PTX ISA 9.7.15.7.3). What is computed from the registers
    `values` comes after the wait: they pass through it.

    ```mlir
    %s:2 = tgpu.simt.wgmma_wait 1 through %s0, %s1 : (f32, f32) -> (f32, f32)
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending,
      Variadic<F32>:$values);
  let results = (outs Variadic<F32>:$passed);
  let assemblyFormat = [{
    $pending `through` $values attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "int64_t":$pending,
                                "::mlir::ValueRange":$values)>];
}

def TileGPU_SimtWaitPhaseOp : TileGPU_SimtOp<"wait_phase"> {
  let summary = "waits until the phase of this parity of a barrier is complete";
  let description = [{
    The mbarrier's phases count from 0; the one before the first counts as
    complete (mbarrier.try_wait.parity in a loop, PTX ISA 9.7.13.15.16).

    ```mlir
    tgpu.simt.wait_phase %barrier, %parity : !llvm.ptr<3>
    ```
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$barrier, I32:$parity);
  let assemblyFormat = [{
    $barrier `,` $parity attr-dict `:` type($barrier)
  }];
}

def TileGPU_SimtArriveOp : TileGPU_SimtOp<"arrive"> {
  let summary = "the first lane of a warp arrives at a barrier";
  let description = [{
    Once for the warp: the thread whose `lane` is 0 arrives, the others do
    nothing (mbarrier.arrive, PTX ISA 9.7.13.15.13). A branch would do, and costs
    ptxas the convergence of the warp. Not before `after` is there. Of a cluster
    of `ranks` blocks each has such a barrier, and as many threads of the warp
    arrive: that whose `lane` is r at the barrier of the block of rank r (mapa).

    ```mlir
    tgpu.simt.arrive %barrier, %lane : !llvm.ptr<3>
    tgpu.simt.arrive %barrier, %lane ranks 2 : !llvm.ptr<3>
    ```
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$barrier, I32:$lane,
      Optional<F32>:$after,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$ranks);
  let assemblyFormat = [{
    $barrier `,` $lane (`after` $after^)? (`ranks` $ranks^)? attr-dict
    `:` type($barrier)
  }];
}

#endif // TILE_GPU_SIMT_OPS_TD
