//===- Passes.td - passes that leave the tile dialect ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_PASSES_TD
#define FA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToHost : Pass<"convert-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "tile.kernel to a function of vector, scf and memref";
  let description = [{
    Every `tile.kernel` becomes a function of the host kernel ABI
    (include/fa/Conversion/TileToHost.h) with the attribute
    `fa.scratch_bytes`: how much memory one running program needs.

    Tiles are held transposed, vector lanes run across queries; in kernels of few
    rows (decode) they lie as in memory and lanes run along rows. See
    lib/Conversion/TileToHost/HostContext.h and RowForm.cpp. Where a mask
    says which columns a block of rows sees at most, the others are not computed
    (SeenColumns.cpp).

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b
       : tensor<64x64xf32>, tensor<128x64xf32> -> tensor<64x128xf32>
    ```
    After (lanes = 16, one of 32 blocks; 4 columns by 4 vectors of rows):
    ```mlir
    %acc:16 = scf.for %k = %c0 to %c64 step %c4 iter_args(...) {
      %a = vector.load %q_t[%k, %row] : memref<64x64xf32>, vector<16xf32>
      %x = memref.load %k_view[%n, %k] : memref<?x64xf32, strided<[?, 1], offset: ?>>
      %b = vector.broadcast %x : f32 to vector<16xf32>
      %f = vector.fma %b, %a, %acc : vector<16xf32>
      ...
    ```

    With `pair-dots`, dots of bf16 whose operands are whole rows or columns in
    memory, or what is computed and rounded for them, P of an online softmax for
    one, add the products of pairs:
    ```mlir
    %p = vector.load %k_view[%n, %k] : memref<?x64xbf16>, vector<2xbf16>
    ...
    %f = x86vector.avx512.dot %acc, %b, %a : vector<32xbf16> -> vector<16xf32>
    ```

    With `tile-dots`, too, those of them that are not along rows go by the
    matrix units of AMX (LowerTileDot.cpp):
    ```mlir
    %sum:4 = scf.for %k = %c0 to %c64 step %c32 iter_args(...) {
      %a = amx.tile_load %k_view[%n, %k] : memref<?x64xbf16> into !amx.tile<16x32xbf16>
      %b = amx.tile_load %q_pairs[%pair, %row] : memref<32x64xi32> into !amx.tile<16x32xbf16>
      %s = amx.tile_mulf %a, %b, %sum : ...
    ```
    So do the same dots of f16, each operand the sum of two bf16, and those of
    f32 that have 128 rows, each the sum of three (Pieces.h).

    Requires: S3. Ensures: no operation of the tile dialect.
    Numerics: reassociating (sums of dots and rows are split by lanes and
    columns), approximating (exp by a polynomial, 2e-7 near 0 and
    1.4e-6 near 2^-126; in kernels with dots of tiles, which round P to bf16 or,
    of f16, to 15 bits, 3.5e-6 and 7.2e-6; of f32, products of dots of tiles to
    2^-22, 2^-25 as a root mean square); `pair-dots` and `tile-dots` flush
    denormals in dots of bf16, `tile-dots` pieces of f32 below 2^-126.
  }];
  let dependentDialects = [
    "::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::x86vector::X86VectorDialect"
  ];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "width of a vector register in bits">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "32",
           "how many vector registers there are">,
    Option<"pairDots", "pair-dots", "bool", "false",
           "bf16 by AVX512_BF16's products of pairs">,
    Option<"tileDots", "tile-dots", "bool", "false",
           "what pair-dots takes, f16 and f32, by AMX's products of tiles "
           "where that suits">
  ];
}

def EmulateTiles : Pass<"emulate-tiles", "::mlir::ModuleOp"> {
  let summary = "tiles of AMX to vectors, for machines that have none";
  let description = [{
    What a kernel for a CPU with AMX computes is found out, and tested, on any
    with AVX512_BF16: `--host-cpu=NAME+emulated-amx`. Slow: a product of tiles
    is 512 of vectors.

    Before:
    ```mlir
    %s = amx.tile_mulf %a, %b, %sum
       : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    ```
    After:
    ```mlir
    %s = call @emulated_tile_product(%sum, %a, %b)
       : (vector<16x16xf32>, vector<16x32xbf16>, vector<16x32xbf16>)
         -> vector<16x16xf32>
    ```

    Requires: what convert-tile-to-host leaves. Ensures: no operation of the amx
    dialect. Numerics: exact but for denormals, which are not flushed.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"
  ];
}

def OutlineTileLoops : Pass<"outline-tile-loops", "::mlir::ModuleOp"> {
  let summary = "loops over tiles become functions of their own";
  let description = [{
    Where a kernel has several loops over tiles (of keys that all rows see, of
    those at the edge of a mask), each becomes a private function behind the
    kernel's: code for them can then be generated side by side. It takes the
    kernel's arguments and the scalars that it cannot compute from them; tiles
    are in the scratch memory. What is computed of arguments alone is computed
    again there, so that addresses are as plain as they were.

    After, of `@attention` with two loops marked `fa.tile_loop`:
    ```mlir
    func.func @attention(%pid0: i64, ...) {
      ...
      call @attention.loop1(%pid0, %pid1, %pid2, %words, %scratch, %begin, %end)
      call @attention.loop2(%pid0, %pid1, %pid2, %words, %scratch, %end, %length)
      ...
    ```

    Requires: what convert-tile-to-host leaves. Numerics: exact.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ApproximateHostMath : Pass<"approximate-host-math", "::mlir::func::FuncOp"> {
  let summary = "functions of f32 vectors become polynomials";
  let description = [{
    Upstream's approximations (exp, log, tanh, erf, sin, cos, ...) for vectors:
    left to LLVM, a vector of `math.tanh` becomes one library call an element.
    Scalars keep their calls. `math.clampf`, for which there is none, becomes
    arith; only what is rewritten is looked at.

    Requires: what convert-tile-to-host leaves. Numerics: approximating (a few
    units in the last place of f32).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertHostToLLVM : Pass<"convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "what a host function still has, to llvm";
  let description = [{
    Upstream's conversions of arith, cf, func, index, math, memref, ub, vector
    and x86vector to the LLVM dialect as one: each of theirs walks the whole
    module, and a kernel's module is long. Functions are intrinsics where LLVM
    has one, else calls of libm's.
    Of what upstream's pass does to vectors first, masks, transfers, broadcasts,
    casts of shapes and slices are here; contractions, transposes, gathers and
    reductions of several dimensions are refused.

    Requires: control flow in blocks, memrefs without views. Ensures: the LLVM dialect and
    casts that cancel out. Numerics: exact.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertTileGPUToNVVM : Pass<"convert-tgpu-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "tile.kernel to what one thread does";
  let description = [{
    Every `tile.kernel` becomes an `llvm.func` of the NVIDIA kernel ABI
    (include/fa/Conversion/TileGPUToNVVM.h) for one thread: tiles are scalars in
    registers, dots are mma.sync on fragments that ldmatrix brings, copies are
    cp.async; see lib/Conversion/LoweringRegistry.h.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b
       : tensor<64x64xf16, #a>, tensor<64x64xf16, #b> -> tensor<64x64xf32, #acc>
    ```
    After (one of 32):
    ```mlir
    %k:4 = nvvm.ldmatrix %at {num = 4 : i32, ...}
    %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%k#0, %k#1] C[%c0, %c1, %c2, %c3] ...
    ```

    Requires: S7. Ensures: S8, of tile and tgpu no operation but those of
    tgpu.simt.
    Numerics: reassociating (the order in which mma.sync sums), approximating
    (ex2.approx.ftz: 2 ulp; lg2.approx.ftz;
    tanh near 0: 2.5e-7).
  }];
  let options = [
    Option<"narrowConversions", "narrow-conversions", "bool", "false",
           "the architecture converts pairs of e4m3 (sm_89)">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertTileGPUToROCDL : Pass<"convert-tgpu-to-rocdl", "::mlir::ModuleOp"> {
  let summary = "tile.kernel to what one lane of a wave of 64 does";
  let description = [{
    Every `tile.kernel` becomes an `llvm.func` of the AMD kernel ABI
    (include/fa/Conversion/TileGPUToROCDL.h) for one lane: tiles are scalars and
    pairs of 16 bits in registers, dots are mfma on the transposed tiles, a
    barrier is s.barrier between fences of the workgroup's LDS.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b
       : tensor<128x64xf16, #a>, tensor<64x64xf16, #b> -> tensor<128x64xf32, #acc>
    ```
    After (one of 16):
    ```mlir
    %d = rocdl.mfma.f32.32x32x8f16 %k, %q, %c, %0, %0, %0 : ...
    ```

    Requires: S7. Ensures: S8, no operation of tile and tgpu.
    Numerics: reassociating (the order in which mfma sums), approximating
    (v_exp_f32, v_log_f32: 1 ulp, denormals are 0;
    tanh near 0: 2.5e-7).
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"gfx942\"", "gfx90a, gfx942, gfx950">,
    Option<"dies", "dies", "int64_t", "0",
           "dies that get workgroups in turn (0: those of the largest card)">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::ROCDL::ROCDLDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertTileGPUSimtToNVVM
    : Pass<"convert-tgpu-simt-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "tgpu.simt operations to inline assembly";
  let description = [{
    The last step before LLVM IR. What has no name in the nvvm dialect is said
    with shapes and types up to here, so that the emulator and planted faults
    read it. The wait for another kernel becomes one that loads stay behind.

    Before:
    ```mlir
    tgpu.simt.wait_phase %full, %parity : !llvm.ptr<3>
    ```
    After:
    ```mlir
    llvm.inline_asm has_side_effects "... mbarrier.try_wait.parity ...", "r,r"
      %full, %parity : (!llvm.ptr<3>, i32) -> ()
    ```
    Requires: S8. Ensures: no operation of tgpu. Numerics: exact.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DropSimtAsserts : Pass<"drop-simt-asserts", "::mlir::ModuleOp"> {
  let summary = "what nobody checks goes";
  let description = [{
    Of AMD the last step before LLVM IR: the emulator reads `tgpu.simt.assert`, a
    card does not. What its condition was computed from, LLVM drops.

    Before:
    ```mlir
    tgpu.simt.assert %holds, "x is above 0"
    ```
    Requires: S8. Ensures: no operation of tgpu. Numerics: exact.
  }];
}

def ApproximateGpuMath : Pass<"approximate-gpu-math", "::mlir::ModuleOp"> {
  let summary = "functions of f32 scalars become polynomials";
  let description = [{
    Upstream's approximations (log, tanh, erf, sin, cos, ...): a GPU has no
    library to call. What has none (powf, cosh, roundeven, ...) is expanded
    first. Of tanh this is one of two forms: a warp all of whose
    numbers are near 0 has a shorter one since S8
    (lib/Conversion/TileGPUToSimt/SmallTanh.h).

    Requires: S8. Numerics: approximating (a few units in the last place).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertSimtToLLVM : Pass<"convert-simt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "what a thread computes becomes the LLVM dialect";
  let description = [{
    Upstream's patterns for memref, affine, math, arith, index, cf and ub, in one
    conversion: a kernel has thousands of operations, and each conversion of its
    own looks at all of them. Views become an address and strides before that.

    Before:
    ```mlir
    %v = memref.subview %k[%i, 0] [1, 64] [1, 1] : ...
    %x = memref.load %v[%c0, %j] : ...
    %y = arith.addf %x, %z : f32
    ```
    After:
    ```mlir
    %p = llvm.getelementptr %base[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p : !llvm.ptr -> f32
    %y = llvm.fadd %x, %z : f32
    ```

    Requires: S8, of branches (no scf). Ensures: what is left is in the LLVM
    dialect, the vendor's, or a cast that `reconcile-unrealized-casts` takes
    away. Numerics: exact.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def ConvertTileToLinalg : Pass<"convert-tile-to-linalg", "::mlir::ModuleOp"> {
  let summary = "whole tensors of unfused kernels become linalg";
  let description = [{
    In kernels marked `unfused`, every operation of tile and every elementwise
    one becomes loops over its tensors, written with linalg, as its definition
    says. Requires: S3. Numerics: exact.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def BufferizeUnfused : Pass<"bufferize-unfused", "::mlir::ModuleOp"> {
  let summary = "tensors of unfused kernels become buffers";
  let description = [{
    Upstream's one-shot bufferization, with copies as loops. Does nothing where
    no tensor is left. Requires: what convert-tile-to-host leaves.
    Numerics: exact.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"
  ];
}

def SimtVerifyStage : Pass<"simt-verify-stage", "::mlir::ModuleOp"> {
  let summary = "checks the one sentence of a stage of threads";
  let description = [{
    Fails, at each operation that does not belong, unless the module is at the
    stage that is named:
     - `S8`: what one thread does: no operation of `tile` is left, of `tgpu`
       none but those of `tgpu.simt`, and no value is a tile, a buffer or a
       channel;
     - `S9`: ready to launch: all is in the LLVM dialect and a vendor's, and
       every function that others can call is a kernel with what its launch
       needs: on a GPU the threads of a block (`nvvm.reqntid`,
       `rocdl.reqd_work_group_size`) and a first argument of the launch's words,
       on the host scratch memory (`fa.scratch_bytes`) and the arguments of a
       program (include/fa/Conversion/TileToHost.h). The kernel's other facts
       are taken from it at S7 (include/fa/Launch/KernelFacts.def).

    Requires: nothing. Ensures: the stage named. Numerics: exact.
  }];
  let options = [
    Option<"stage", "stage", "::fa::ThreadStage", "::fa::ThreadStage::S8",
           "the stage", [{::llvm::cl::values(
             clEnumValN(::fa::ThreadStage::S8, "S8", "simt"),
             clEnumValN(::fa::ThreadStage::S9, "S9", "launch"))}]>
  ];
}

def TritonToTile : Pass<"triton-to-tile", "::mlir::ModuleOp"> {
  let summary = "tt.func to tile.kernel, as it is written";
  let description = [{
    Every public `tt.func` becomes a `tile.kernel` that does what it says,
    operation by operation. A pointer argument is the memory behind it, a memref
    of rank 1 whose size is that of the allocation; the grid is that of the
    launch: the sizes of one more argument, the last one, without data.

    Addresses and masks are followed as sums of steps, one a dimension. A load or
    store of such addresses is one of a view whose sizes are the mask's bounds;
    without a mask nothing is checked (`in_bounds`), as in Triton. Loads and stores
    of other addresses, or with other masks, are gathers and scatters (`in_bounds`,
    too). Integers of 32 bits that are added up in addresses are taken not to
    overflow.

    Before:
    ```mlir
    %at = tt.addptr %base, %offsets : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %x = tt.load %at, %mask, %zero : tensor<64x32x!tt.ptr<f16>>
    ```
    After:
    ```mlir
    %view = memref.reinterpret_cast %a to offset: [%first], sizes: [%rows, %left], strides: [%stride, 1]
      : memref<?xf16> to memref<?x?xf16, strided<[?, 1], offset: ?>>
    %x = tile.load %view[%c0, %c0] : memref<?x?xf16, strided<[?, 1], offset: ?>> -> tensor<64x32xf16>
    ```

    Refuses, naming the operation and where it is: what no kernel has.
    Requires: calls are inlined. Ensures: no operation of `tt`.
    Numerics: a maximum or minimum along a dimension keeps a NaN. Of elements that
    are as large, the index is the least.
  }];
  let dependentDialects = ["::fa::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // FA_CONVERSION_PASSES_TD
