//===- TileGPUDialect.td - how a GPU holds and moves tiles ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_GPU_DIALECT_TD
#define TILE_GPU_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileGPU_Dialect : Dialect {
  let name = "tgpu";
  let cppNamespace = "::fa::tgpu";
  let summary = "How the threads of a GPU hold and move the tiles of a kernel.";
  let description = [{
    Below stage S3 a `tile.kernel` stays what it is, and its tiles get a place:
    a `#tgpu.layout` as the encoding of their tensor type for registers, a
    `!tgpu.buffer` for shared memory. The operations here are the moves between
    the two and the synchronisation that the moves need. What is computed is
    still said by `tile`, `arith` and `math`.

    RATIONALE.md says which stages there are and why.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::fa::tile::TileDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let extraClassDeclaration = [{
    /// The discardable attributes of the dialect: TileGPUAttributes.def.
    static ::llvm::ArrayRef<::fa::tile::KnownAttribute> getKnownAttributes();
    // Their names.
#define TGPU_ATTRIBUTE(MEMBER, NAME, PLACES, KIND, DOC) \
    static constexpr ::llvm::StringLiteral MEMBER##AttrName = NAME;
#include "TileGPU/TileGPUAttributes.def"
  }];
}

/// A TileLayout, kept by value in the attribute's storage.
def TileGPU_TileLayout : AttrParameter<"::fa::TileLayout", "a layout"> {
  let comparator = "$_lhs == $_rhs";
}

def TileGPU_LayoutAttr : AttrDef<TileGPU_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "who holds which element of a tile";
  let description = [{
    A linear layout over GF(2), repeated along the last dimension
    (include/fa/Layout/LinearLayout.h teaches the algebra). Layouts that a
    constructor of NamedLayouts.h makes are printed by its name; others by their
    bases. Copies of a buffer's layout lie one behind the other or, `joined`, in
    rows together, as many as are a power of two: of 80 columns 64 and 16.

    ```mlir
    #tgpu.layout<accumulator 64x64 warps 4>
    #tgpu.layout<operand_b 64x128 transposed warps 4>
    #tgpu.layout<operand_a32 64x64 warps 4>
    #tgpu.layout<operand_b32 64x128 warps 4>
    #tgpu.layout<quads 64x128 warps 4>
    #tgpu.layout<operand_b8 64x128 transposed warps 4>
    #tgpu.layout<fma_operand_a 64x64 warps 4>
    #tgpu.layout<fma_operand_b 64x64 transposed warps 4>
    #tgpu.layout<mfma 128x64 side 32 vector 4 warps 4>
    #tgpu.layout<mfma_operand_b 64x128 transposed side 32 vector 8 warps 4>
    #tgpu.layout<swizzled 64x64 bytes 2>
    #tgpu.layout<swizzled 32x80 joined bytes 2>
    #tgpu.layout<swizzled 64x128 bytes 2 banks 64>
    #tgpu.layout<swizzled 64x128 bytes 2 across 32>
    #tgpu.layout<blocked 64x64 vector 8 warps 4>
    #tgpu.layout<blocked 64x64 vector 4 height 4 warps 4 lanes 64>
    #tgpu.layout<2x4 offset = [[0, 1], [0, 2], [1, 2]]>
    #tgpu.layout<64 register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
    #tgpu.layout<16x8 register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] repeat 3>
    ```
  }];
  let parameters = (ins TileGPU_TileLayout:$layout);
  let hasCustomAssemblyFormat = 1;
}

/// A SchedulePlan, kept by value in the attribute's storage.
def TileGPU_SchedulePlan : AttrParameter<"::fa::SchedulePlan", "a plan"> {
  let comparator = "$_lhs == $_rhs";
}

def TileGPU_PlanAttr : AttrDef<TileGPU_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "who computes what of a kernel, and when";
  let description = [{
    The schedule of a `tile.kernel` (its attribute `tgpu.plan`), which `lib/Plan`
    decides (`tgpu-plan-kernels`) and the passes behind obey:
     - `tile`: queries and keys of a tile of scores; 0x0: not known;
     - `partitions`: warps that run the same code: how many groups of them
       (`*2`; one), the warps of a group (`w4`), the registers of a thread by
       setmaxnreg (`r232`; as many as the assembler gives) and the rows of the
       tile that a group has (`rows 64`; all). There is one, `all`, or `load`,
       whose fetches `compute` reads;
     - `slots`, where there are two: those of each tile that is read in all steps
       of a program, of each that is read in a step, and, one number for each
       of them, of tiles that lie as scores do (0: loaded by who computes).
       Where there is one, `{step 3}` are those of what loops copy; without it
       as many as there is room for;
     - `max speculative`: a step is computed as if no maximum rose, and repeated
       where one did. Otherwise it is lazy: it stays until a score is far above;
     - `ping_pong`: groups begin their dots in turns;
     - `late_rescale`: the output is rescaled when the scores' dot has begun;
     - `sums_first`: late dots, which begin first, are done before those of the
       next tile begin: their operands' registers are free by then. What these
       read is awaited before, so that there are two slots of it;
     - `persistent`: a block runs several programs;
     - `cluster`: blocks that fetch together, where they can;
     - `dynamic`: blocks take programs in turn from a counter in memory, so many
       of them ahead. Otherwise each has every n-th one.

    ```mlir
    #tgpu.plan<tile 128x64, partitions [all w4]>
    #tgpu.plan<tile 192x128, partitions [load w4 r32, compute*3 w4 r160 rows 64],
               slots {program 6, step 2}, max speculative, ping_pong, persistent>
    #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232 rows 64],
               slots {program 2, step 3, scores [4, 0]}, late_rescale>
    ```
  }];
  let parameters = (ins TileGPU_SchedulePlan:$plan);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TileGPU_BufferType : TypeDef<TileGPU_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "slots of shared memory, each for one tile";
  let description = [{
    `slots` tiles of `shape`, one behind the other, laid out by a layout of
    offsets. A channel's tiles may have fewer rows than the layout, where those
    that are left out lie behind all others: a slot, and each copy of a repeated
    layout, ends before them.

    ```mlir
    !tgpu.buffer<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
    !tgpu.buffer<3 x 96x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
    ```
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"int64_t">:$shape,
      "::mlir::Type":$elementType, "::fa::tgpu::LayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one slot.
    int64_t getSlotBytes();
    /// Bytes of all of them.
    int64_t getBytes() { return getSlots() * getSlotBytes(); }
  }];
}

def TileGPU_ChannelType : TypeDef<TileGPU_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "slots of shared memory that pass tiles from partition to partition";
  let description = [{
    ```mlir
    !tgpu.channel<2 x 128x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
    ```
  }];
  let parameters = (ins "::fa::tgpu::BufferType":$buffer);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TileGPU_RunningType : TypeDef<TileGPU_Dialect, "Running"> {
  let mnemonic = "running";
  let summary = "the tile of a dot that has not finished";
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

#endif // TILE_GPU_DIALECT_TD
