//===- TritonDialect.td - what Triton prints, to be read ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_DIALECT_TD
#define TRITON_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpBase.td"

def Triton_Dialect : Dialect {
  let name = "tt";
  let cppNamespace = "::fa::triton";
  let summary = "Reads kernels as Triton 3.2 to 3.9 prints them.";
  let description = [{
    The operations of Triton's intermediate representation, so that its texts
    (`.ttir`) can be read and printed. One dialect takes what each of these
    versions prints; README.md says what differs between them. It has nothing of
    Triton's inside, makes no such program and changes none: what is done with
    one is `triton-to-tile`.

    Words of which Triton has a list that grows, such as how a dot rounds its
    operands, are kept as they are written; what an unknown one means is asked
    where it matters.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

class Triton_Op<string mnemonic, list<Trait> traits = []>
    : Op<Triton_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Triton_Ptr : TypeDef<Triton_Dialect, "Pointer"> {
  let mnemonic = "ptr";
  let summary = "an address of one element, or a block pointer";
  let description = [{
    Of a tensor it is a block pointer: a base, sizes, strides and offsets in
    one value (Triton up to 3.7).

    ```mlir
    !tt.ptr<f16>
    !tt.ptr<tensor<64x64xf16>>
    ```
  }];
  let parameters = (ins "::mlir::Type":$pointeeType,
      DefaultValuedParameter<"int64_t", "1">:$addressSpace);
  let assemblyFormat = "`<` $pointeeType (`,` $addressSpace^)? `>`";
}

def Triton_TensorDesc : TypeDef<Triton_Dialect, "TensorDesc"> {
  let mnemonic = "tensordesc";
  let summary = "a tensor in memory that is read and written in blocks";
  let description = [{
    The type of one block. Up to Triton 3.7 `<tensor<64x64xf16>>`, since 3.8
    `<64x64xf16>`, which is what is printed.

    ```mlir
    !tt.tensordesc<64x64xf16>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$block);
  let hasCustomAssemblyFormat = 1;
}

def Triton_CachePolicy : AttrDef<Triton_Dialect, "CachePolicy"> {
  let mnemonic = "cache_policy";
  let summary = "hints to caches, which change no result";
  let parameters = (ins
      ArrayRefParameter<"::mlir::StringAttr">:$keys,
      ArrayRefParameter<"::mlir::StringAttr">:$values);
  let hasCustomAssemblyFormat = 1;
  let description = [{
    ```mlir
    #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_last>
    ```
  }];
}

def Triton_Tensor : TensorOf<[AnyType], [HasStaticShapePred]>;
def Triton_PtrTensor : TensorOf<[Triton_Ptr], [HasStaticShapePred]>;
/// An address, or a tile of them.
def Triton_PtrLike : AnyTypeOf<[Triton_Ptr, Triton_PtrTensor]>;
def Triton_IntLike : AnyTypeOf<[AnySignlessInteger, TensorOf<[AnySignlessInteger]>]>;
def Triton_BoolLike : AnyTypeOf<[I1, TensorOf<[I1]>]>;
def Triton_FloatLike : AnyTypeOf<[AnyFloat, TensorOf<[AnyFloat]>]>;

#endif // TRITON_DIALECT_TD
