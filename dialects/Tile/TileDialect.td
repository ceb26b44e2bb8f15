//===- TileDialect.td - the tile dialect: what a kernel computes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa::tile";
  let summary = "What an attention kernel computes; knows no target.";
  let description = [{
    Two levels share one set of operations. On whole tensors of any size the
    dialect writes attention as a person does: `dot`, elementwise arithmetic
    from `arith` and `math`, `softmax`, `dot`. Inside a `tile.kernel` the same
    operations work on tiles of static shape, and `load`, `store`,
    `gather`, `scatter` and `atomic_add` are the only ones that touch memory.

    Stages S0 to S3 of the compiler are programs of this dialect; RATIONALE.md
    says why each operation exists beside the upstream ones.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
  let extraClassDeclaration = [{
    /// The discardable attributes of the dialect: TileAttributes.def.
    static ::llvm::ArrayRef<KnownAttribute> getKnownAttributes();
    // The names of those that no kernel has.
#define TILE_ATTRIBUTE(MEMBER, NAME, PLACES, KIND, DOC) \
    static constexpr ::llvm::StringLiteral MEMBER##AttrName = NAME;
#define TILE_KERNEL_ATTRIBUTE(MEMBER, NAME, KIND, DOC)
#include "Tile/TileAttributes.def"
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_ReduceAdd : I32EnumCase<"Add", 0, "add">;
def Tile_ReduceMax : I32EnumCase<"Max", 1, "max">;
def Tile_ReduceMin : I32EnumCase<"Min", 2, "min">;
def Tile_ReduceKind
    : I32Enum<"ReduceKind", "how a reduction combines two elements",
              [Tile_ReduceAdd, Tile_ReduceMax, Tile_ReduceMin]> {
  let cppNamespace = "::fa::tile";
}
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Tile_DotIeee : I32EnumCase<"Ieee", 0, "ieee">;
def Tile_DotTf32 : I32EnumCase<"Tf32", 1, "tf32">;
def Tile_DotPrecision
    : I32Enum<"DotPrecision", "what a dot may do to f32 operands",
              [Tile_DotIeee, Tile_DotTf32]> {
  let cppNamespace = "::fa::tile";
}
def Tile_DotPrecisionAttr
    : EnumAttr<Tile_Dialect, Tile_DotPrecision, "dot_precision"> {
  let description = [{
    What a dot may do to operands of f32 before it multiplies them: `ieee`
    nothing, `tf32` round them to 10 bits behind the point, as matrix units
    that have no f32 ask for. It is leave, not an order: a target that
    multiplies f32 as it is does so.
  }];
  let assemblyFormat = "$value";
}

def Tile_AccessIn : I32EnumCase<"In", 0, "in">;
def Tile_AccessOut : I32EnumCase<"Out", 1, "out">;
def Tile_AccessInOut : I32EnumCase<"InOut", 2, "inout">;
def Tile_Access
    : I32Enum<"Access", "what a kernel does with a memref argument",
              [Tile_AccessIn, Tile_AccessOut, Tile_AccessInOut]> {
  let cppNamespace = "::fa::tile";
}
def Tile_AccessAttr : EnumAttr<Tile_Dialect, Tile_Access, "access"> {
  let description = [{
    Marks a memref argument of a `tile.kernel` (argument attribute
    `tile.access`): `in` is only read, `out` is only written, `inout` both.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tile_SizeRuleEqual : I32EnumCase<"Equal", 0, "equal">;
def Tile_SizeRuleMultiple : I32EnumCase<"Multiple", 1, "multiple">;
def Tile_SizeRuleDivisible : I32EnumCase<"Divisible", 2, "divisible">;
def Tile_SizeRulePacked : I32EnumCase<"Packed", 3, "packed">;
def Tile_SizeRuleOneMore : I32EnumCase<"OneMore", 4, "one_more">;
def Tile_SizeRuleAtLeast : I32EnumCase<"AtLeast", 5, "at_least">;
def Tile_SizeRuleCovers : I32EnumCase<"Covers", 6, "covers">;
def Tile_SizeRuleKind
    : I32Enum<"SizeRuleKind", "what a kernel takes for granted of a size",
              [Tile_SizeRuleEqual, Tile_SizeRuleMultiple,
               Tile_SizeRuleDivisible, Tile_SizeRulePacked,
               Tile_SizeRuleOneMore, Tile_SizeRuleAtLeast,
               Tile_SizeRuleCovers]> {
  let cppNamespace = "::fa::tile";
}
def Tile_SizeRuleAttr : AttrDef<Tile_Dialect, "SizeRule"> {
  let mnemonic = "size_rule";
  let summary = "what a kernel takes for granted of its arguments' sizes";
  let description = [{
    Of dimension `dim` of memref argument `argument`:
     - `equal`: its size is `factor` (default: 1) times that of dimension
       `other_dim` of argument `other`;
     - `multiple`: its size is a multiple of that one;
     - `divisible`: its size is a multiple of the number `factor`;
     - `packed`: its stride is the size times the stride of that one, so that
       the two can be walked as one dimension;
     - `one_more`: its size is that one and 1, as offsets of the sequences of a
       batch are one more than these;
     - `at_least`: its size is the number `factor` or more;
     - `covers`: its size, times `factor`, is that one or more.

    ```mlir
    #tile.size_rule<equal 1[0], 0[0]>
    #tile.size_rule<equal 4[2], 0[1] * 64>
    ```
  }];
  let parameters = (ins EnumParameter<Tile_SizeRuleKind>:$kind,
      "int64_t":$argument, "int64_t":$dim, "int64_t":$other,
      "int64_t":$otherDim, DefaultValuedParameter<"int64_t", "1">:$factor);
  let assemblyFormat = [{
    `<` $kind $argument `[` $dim `]` `,` $other `[` $otherDim `]`
    (`*` $factor^)? `>`
  }];
}
def Tile_SizeRulesAttr
    : TypedArrayAttrBase<Tile_SizeRuleAttr, "an array of size rules">;

#endif // TILE_DIALECT_TD
