//===- TileKernelOps.td - kernels and their access to memory --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_KERNEL_OPS_TD
#define TILE_KERNEL_OPS_TD

include "TileDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove,
    FunctionOpInterface]> {
  let summary = "one program of a grid";
  let description = [{
    Function-like, without results. Arguments are strided memrefs, each with
    the argument attribute `tile.access`, and scalars. The kernel runs once for
    each point of its grid, in any order and at the same time.

    `grid` maps sizes of arguments to up to three extents: symbol `n` of the
    map is the size that `grid_sizes[2n]`, `grid_sizes[2n+1]` name as
    (argument, dimension). A static size or stride in an argument's type is a
    promise: a launch whose buffers do not match it is refused, or served by
    another kernel of the same `entry`. So is the argument attribute
    `tile.alignment = N : i64`: element 0 and every step along a dimension but
    those of stride 1 are multiples of N bytes; and, of a scalar, the unit
    attribute `tile.positive`: it is above 0.

    `rules` are what the kernel relies on without looking. A launch that breaks
    one is refused.

    `entry` is the name under which a program asks for the kernel (default: its
    symbol); several kernels of one entry are variants, the first that matches
    the arguments is taken. `reference` names the S0 function that says what the
    kernel computes. `unfused` marks what could not be made a kernel of tiles:
    one program that computes on whole tensors, right and slow.

    A kernel with the attribute `tile.follows = @first` runs behind `@first`, with
    the same arguments: a launch never takes it by itself. What the two hand over
    is in workspace, the last arguments, which a launch makes: row-major tensors
    with the attribute `tile.workspace`, a map from the symbols of `grid` to the
    sizes behind dimension 0. That one is the number of splits of the keys: the
    launch chooses it from the kernel's programs and from `tile.split_keys`, such
    a map to the number of keys, unless `tile.splits` says it.

    ```mlir
    tile.kernel @copy(%x: memref<?xf32, strided<[?]>> {tile.access = #tile.access<in>},
                      %y: memref<?xf32, strided<[?]>> {tile.access = #tile.access<out>})
        attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>,
                    grid_sizes = array<i64: 0, 0>} {
      %pid = tile.program_id 0
      %c64 = arith.constant 64 : index
      %at = arith.muli %pid, %c64 : index
      %t = tile.load %x[%at] : memref<?xf32, strided<[?]>> -> tensor<64xf32>
      tile.store %t, %y[%at] : tensor<64xf32>, memref<?xf32, strided<[?]>>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      TypeAttrOf<FunctionType>:$function_type, AffineMapAttr:$grid,
      DenseI64ArrayAttr:$grid_sizes,
      OptionalAttr<Tile_SizeRulesAttr>:$rules,
      OptionalAttr<StrAttr>:$entry,
      OptionalAttr<FlatSymbolRefAttr>:$reference, UnitAttr:$unfused,
      OptionalAttr<DictArrayAttr>:$arg_attrs,
      OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The name under which programs ask for this kernel.
    ::llvm::StringRef getEntryName() {
      return getEntry() ? *getEntry() : getSymName();
    }
    /// What the kernel does with memref argument `index`.
    Access getAccess(unsigned index);
    /// The number of bytes of which memref argument `index` and all its steps
    /// but those of stride 1 are multiples.
    int64_t getAlignment(unsigned index);
    /// How many parts of a block run each program.
    int64_t getParts();
    // The names of attributes of kernels and their arguments.
#define TILE_KERNEL_ATTRIBUTE(MEMBER, NAME, KIND, DOC) \
    static constexpr ::llvm::StringLiteral MEMBER##AttrName = NAME;
#define TILE_ARGUMENT_ATTRIBUTE(MEMBER, NAME, KIND, DOC) \
    static constexpr ::llvm::StringLiteral MEMBER##AttrName = NAME;
#include "Tile/TileAttributes.def"
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, ReturnLike, Terminator,
    HasParent<"KernelOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "this program's coordinate along one axis of the grid";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "the extent of the grid along one axis";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_PartIdOp : Tile_Op<"part_id", [Pure, HasParent<"KernelOp">]> {
  let summary = "the number of this part of a program, from 0";
  let description = [{
    Of a kernel with `tile.parts`, before its `tile.merge_parts`.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_OwnRowsOp : Tile_Op<"own_rows", [Pure]> {
  let summary = "the rows of the kernel's tiles that are computed here";
  let description = [{
    `offset` is the first of them, `count` how many they are: 0 and `rows`,
    unless a target deals rows of one tile to groups of threads, each of which
    then has its own. For what may be told apart by fewer rows than a tile has,
    but holds for all of them as well.

    ```mlir
    %offset, %count = tile.own_rows of 192
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$rows);
  let results = (outs Index:$offset, Index:$count);
  let assemblyFormat = "`of` $rows attr-dict";
}

def Tile_LoadOp : Tile_Op<"load", [
    MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a strided view";
  let description = [{
    `r[i, ..] = source[indices + (i, ..)]`, 0 where that is outside the source
    (below 0 or beyond a size). `in_bounds` promises that nothing is outside.
    Rank of the tile = rank of the source; a rank-reducing `memref.subview`
    picks a head or limits the length.

    ```mlir
    %k = tile.load %kv[%j, %c0]
      : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<128x64xf16>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Variadic<Index>:$indices, UnitAttr:$in_bounds);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`in_bounds` $in_bounds^)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to a strided view";
  let description = [{
    `dest[indices + (i, ..)] = value[i, ..]` where that is inside `dest`; the
    other elements are dropped.
  }];
  let arguments = (ins AnyStaticShapeTensor:$value,
      Arg<AnyMemRef, "", [MemWrite]>:$dest, Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `,` $dest `[` $indices `]` attr-dict `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

/// A mask says of each element of `tile` whether it is meant.
class Tile_MaskOf<string tile>
    : OptionalTypesMatchWith<"mask has the shape of " # tile, tile, "mask",
        "::llvm::cast<::mlir::RankedTensorType>($_self)"
        ".clone(::mlir::IntegerType::get($_self.getContext(), 1))">;

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>,
    AttrSizedOperandSegments, Tile_MaskOf<"result">]> {
  let summary = "elements of a strided view at computed indices";
  let description = [{
    `r[e] = source[indices_0[e], indices_1[e], ..]`, 0 where `mask` is false or
    an index is outside the source. Each index is a tile of `index` of the
    result's shape. `in_bounds` promises that no index that the mask lets pass is
    outside; the emulator finds one that is.

    ```mlir
    %r = tile.gather %x[%at] mask %m in_bounds
      : memref<?xf32>, (tensor<64xindex>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Variadic<AnyStaticShapeTensor>:$indices,
      Optional<AnyStaticShapeTensor>:$mask, UnitAttr:$in_bounds);
  let results = (outs AnyStaticShapeTensor:$result);
  let builders = [
    /// Without a mask: what is outside is 0.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
                   "::mlir::ValueRange":$indices), [{
      build($_builder, $_state, result, source, indices, ::mlir::Value(),
            /*in_bounds=*/false);
    }]>
  ];
  let assemblyFormat = [{
    $source `[` $indices `]` (`mask` $mask^)? (`in_bounds` $in_bounds^)?
    attr-dict `:` type($source) `,` `(` type($indices) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments,
    Tile_MaskOf<"value">,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes or adds elements to a strided view at computed indices";
  let description = [{
    `dest[indices_0[e], indices_1[e], ..] = value[e]`; elements that `mask` leaves
    out, and those with an index outside of `dest`, are dropped. Each index is a
    tile of `index` of the value's shape. `in_bounds` promises that no index that
    the mask lets pass is outside; the emulator finds one that is. Of several
    elements with one place, any one is written.

    With `add` elements are added to what is there, each in one step as those of
    `tile.atomic_add` and of the same types: several with one place all count.

    ```mlir
    tile.scatter %v, %cache[%slots] mask %m in_bounds
      : tensor<64xf32>, memref<?xf32>, (tensor<64xindex>)
    tile.scatter %ones, %counts[%bins] add
      : tensor<64xi32>, memref<?xi32>, (tensor<64xindex>)
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, AnyMemRef:$dest,
      Variadic<AnyStaticShapeTensor>:$indices,
      Optional<AnyStaticShapeTensor>:$mask, UnitAttr:$in_bounds,
      UnitAttr:$add);
  let assemblyFormat = [{
    $value `,` $dest `[` $indices `]` (`mask` $mask^)? (`in_bounds` $in_bounds^)?
    (`add` $add^)? attr-dict `:` type($value) `,` type($dest) `,`
    `(` type($indices) `)`
  }];
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds a tile to a strided view, element by element";
  let description = [{
    `dest[indices + (i, ..)] += value[i, ..]` where that is inside `dest`; the
    other elements are dropped. Each sum is one step, also where several programs
    add to one element, in any order; nothing else is ordered by it. Of f32, i32
    and i64.

    ```mlir
    tile.atomic_add %sums, %out[%c0]
      : tensor<64xf32>, memref<?xf32, strided<[1], offset: ?>>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value,
      Arg<AnyMemRef, "", [MemRead, MemWrite]>:$dest,
      Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `,` $dest `[` $indices `]` attr-dict `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "what a row has added up to so far";
  let description = [{
    `r[.., i, ..] = x[.., 0, ..] + .. + x[.., i, ..]` along dimension `dim`, or
    the maximum or minimum of as many; with `reverse` from the last element down
    to `i`. Elements are combined as those of `tile.reduce` are, in any order.

    ```mlir
    %ends = tile.scan add %lengths dim 0 : tensor<256xi32>
    %left = tile.scan max %s dim 1 reverse : tensor<16x64xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, AnyStaticShapeTensor:$input,
      I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $kind $input `dim` $dim (`reverse` $reverse^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "says what holds at this place";
  let description = [{
    `condition`, of one number or of each element of a tile, is true. Where the
    emulator finds that it is not, the launch is an error with `message`: a
    `failed assertion` or, with `promise`, a `broken promise`. On other targets
    nothing is checked, and nobody relies on it.

    ```mlir
    tile.assert %positive, "x is above 0" : tensor<64xi1>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, TensorOf<[I1]>]>:$condition,
      StrAttr:$message, UnitAttr:$promise);
  let assemblyFormat = [{
    $condition `,` $message (`promise` $promise^)? attr-dict
    `:` type($condition)
  }];
}

def Tile_IdleOp : Tile_Op<"idle", [MemoryEffects<[MemWrite]>]> {
  let summary = "whether this program has nothing to do";
  let description = [{
    Where `condition` holds, the program writes nothing: who deals programs out
    may pass it over.

    ```mlir
    tile.idle %slot_is_empty
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

#endif // TILE_KERNEL_OPS_TD
