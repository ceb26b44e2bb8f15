//===- TritonMemoryOps.td - addresses, memory, atomics, descriptors -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_MEMORY_OPS_TD
#define TRITON_MEMORY_OPS_TD

include "TritonDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The value at an address, or the tile at a tile of them or a block pointer.
class Triton_PointeeOf<string pointer, string value>
    : TypesMatchWith<value # " is what " # pointer # " points to", pointer, value,
                     "::fa::triton::pointeeTypeOf($_self)">;
class Triton_OptionalPointeeOf<string pointer, string value>
    : OptionalTypesMatchWith<value # " is what " # pointer # " points to",
                             pointer, value,
                             "::fa::triton::pointeeTypeOf($_self)">;
class Triton_MaskOf<string pointer, string mask>
    : OptionalTypesMatchWith<mask # " has the shape of " # pointer, pointer, mask,
                             "::fa::triton::maskTypeOf(::fa::triton::pointeeTypeOf($_self))">;

def Triton_AddPtrOp : Triton_Op<"addptr", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "an address so many elements further";
  let arguments = (ins Triton_PtrLike:$ptr, Triton_IntLike:$offset);
  let results = (outs Triton_PtrLike:$result);
  let assemblyFormat = [{
    $ptr `,` $offset attr-dict `:` type($result) `,` type($offset)
  }];
  let hasVerifier = 1;
}

def Triton_LoadOp : Triton_Op<"load", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead]>, Triton_PointeeOf<"ptr", "result">,
    Triton_MaskOf<"ptr", "mask">, Triton_OptionalPointeeOf<"ptr", "other">]> {
  let summary = "what is at an address, at each of a tile, or in a block";
  let description = [{
    Where `mask` is false nothing is read and the element is that of `other`, of
    no meaning without one. `boundaryCheck` names the dimensions of a block
    pointer that may reach out of its tensor; `padding` (1: zero, 2: NaN) is what
    such elements are.

    Hints to caches are `cacheModifier = cg evictionPolicy = evict_last` up to
    Triton 3.8 and `{cachePolicy = #tt.cache_policy<…>}` since 3.9.
  }];
  let arguments = (ins Triton_PtrLike:$ptr, Optional<Triton_BoolLike>:$mask,
      Optional<AnyType>:$other, OptionalAttr<DenseI32ArrayAttr>:$boundaryCheck,
      OptionalAttr<I32Attr>:$padding, OptionalAttr<StrAttr>:$cacheModifier,
      OptionalAttr<StrAttr>:$evictionPolicy, OptionalAttr<BoolAttr>:$isVolatile,
      OptionalAttr<AnyAttr>:$cachePolicy);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $ptr (`,` $mask^)? (`,` $other^)?
    custom<CacheWords>($cacheModifier, $evictionPolicy) attr-dict `:` type($ptr)
  }];
}

def Triton_StoreOp : Triton_Op<"store", [MemoryEffects<[MemWrite]>,
    Triton_PointeeOf<"ptr", "value">, Triton_MaskOf<"ptr", "mask">]> {
  let summary = "writes to an address, to each of a tile, or to a block";
  let description = [{
    Where `mask` is false, or a block reaches out of its tensor along a dimension
    of `boundaryCheck`, nothing is written.
  }];
  let arguments = (ins Triton_PtrLike:$ptr, AnyType:$value,
      Optional<Triton_BoolLike>:$mask,
      OptionalAttr<DenseI32ArrayAttr>:$boundaryCheck,
      OptionalAttr<StrAttr>:$cacheModifier,
      OptionalAttr<StrAttr>:$evictionPolicy, OptionalAttr<AnyAttr>:$cachePolicy);
  let assemblyFormat = [{
    $ptr `,` $value (`,` $mask^)?
    custom<CacheWords>($cacheModifier, $evictionPolicy) attr-dict `:` type($ptr)
  }];
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

def Triton_AtomicRMWOp : Triton_Op<"atomic_rmw"> {
  let summary = "changes memory and gives what was there, as one step";
  let description = [{
    `kind` is `fadd`, `add`, `max`, `min`, `umax`, `umin`, `and`, `or`, `xor` or
    `exch`.
  }];
  let arguments = (ins StrAttr:$kind, StrAttr:$sem, StrAttr:$scope,
      Triton_PtrLike:$ptr, AnyType:$val, Optional<Triton_BoolLike>:$mask);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    custom<Word>($kind) `,` custom<Word>($sem) `,` custom<Word>($scope) `,`
    $ptr `,` $val (`,` $mask^)? attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Triton_AtomicCASOp : Triton_Op<"atomic_cas"> {
  let summary = "writes `val` where `cmp` is, and gives what was there";
  let arguments = (ins StrAttr:$sem, StrAttr:$scope, Triton_PtrLike:$ptr,
      AnyType:$cmp, AnyType:$val);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    custom<Word>($sem) `,` custom<Word>($scope) `,` $ptr `,` $cmp `,` $val
    attr-dict `:` functional-type(operands, $result)
  }];
}

def Triton_AtomicLoadOp : Triton_Op<"atomic_load"> {
  let summary = "reads as one step (since 3.9)";
  let arguments = (ins StrAttr:$sem, StrAttr:$scope, Triton_PtrLike:$ptr,
      Optional<Triton_BoolLike>:$mask);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    custom<Word>($sem) `,` custom<Word>($scope) `,` $ptr (`,` $mask^)? attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Triton_AtomicStoreOp : Triton_Op<"atomic_store", [
    Triton_PointeeOf<"ptr", "value">, Triton_MaskOf<"ptr", "mask">]> {
  let summary = "writes as one step (since 3.9)";
  let arguments = (ins StrAttr:$sem, StrAttr:$scope, Triton_PtrLike:$ptr,
      AnyType:$value, Optional<Triton_BoolLike>:$mask);
  let assemblyFormat = [{
    custom<Word>($sem) `,` custom<Word>($scope) `,` $ptr `,` $value
    (`,` $mask^)? attr-dict `:` type($ptr)
  }];
}

def Triton_AtomicPollOp : Triton_Op<"atomic_poll"> {
  let summary = "waits until memory is what is expected (since 3.9)";
  let arguments = (ins StrAttr:$sem, StrAttr:$scope, Triton_PtrLike:$ptr,
      AnyType:$expected, Optional<AnyType>:$timeout);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    custom<Word>($sem) `,` custom<Word>($scope) `,` $ptr `,` $expected
    custom<Timeout>($timeout, type($timeout)) attr-dict
    `:` qualified(type($ptr)) `,` type($expected) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Block pointers and descriptors
//===----------------------------------------------------------------------===//

def Triton_MakeTensorPtrOp : Triton_Op<"make_tensor_ptr", [Pure,
    SameVariadicOperandSize,
    TypesMatchWith<"base points to an element of result", "result", "base",
                   "::fa::triton::elementPointerOf($_self)">]> {
  let summary = "a block pointer (up to 3.7)";
  let arguments = (ins Triton_Ptr:$base, Variadic<I64>:$shape,
      Variadic<I64>:$strides, Variadic<I32>:$offsets, DenseI32ArrayAttr:$order);
  let results = (outs Triton_Ptr:$result);
  let assemblyFormat = [{
    $base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict
    `:` type($result)
  }];
}

def Triton_AdvanceOp : Triton_Op<"advance", [Pure,
    AllTypesMatch<["ptr", "result"]>]> {
  let summary = "a block pointer at another place of its tensor (up to 3.7)";
  let arguments = (ins Triton_Ptr:$ptr, Variadic<I32>:$offsets);
  let results = (outs Triton_Ptr:$result);
  let assemblyFormat = "$ptr `,` `[` $offsets `]` attr-dict `:` type($result)";
}

def Triton_MakeTensorDescOp : Triton_Op<"make_tensor_descriptor", [Pure,
    SameVariadicOperandSize]> {
  let summary = "a tensor in memory that is read and written in blocks (since 3.3)";
  let description = [{
    Elements outside are 0, or NaN with `padding = 2`; they are not written.
  }];
  let arguments = (ins Triton_Ptr:$base, Variadic<I32>:$shape,
      Variadic<I64>:$strides, OptionalAttr<I32Attr>:$padding);
  let results = (outs Triton_TensorDesc:$result);
  let assemblyFormat = [{
    $base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict
    `:` type($base) `,` type($result)
  }];
}

def Triton_ReinterpretTensorDescOp
    : Triton_Op<"reinterpret_tensor_descriptor", [Pure]> {
  let summary = "an address of a descriptor as one (3.3 to 3.4)";
  let arguments = (ins Triton_Ptr:$rawDesc);
  let results = (outs Triton_TensorDesc:$result);
  let assemblyFormat = [{
    $rawDesc attr-dict `:` qualified(type($rawDesc)) `to`
    qualified(type($result))
  }];
}

def Triton_DescriptorLoadOp : Triton_Op<"descriptor_load", [
    MemoryEffects<[MemRead]>]> {
  let summary = "a block of a tensor";
  let arguments = (ins Triton_TensorDesc:$desc, Variadic<I32>:$indices,
      OptionalAttr<StrAttr>:$cacheModifier,
      OptionalAttr<StrAttr>:$evictionPolicy, OptionalAttr<AnyAttr>:$cachePolicy);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $desc `[` $indices `]` custom<CacheWords>($cacheModifier, $evictionPolicy)
    attr-dict `:` qualified(type($desc)) `->` type($result)
  }];
}

def Triton_DescriptorStoreOp : Triton_Op<"descriptor_store", [
    MemoryEffects<[MemWrite]>]> {
  let summary = "writes a block of a tensor";
  let arguments = (ins Triton_TensorDesc:$desc, Variadic<I32>:$indices,
      Triton_Tensor:$src, OptionalAttr<AnyAttr>:$cachePolicy);
  let assemblyFormat = [{
    $desc `[` $indices `]` `,` $src attr-dict
    `:` qualified(type($desc)) `,` type($src)
  }];
}

def Triton_DescriptorReduceOp : Triton_Op<"descriptor_reduce"> {
  let summary = "combines a block of a tensor with a tile, element by element";
  let arguments = (ins StrAttr:$kind, Triton_TensorDesc:$desc,
      Variadic<I32>:$indices, Triton_Tensor:$src);
  let assemblyFormat = [{
    custom<Word>($kind) `,` $desc `[` $indices `]` `,` $src attr-dict
    `:` qualified(type($desc)) `,` type($src)
  }];
}

def Triton_DescriptorGatherOp : Triton_Op<"descriptor_gather", [
    MemoryEffects<[MemRead]>]> {
  let summary = "rows of a tensor that a tile names";
  let arguments = (ins Triton_TensorDesc:$desc, Triton_Tensor:$x_offsets,
      I32:$y_offset);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $desc `[` $x_offsets `,` $y_offset `]` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Triton_DescriptorScatterOp : Triton_Op<"descriptor_scatter", [
    MemoryEffects<[MemWrite]>]> {
  let summary = "writes rows of a tensor that a tile names";
  let arguments = (ins Triton_TensorDesc:$desc, Triton_Tensor:$x_offsets,
      I32:$y_offset, Triton_Tensor:$src);
  let assemblyFormat = [{
    $desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)
  }];
}

// Triton 3.2's descriptors are addresses of what TMA reads.
def Triton_ExperimentalDescriptorLoadOp
    : Triton_Op<"experimental_descriptor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a block by an address of a descriptor (3.2)";
  let arguments = (ins AnyType:$desc, Variadic<I32>:$indices,
      OptionalAttr<StrAttr>:$cacheModifier,
      OptionalAttr<StrAttr>:$evictionPolicy);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $desc `[` $indices `]` custom<CacheWords>($cacheModifier, $evictionPolicy)
    attr-dict `:` qualified(type($desc)) `->` type($result)
  }];
}
def Triton_ExperimentalDescriptorStoreOp
    : Triton_Op<"experimental_descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a block by an address of a descriptor (3.2)";
  let arguments = (ins AnyType:$desc, Variadic<I32>:$indices, Triton_Tensor:$src);
  let assemblyFormat = [{
    $desc `[` $indices `]` `,` $src attr-dict
    `:` qualified(type($desc)) `,` type($src)
  }];
}
def Triton_ExperimentalTensormapCreateOp
    : Triton_Op<"experimental_tensormap_create", [AttrSizedOperandSegments]> {
  let summary = "writes a descriptor to memory (3.2)";
  let arguments = (ins Triton_Ptr:$desc_ptr, Triton_Ptr:$global_address,
      Variadic<I32>:$box_dim, Variadic<I32>:$global_dim,
      Variadic<I64>:$global_stride, Variadic<I32>:$element_stride);
  let assemblyFormat = [{
    $desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]`
    `,` `[` $global_stride `]` `,` `[` $element_stride `]` attr-dict
    `:` functional-type(operands, results)
  }];
}
def Triton_ExperimentalTensormapFenceOp
    : Triton_Op<"experimental_tensormap_fenceproxy_acquire"> {
  let summary = "waits for a descriptor in memory (3.2)";
  let arguments = (ins Triton_Ptr:$desc_ptr);
  let assemblyFormat = "$desc_ptr attr-dict `:` qualified(type($desc_ptr))";
}

#endif // TRITON_MEMORY_OPS_TD
